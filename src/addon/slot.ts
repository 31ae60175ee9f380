/** A port's requests in flight. */

import type { OnlyInput } from '../tensor/only-input.js';
import type { WireArray } from '../tensor/views.js';
import type { PortTarget, Waiter } from './port-types.js';

/** Everything about one request in flight; reused with the next generation. */
export class Slot {
  readonly index: number;
  generation = 0;
  target: PortTarget | undefined;
  id = '';
  waiter: Waiter<unknown> | undefined;
  signal: AbortSignal | undefined;
  owner: object | undefined;
  /** Neighbours in the list of those with the same signal. */
  next: Slot | undefined;
  previous: Slot | undefined;
  ownOutputs = false;
  /** Where the request was made; only with `captureStacks`. */
  stack: string | undefined;
  /** Position and size of its slab range; size 0: none. */
  range = 0;
  rangeBytes = 0;
  /** What the range was taken for, where it stays with the slot when its request has ended. */
  fits: OnlyInput | undefined;
  fitsRows = 0;
  /** Then where it is: number of the slab, bytes within it, and a view of it. */
  slab = 0;
  offset = 0;
  room: WireArray | undefined;

  constructor(index: number) {
    this.index = index;
  }
}
