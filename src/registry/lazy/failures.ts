/** The failed loads of lazy models: a flood of requests must not try a broken model again and again. */

import type { TritonError } from '../../errors.js';
import type { ModelEntry } from '../entries/model-entry.js';
import { stampNow } from '../loading/load-model.js';
import { endsWithin } from '../../time-limit.js';
import { clearTimeout, setTimeout } from '../../timers.js';

/** The first pause after a failed load, which doubles, and the longest one. In milliseconds. */
const firstPauseMs = 250;
const mostPauseMs = 30_000;
/** How often it is looked whether the files have changed. */
const lookMs = 250;

/** How long a request waits for such a look: a store may be away, and it has an error to tell. */
const lookWaitMs = 100;

interface Failure {
  readonly error: TritonError;
  /** Of the files that could not be loaded; '': not known. It does not reject. */
  readonly stamp: Promise<string>;
  readonly beganMs: number;
  pauseMs: number;
  endMs: number;
  timer: NodeJS.Timeout | undefined;
  /** The last look at the files, and what it found. */
  look: { atMs: number; readonly hasChanged: Promise<boolean> };
}

/** The stamp of a model's files; '' for a model without files, and for one that nobody can look at. */
async function stampOf(entry: ModelEntry, signal: AbortSignal): Promise<string> {
  try {
    return entry.given ? '' : await stampNow(entry.place(), signal);
  } catch {
    // The load tells why.
    return '';
  }
}

/** After its end a failure is remembered so much longer, in milliseconds: the next one has a longer pause. */
const rememberedMs = 60_000;

/** See the head of this file. */
export class Failures {
  readonly #signal: AbortSignal;
  readonly #ended: (entry: ModelEntry) => void;
  readonly #partsOf: (entry: ModelEntry) => readonly ModelEntry[];
  readonly #failures: Map<ModelEntry, Failure> = new Map();

  /**
   * @param ended - Called when the pause of a model has ended, and there was no other load of it.
   * @param partsOf - The models that the load of a model needs.
   */
  constructor(
    signal: AbortSignal,
    ended: (entry: ModelEntry) => void,
    partsOf: (entry: ModelEntry) => readonly ModelEntry[] = () => [],
  ) {
    this.#signal = signal;
    this.#ended = ended;
    this.#partsOf = partsOf;
  }

  /** The stamps of the files of a model, and of those that it needs. */
  async #stampOf(entry: ModelEntry): Promise<string> {
    const stamps = await Promise.all(this.#allOf(entry).map((one) => stampOf(one, this.#signal)));
    return stamps.every((stamp) => stamp === '') ? '' : JSON.stringify(stamps);
  }

  /** The error of the last load, while there is to be no other one: its pause lasts, and its files are the same. */
  async pausing(entry: ModelEntry): Promise<TritonError | undefined> {
    const failure = this.#failures.get(entry);
    if (failure === undefined) return undefined;
    const now = performance.now();
    if (now >= failure.endMs) return undefined;
    if (now >= failure.look.atMs + lookMs) {
      const stamps = Promise.all([this.#stampOf(entry), failure.stamp]);
      const hasChanged = stamps.then(([stamp, before]) => stamp !== before);
      const look = { atMs: Infinity, hasChanged };
      failure.look = look;
      // Until it has ended no other one begins.
      void hasChanged.then(() => (look.atMs = now));
    }
    const { hasChanged } = failure.look;
    if (!(await endsWithin(hasChanged, lookWaitMs))) return failure.error;
    return (await hasChanged) ? undefined : failure.error;
  }

  /** A load has failed. What is to be known of its files is read beside: those that wait are told at once. */
  add(entry: ModelEntry, error: TritonError): void {
    const before = this.#failures.get(entry);
    clearTimeout(before?.timer);
    const pauseMs = before ? Math.min(mostPauseMs, before.pauseMs * 2) : firstPauseMs;
    const now = performance.now();
    const failure: Failure = {
      error,
      stamp: this.#stampOf(entry),
      beganMs: now,
      pauseMs,
      endMs: now + pauseMs,
      timer: undefined,
      look: { atMs: now, hasChanged: Promise.resolve(false) },
    };
    this.#failures.set(entry, failure);
    this.#await(entry, failure);
    if (before) void this.#shorten(entry, failure, before);
  }

  /** The error of the last load that has failed; undefined: there is none. */
  errorOf(entry: ModelEntry): TritonError | undefined {
    return this.#failures.get(entry)?.error;
  }

  /** The pause of other files is not longer than the first one. */
  async #shorten(entry: ModelEntry, failure: Failure, before: Failure): Promise<void> {
    const [old, stamp] = await Promise.all([before.stamp, failure.stamp]);
    if (old === stamp || this.#failures.get(entry) !== failure) return;
    clearTimeout(failure.timer);
    failure.pauseMs = firstPauseMs;
    failure.endMs = failure.beganMs + firstPauseMs;
    this.#await(entry, failure);
  }

  /** Tells of the end of a pause. */
  #await(entry: ModelEntry, failure: Failure): void {
    failure.timer = setTimeout(
      () => {
        // A timer may fire a little early. A model that is said to be ready is loaded at the next request.
        failure.endMs = Math.min(failure.endMs, performance.now());
        if (this.#failures.get(entry) === failure) this.#ended(entry);
      },
      Math.max(0, failure.endMs - performance.now()),
    ).unref();
  }

  /** It was loaded, or the program asks for a load. */
  remove(entry: ModelEntry): void {
    this.#failures.delete(entry);
  }

  /** A model was loaded: the pauses of those end that need it. */
  removeUsersOf(part: ModelEntry): void {
    const now = performance.now();
    for (const [entry, { endMs }] of [...this.#failures]) {
      // Those of models that nobody asks for any more.
      if (now > endMs + rememberedMs) this.#failures.delete(entry);
      if (entry === part || now >= endMs || !this.#allOf(entry).includes(part)) continue;
      this.#failures.delete(entry);
      this.#ended(entry);
    }
  }

  /** How long the pause of a model lasts, in milliseconds; 0: it has none. */
  pauseMs(entry: ModelEntry): number {
    return Math.max(0, (this.#failures.get(entry)?.endMs ?? 0) - performance.now());
  }

  /** A model with those that it needs, and their own. */
  #allOf(entry: ModelEntry): ModelEntry[] {
    const all = new Set([entry]);
    for (const one of all) for (const part of this.#partsOf(one)) all.add(part);
    return [...all];
  }
}
