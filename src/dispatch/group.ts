/** A dispatcher's requests in flight, by the groups they were sent in. */

import type { WireArray } from '../tensor/views.js';
import type { Listening } from './signals.js';
import type { DispatchRequest, DispatchTarget, Waiter } from './types.js';

/** Of a group that is not in use. */
export const nobody: (Waiter<unknown> | undefined)[] = [];

/**
 * Requests of a tick for one version that differ in their bytes alone: one record to the engine. What fits no other
 * request is a group of one. The object is used again, with another generation.
 *
 *     free ── open: takes more like its first ── written, in flight ── all ended ── free
 */
export class Group {
  /** The engine's slot. */
  readonly index: number;
  generation = 0;
  target: DispatchTarget | undefined;
  /** The options of its requests, of the first one at least. */
  request: DispatchRequest | undefined;
  /** By position: those that are not `request`; undefined where there are none. */
  requests: (DispatchRequest | undefined)[] | undefined;
  /**
   * Who waits, by position; undefined where nobody does any more. A new array for each use: to refer from an old object
   * to new ones costs V8 more.
   */
  waiters: (Waiter<unknown> | undefined)[] = nobody;
  /** Requests that it has, and may have. */
  count = 0;
  room = 0;
  /** Of these the engine has not ended so many. */
  left = 0;
  /** Whether some request has a signal. */
  hasSignals = false;
  /** By position: what listens to the request's signal; undefined where none does. */
  listening: (Listening | undefined)[] | undefined;
  /** By position: where the request was made; only with `captureStacks`. */
  stacks: (string | undefined)[] | undefined;
  /** The batch of each request; 0 for models without a batch dimension. */
  rows = 0;
  /** By input, of each request: its shape, undefined where it is absent, and its bytes. */
  readonly shapes: (readonly number[] | undefined)[] = [];
  readonly byteLengths: number[] = [];
  /** By input: where requests' bytes are written, and elements of each. */
  readonly views: (WireArray | undefined)[] = [];
  readonly lengths: number[] = [];
  /** The version that its range was taken for; it stays with the group when its requests have ended. */
  placed: DispatchTarget | undefined;
  /** Position and size of its slab range, whose slab and offset follow; size 0: its inputs are in blocks. */
  range = 0;
  rangeBytes = 0;
  slab = 0;
  offset = 0;
  /** By input: the staged block, where its inputs are in blocks. */
  readonly blocks: number[] = [];

  constructor(index: number) {
    this.index = index;
  }

  /** The options of a request; undefined where the group is not in use. */
  requestOf(position: number): DispatchRequest | undefined {
    return this.requests?.[position] ?? this.request;
  }
}
