/** A port's requests in flight. */

import type { OnlyInput } from '../tensor/only-input.js';
import type { WireArray } from '../tensor/views.js';
import type { PortRequest, PortTarget, Waiter } from './port-types.js';

/** Of a slot that is not in use. */
export const nobody: (Waiter<unknown> | undefined)[] = [];

/**
 * What the engine takes for one request: one, or several of a tick that differ in their bytes alone, its parts. Reused
 * with the next generation.
 */
export class Slot {
  readonly index: number;
  generation = 0;
  target: PortTarget | undefined;
  /** The options of its parts, of the first one at least. */
  request: PortRequest | undefined;
  /** By part: those that are not `request`; undefined where there are none. */
  requests: (PortRequest | undefined)[] | undefined;
  /**
   * Who waits, by part; undefined where nobody does any more. A new array for each use: to refer from an old object to
   * new ones costs V8 more.
   */
  waiters: (Waiter<unknown> | undefined)[] = nobody;
  parts = 0;
  /** Of these the engine has not ended so many. */
  left = 0;
  signal: AbortSignal | undefined;
  /** Where the request was made; only with `captureStacks`. */
  stack: string | undefined;
  /** What the range was taken for, where it stays with the slot when its requests have ended: so many, of so many rows. */
  fits: OnlyInput | undefined;
  rows = 0;
  room = 0;
  /** Then where it is: number of the slab, bytes within it, and a view of it. */
  slab = 0;
  offset = 0;
  view: WireArray | undefined;
  /** Elements of one part. */
  width = 0;
  /** Position and size of its slab range; size 0: none. */
  range = 0;
  rangeBytes = 0;
  /** Neighbours in the list of those with the same signal. */
  next: Slot | undefined;
  previous: Slot | undefined;

  constructor(index: number) {
    this.index = index;
  }

  /** The options of a part; undefined where the slot is not in use. */
  requestOf(part: number): PortRequest | undefined {
    return this.requests?.[part] ?? this.request;
  }
}
