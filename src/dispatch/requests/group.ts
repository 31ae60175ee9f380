/** A group: requests that are sent to the engine together, and the signals that they listen to. */

import type { WireArray } from '../../tensor/views.js';
import type { DispatchRequest, DispatchTarget, Waiter } from '../types.js';

/** The waiters of a group that is not in use. */
export const nobody: (Waiter<unknown> | undefined)[] = [];

/**
 * Requests of one tick for one version that differ only in their bytes. They are one record for the engine. A
 * request that is like no other is a group of one. The object is used again, with another generation.
 *
 *     free ── open: takes more like its first ── written, in flight ── all ended ── free
 */
export class Group {
  /** The engine's slot. */
  readonly index: number;
  generation = 0;
  target: DispatchTarget | undefined;
  /** The options of its first request, and of all that are not in {@link requests}. */
  request: DispatchRequest | undefined;
  /**
   * By position: the options of requests whose options differ from the first one's; undefined if there are
   * none.
   */
  requests: (DispatchRequest | undefined)[] | undefined;
  /**
   * The waiters by position; undefined for a request that does not wait any more. Each use has a new array:
   * references from an old object to new ones cost V8 more.
   */
  waiters: (Waiter<unknown> | undefined)[] = nobody;
  /** How many requests it has, and for how many it has room. */
  count = 0;
  room = 0;
  /** How many of its requests the engine has not ended. */
  left = 0;
  /** Whether a request has a signal. */
  hasSignals = false;
  /** By position: what listens to the request's signal; undefined if nothing does. */
  listening: (Listening | undefined)[] | undefined;
  /** By position: the stack frames that made the request; only with `captureStacks`. */
  stacks: (string | undefined)[] | undefined;
  /** The batch of each request; 0 for models without a batch dimension. */
  rows = 0;
  /** By input: the shape of each request's input (undefined if it is absent), and its bytes. */
  readonly shapes: (readonly number[] | undefined)[] = [];
  readonly byteLengths: number[] = [];
  /** By input: where the requests' bytes are written, and the number of elements of each. */
  readonly views: (WireArray | undefined)[] = [];
  readonly lengths: number[] = [];
  /** The version that its range was taken for. The group keeps both when its requests have ended. */
  placed: DispatchTarget | undefined;
  /**
   * Position and size of its range in a slab, and that range's slab and offset. Size 0: its inputs are in
   * blocks.
   */
  range = 0;
  rangeBytes = 0;
  slab = 0;
  offset = 0;
  /** By input: the staged block, if its inputs are in blocks. */
  readonly blocks: number[] = [];

  constructor(index: number) {
    this.index = index;
  }

  /** The options of a request; undefined if the group is not in use. */
  requestOf(position: number): DispatchRequest | undefined {
    return this.requests?.[position] ?? this.request;
  }
}

/** A signal with a listener, and the requests that wait for it, oldest first. */
export interface Listened {
  readonly signal: AbortSignal;
  first: Listening | undefined;
  last: Listening | undefined;
  readonly listener: () => void;
}

/** Requests of a group that listen to the same signal. */
export class Listening {
  readonly group: Group;
  /** Positions of the first and of the last of them. Other requests may lie between them. */
  readonly first: number;
  last: number;
  /** How many of them still wait. */
  left = 0;
  /** The signal; undefined when none of them waits any more. */
  to: Listened | undefined;
  /** Neighbours in the signal's list. */
  next: Listening | undefined;
  previous: Listening | undefined;

  constructor(group: Group, position: number, to: Listened) {
    this.group = group;
    this.first = this.last = position;
    this.to = to;
    this.next = undefined;
    this.previous = to.last;
  }

  /** Whether the request at a position of the group is one of these, and still waits. */
  has(position: number): boolean {
    return this.group.listening?.[position] === this;
  }
}
