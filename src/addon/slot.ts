/** A port's requests in flight. */

import type { OnlyInput } from '../tensor/only-input.js';
import type { WireArray } from '../tensor/views.js';
import type { PortRequest, PortTarget, Waiter } from './port-types.js';

/**
 * Everything about one request in flight; reused with the next generation. What each request needs comes first: where
 * hundreds are in flight, they are as much memory as the processor keeps at hand.
 */
export class Slot {
  readonly index: number;
  generation = 0;
  target: PortTarget | undefined;
  request: PortRequest | undefined;
  waiter: Waiter<unknown> | undefined;
  signal: AbortSignal | undefined;
  /** Where the request was made; only with `captureStacks`. */
  stack: string | undefined;
  /** What the range was taken for, where it stays with the slot when its request has ended. */
  fits: OnlyInput | undefined;
  fitsRows = 0;
  /** Then where it is: number of the slab, bytes within it, and a view of it. */
  slab = 0;
  offset = 0;
  room: WireArray | undefined;
  /** Position and size of its slab range; size 0: none. */
  range = 0;
  rangeBytes = 0;
  /** Neighbours in the list of those with the same signal. */
  next: Slot | undefined;
  previous: Slot | undefined;

  constructor(index: number) {
    this.index = index;
  }
}
