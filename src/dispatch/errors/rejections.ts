/**
 * Rejects many requests in slices. Creating an error and settling a promise takes microseconds, and a caller
 * that cancels a hundred thousand requests must not block the event loop for that long. Queuing the requests is
 * cheap: their waiters are looked up only when their turn comes. A request that gets its response before then
 * keeps that response.
 */

import { performance } from 'node:perf_hooks';
import type { TritonError } from '../../errors.js';
import { withFrames, withoutStack, withStack } from './request-errors.js';
import type { Group } from '../requests/group.js';
import { setImmediate } from '../../timers.js';
import type { DispatchRequest, Waiter } from '../types.js';

/** The longest time that a slice may hold the event loop, in milliseconds. */
const sliceMs = 1;
/** How many requests are rejected between two checks of the clock. */
const portion = 32;

/** Selects requests of a group, and makes their error. */
export interface Reason {
  /** Whether a request is selected. */
  concerns(request: DispatchRequest): boolean;
  /** Creates an error for a request. */
  error(model: string, request: DispatchRequest): TritonError;
}

/** Is notified of rejections. */
export interface Settled {
  /** `waited` requests no longer wait. They are among these adjacent requests of the group; `count` may be 0. */
  settled(group: Group, first: number, count: number, waited: number): void;
  /** No request remains to be rejected. */
  allRejected(): void;
}

/** Requests to reject. */
export interface Doomed {
  /** Removes and returns the waiter of the next request that still waits; undefined if none remains. */
  take(owner: Settled): Waiter<unknown> | undefined;
  /** The error for the request that was taken last. */
  error(): TritonError | undefined;
}

/** The requests of a group in its current use. The group may be reused before they are rejected. */
export class DoomedGroup implements Doomed {
  readonly #reason: Reason;
  readonly #group: Group;
  readonly #waiters: Group['waiters'];
  readonly #request: Group['request'];
  readonly #requests: Group['requests'];
  readonly #stacks: Group['stacks'];
  readonly #model: string;
  readonly #end: number;
  /** Position of the next request. */
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

/** See the head of this file. An engine connection has one. */
export class Rejections {
  readonly #owner: Settled;
  #queue: Doomed[] = [];
  /** Number of queue entries that are done. */
  #done = 0;
  #rejected = 0;
  #scheduled = false;

  constructor(owner: Settled) {
    this.#owner = owner;
  }

  /** Whether no request remains to be rejected. */
  get empty(): boolean {
    return this.#queue.length === 0;
  }

  /** Adds requests to reject, after those added before. */
  add(doomed: Doomed): void {
    this.#queue.push(doomed);
  }

  /**
   * Rejects the added requests: the first ones now, the others in the next turns of the event loop.
   *
   * @param began - When the caller began its own work for these requests, by `performance.now()`. That work
   *   counts towards the first slice.
   */
  run(began: number = performance.now()): void {
    if (this.#goesOnLater() || this.#queue.length === 0) return;
    const end = began + sliceMs;
    // Groups without a waiter cost time, too, so they count as a step. A rejected caller may call this method,
    // which may leave the rest for later.
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
      waiter.reject(this.#rejected++ < withStack ? doomed.error() : withoutStack(() => doomed.error()));
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
    // Without this, finished entries would pile up if new entries kept arriving.
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
