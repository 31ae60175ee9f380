/** A port's requests in flight. */

import type { PortTarget } from './port-types.js';

/** Everything about one request in flight; reused with the next generation. */
export class Slot {
  readonly index: number;
  generation = 0;
  target: PortTarget | undefined;
  id = '';
  resolve: ((result: unknown) => void) | undefined;
  reject: ((error: unknown) => void) | undefined;
  signal: AbortSignal | undefined;
  /** Neighbours in the list of those with the same signal. */
  next: Slot | undefined;
  previous: Slot | undefined;
  ownOutputs = false;
  /** Where the request was made; only with `captureStacks`. */
  stack: string | undefined;
  /** Position and size of its slab range; size 0: none. */
  range = 0;
  rangeBytes = 0;

  constructor(index: number) {
    this.index = index;
  }
}

/** A signal that requests in flight listen to, once for all of them. */
export interface Listened {
  first: Slot | undefined;
  readonly listener: () => void;
}
