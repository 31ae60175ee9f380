/**
 * Rejections of many requests at once, in slices: to make an error and to settle a promise takes microseconds, and whoever
 * cancels a hundred thousand requests must not hold the event loop for it. Who waits is looked for only then, so that to
 * note them takes next to nothing: who is answered before its turn comes has that answer.
 */

import { performance } from 'node:perf_hooks';
import type { TritonError } from '../errors.js';
import { withFrames, withoutStack } from './errors.js';
import type { Group } from './group.js';
import { setImmediate } from './timers.js';
import type { DispatchRequest, Waiter } from './types.js';

/** How long a slice may hold the event loop, in milliseconds. */
const sliceMs = 1;
/** So many are rejected before the clock is looked at; the first so many errors have a stack. */
const portion = 32;

/** Which requests are meant, and what they are rejected with. */
export interface Reason {
  /** Whether a request is meant. */
  concerns(request: DispatchRequest): boolean;
  /** An error of its own for each. */
  error(model: string, request: DispatchRequest): TritonError;
}

/** Told of each request that is rejected. */
export interface Settled {
  /** `waited` requests wait no more; they are among these neighbours in the group, where there are any. */
  settled(group: Group, first: number, count: number, waited: number): void;
  /** None is left to be rejected. */
  allRejected(): void;
}

/** Requests that are to be rejected. */
export interface Doomed {
  /** The next one that still waits, which does no more now; undefined where there is none. */
  take(owner: Settled): Waiter<unknown> | undefined;
  /** The error of the one that was taken last. */
  error(): TritonError | undefined;
}

/** Those of a group, as it is now: it may be another one's when they are rejected. */
export class DoomedGroup implements Doomed {
  readonly #reason: Reason;
  readonly #group: Group;
  readonly #waiters: Group['waiters'];
  readonly #request: Group['request'];
  readonly #requests: Group['requests'];
  readonly #stacks: Group['stacks'];
  readonly #model: string;
  readonly #end: number;
  /** Of the next one. */
  #position = 0;
  #taken: DispatchRequest | undefined;

  constructor(group: Group, reason: Reason) {
    this.#reason = reason;
    this.#group = group;
    this.#waiters = group.waiters;
    this.#request = group.request;
    this.#requests = group.requests;
    this.#stacks = group.stacks;
    this.#model = group.target?.name ?? '';
    this.#end = group.count;
  }

  take(owner: Settled): Waiter<unknown> | undefined {
    while (this.#position < this.#end) {
      const position = this.#position++;
      const waiter = this.#waiters[position];
      const request = this.#requests?.[position] ?? this.#request;
      if (waiter === undefined || request === undefined || !this.#reason.concerns(request)) continue;
      this.#waiters[position] = undefined;
      this.#taken = request;
      const isSame = this.#group.waiters === this.#waiters;
      owner.settled(this.#group, position, isSame ? 1 : 0, 1);
      return waiter;
    }
    return undefined;
  }

  error(): TritonError | undefined {
    if (this.#taken === undefined) return undefined;
    const error = this.#reason.error(this.#model, this.#taken);
    return withFrames(error, this.#stacks?.[this.#position - 1]);
  }
}

/** See the head of this file. One a dispatcher. */
export class Rejections {
  readonly #owner: Settled;
  #queue: Doomed[] = [];
  /** Of these so many are done. */
  #done = 0;
  #rejected = 0;
  #scheduled = false;

  constructor(owner: Settled) {
    this.#owner = owner;
  }

  /** Whether none is left. */
  get empty(): boolean {
    return this.#queue.length === 0;
  }

  /** Those that wait are to be rejected, after those that were added before. */
  add(doomed: Doomed): void {
    this.#queue.push(doomed);
  }

  /** Rejects what was added: the first of them now, the others with the next turns of the event loop. */
  run(): void {
    if (this.#goesOnLater() || this.#queue.length === 0) return;
    const end = performance.now() + sliceMs;
    // Groups in which nobody waits any more cost time, too.
    // What is rejected may call this, and leave the rest for later.
    for (let looks = 1; this.#done < this.#queue.length && !this.#goesOnLater(); looks++) {
      if (looks % portion === 0 && performance.now() > end) {
        this.#goOnLater();
        break;
      }
      const doomed = this.#queue[this.#done];
      const waiter = doomed?.take(this.#owner);
      if (doomed === undefined || waiter === undefined) {
        this.#done++;
        continue;
      }
      waiter.reject(this.#rejected++ < portion ? doomed.error() : withoutStack(() => doomed.error()));
    }
    if (this.#goesOnLater()) return;
    this.#queue = [];
    this.#done = this.#rejected = 0;
    this.#owner.allRejected();
  }

  #goesOnLater(): boolean {
    return this.#scheduled;
  }

  #goOnLater(): void {
    this.#scheduled = true;
    // Where there is always more, those that are done do not stay.
    if (this.#done > this.#queue.length / 2) {
      this.#queue = this.#queue.slice(this.#done);
      this.#done = 0;
    }
    setImmediate(() => {
      this.#scheduled = false;
      this.run();
    });
  }
}
