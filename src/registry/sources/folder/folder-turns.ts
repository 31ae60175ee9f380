/**
 * Looks at folders take threads of libuv, of which a process has four by default, and the program's own files need them. A
 * look that hangs keeps its thread. So few run at once, and a folder that was late once does not keep others from their turn.
 */

import { clearTimeout, setTimeout } from '../../../timers.js';
import { TritonError, unavailable } from '../../../errors.js';
import { printableLine } from '../../../printable.js';

/** After how long a look is late, in milliseconds. */
const lateMs = 1000;

/** How long others wait for looks that hang, in milliseconds. Then they fail, until one of these has ended. */
const patienceMs = 20_000;

/** How many threads a process has if the environment does not say it, and at most. */
const usualThreads = 4;
const mostThreads = 1024;

/** How many looks run at once: half of the threads. */
function mostAtOnce(): number {
  const given = Number(process.env['UV_THREADPOOL_SIZE']);
  const threads = given >= 1 ? Math.min(given, mostThreads) : usualThreads;
  return Math.max(1, Math.floor(threads / 2));
}

/** A look that waits for its turn. */
interface Waiting {
  readonly place: string;
  readonly begin: () => void;
}

/** Times and numbers, which tests replace. */
export interface FolderTurnsLimits {
  readonly lateMs: number;
  readonly patienceMs: number;
  readonly atOnce: number;
}

/** See the head of this file. */
export class FolderTurns {
  readonly #limits: FolderTurnsLimits;
  /** What runs, or is about to, with its repository. */
  readonly #running: Map<object, string> = new Map();
  readonly #late: Set<object> = new Set();
  /** Repositories whose last look was late. They come last, and one at a time. */
  readonly #slow: Set<string> = new Set();
  readonly #waiting: Set<Waiting> = new Set();
  /** Whom the late ones have kept waiting in vain. */
  #stuck: 'none' | 'slow' | 'all' = 'none';

  constructor(limits: FolderTurnsLimits = { lateMs, patienceMs, atOnce: mostAtOnce() }) {
    this.#limits = limits;
  }

  /**
   * Looks at a folder in its turn.
   *
   * @param place - The repository, as the error names it.
   * @throws {@link TritonError} UNAVAILABLE (`NOT_READY`) if other folders do not answer; CANCELLED; what `look` throws.
   */
  async run<T>(place: string, look: () => Promise<T>, signal: AbortSignal): Promise<T> {
    const own = {};
    if (this.#mayBegin(place)) this.#running.set(own, place);
    else await this.#turn(own, place, signal);
    const timer = setTimeout(() => {
      this.#late.add(own);
      this.#slow.add(place);
    }, this.#limits.lateMs).unref();
    try {
      return await look();
    } finally {
      clearTimeout(timer);
      this.#running.delete(own);
      if (this.#late.delete(own)) this.#stuck = 'none';
      else this.#slow.delete(place);
      this.#beginNext();
    }
  }

  #mayBegin(place: string): boolean {
    if (this.#running.size >= this.#limits.atOnce) return false;
    return this.#late.size === 0 || !this.#slow.has(place);
  }

  async #turn(own: object, place: string, signal: AbortSignal): Promise<void> {
    if (this.#stuck === 'all' || (this.#stuck === 'slow' && this.#slow.has(place)))
      throw this.#stuckError(place);
    let end = (): void => undefined;
    try {
      await new Promise<void>((resolve, reject) => {
        const begin = (): void => {
          this.#running.set(own, place);
          resolve();
        };
        const waiting: Waiting = { place, begin };
        this.#waiting.add(waiting);
        const cancel = (): void => {
          reject(new TritonError('CANCELLED', `model repository '${place}': reading it was cancelled`));
        };
        const timer = setTimeout(() => {
          // What runs and is not late ends soon.
          if (this.#running.size > this.#late.size) {
            timer.refresh();
            return;
          }
          this.#stuck = this.#running.size >= this.#limits.atOnce ? 'all' : 'slow';
          reject(this.#stuckError(place));
        }, this.#limits.patienceMs);
        end = (): void => {
          clearTimeout(timer);
          signal.removeEventListener('abort', cancel);
          this.#waiting.delete(waiting);
        };
        signal.addEventListener('abort', cancel);
        if (signal.aborted) cancel();
      });
    } finally {
      end();
    }
  }

  #beginNext(): void {
    for (;;) {
      const free = [...this.#waiting].filter(({ place }) => this.#mayBegin(place));
      const next = free.find(({ place }) => !this.#slow.has(place)) ?? free[0];
      if (!next) return;
      this.#waiting.delete(next);
      next.begin();
    }
  }

  #stuckError(place: string): TritonError {
    const late = [...this.#late].map((one) => `'${printableLine(this.#running.get(one) ?? '')}'`);
    const others = [...new Set(late)].join(', ');
    return unavailable(
      'NOT_READY',
      `model repository '${place}' cannot be listed while there is no answer from ${others}: each takes a thread of the process, and UV_THREADPOOL_SIZE says how many there are`,
    );
  }
}

/** Those of this environment. */
export const folderTurns: FolderTurns = new FolderTurns();
