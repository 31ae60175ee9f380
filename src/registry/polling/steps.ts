/**
 * The steps of polls, each for a repository or a model. One that takes long goes on beside the polls, which wait for it no
 * more: a folder may hang. The next poll takes its result, or begins a new step if the program wants to know what is there now.
 */

import { clearTimeout, setTimeout } from '../../timers.js';

/** How long a poll waits for a step, in milliseconds. */
export const patienceMs = 10_000;

/** Stands for the result of a step that takes long. */
export const late: unique symbol = Symbol('late');

/** A step that nobody has the result of yet. */
interface Running<T> {
  readonly result: Promise<T>;
  readonly sinceMs: number;
  hasEnded: boolean;
}

/**
 * The result of a promise, if it comes within a time, and before the signal is aborted. What it rejects with later is dropped.
 */
export async function within<T>(
  result: Promise<T>,
  signal: AbortSignal,
  ms: number = patienceMs,
): Promise<T | typeof late> {
  result.catch(() => undefined);
  let end = (): void => undefined;
  const isLate = new Promise<typeof late>((resolve) => {
    end = (): void => {
      resolve(late);
    };
  });
  const timer = setTimeout(end, Math.max(0, ms));
  signal.addEventListener('abort', end);
  try {
    return await Promise.race([result, isLate]);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', end);
  }
}

/** See the head of this file. These are of one kind. */
export class Steps<Subject extends object, T> {
  readonly #running: Map<Subject, Running<T>> = new Map();
  readonly #signal: AbortSignal;

  /** @param signal - Nobody waits for a step once it is aborted. */
  constructor(signal: AbortSignal) {
    this.#signal = signal;
  }

  /** How long the step of a subject has been under way, or its result has waited, in milliseconds; 0: there is none. */
  ageMs(subject: Subject): number {
    const running = this.#running.get(subject);
    return running ? performance.now() - running.sinceMs : 0;
  }

  /**
   * Does a step, or waits for the one that is under way.
   *
   * @param isAnew - Whether the result of a step that has ended before this call counts only if a new step is late.
   * @returns Its result, or {@link late} if it takes longer since it began: the next call has its result.
   * @throws What the step throws.
   */
  async run(subject: Subject, step: () => Promise<T>, isAnew: boolean = false): Promise<T | typeof late> {
    const before = this.#running.get(subject);
    const isEnded = before?.hasEnded === true;
    const running = before && !(isEnded && isAnew) ? before : this.#begin(subject, step);
    let isLate = false;
    try {
      const result = await within(running.result, this.#signal, patienceMs - this.ageMs(subject));
      isLate = result === late;
      // One that always takes long would never have a result.
      if (isLate && isEnded) return await before.result;
      return result;
    } finally {
      if (!isLate && this.#running.get(subject) === running) this.#running.delete(subject);
    }
  }

  /** Forgets the results of subjects that are there no more: nobody asks for them. */
  keep(isThere: (subject: Subject) => boolean): void {
    for (const subject of this.#running.keys()) if (!isThere(subject)) this.#running.delete(subject);
  }

  #begin(subject: Subject, step: () => Promise<T>): Running<T> {
    const result = step();
    const running: Running<T> = { result, sinceMs: performance.now(), hasEnded: false };
    const ended = (): void => {
      running.hasEnded = true;
    };
    result.then(ended, ended);
    this.#running.set(subject, running);
    return running;
  }
}
