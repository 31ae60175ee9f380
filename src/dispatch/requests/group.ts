/** A group: requests that are sent to the engine together, with the signals that they listen to. */

import type { StopSignal } from '../../call-signal.js';
import type { WireArray } from '../../tensor/views.js';
import type { DispatchRequest, DispatchTarget, Waiter } from '../types.js';

/** The `waiters` of a group that is not in use. */
export const nobody: (Waiter<unknown> | undefined)[] = [];

/**
 * Requests of one tick for one version that differ only in their bytes and in their sequences. The engine receives
 * them as one record.
 * A request that differs from its neighbours is a group of one. The object is reused, with a new generation.
 *
 * free ── open: accepts requests like its first ── written, in flight ── all ended ── free
 */
export class Group {
  /** The engine's slot number. */
  readonly index: number;
  generation = 0;
  target: DispatchTarget | undefined;
  /** The options of the first request, and of all requests without an entry in {@link requests}. */
  request: DispatchRequest | undefined;
  /**
   * By position: the options of requests whose options differ from the first request's; undefined if there are
   * none.
   */
  requests: (DispatchRequest | undefined)[] | undefined;
  /**
   * The waiters by position; undefined for a request that no longer waits. Each use has a new array, because V8
   * handles references from an old object to new ones more slowly.
   */
  waiters: (Waiter<unknown> | undefined)[] = nobody;
  /** How many requests it has, and how many it has room for. */
  count = 0;
  room = 0;
  /** Number of its requests that the engine has not ended. */
  left = 0;
  /** Whether the inputs of its requests have the shapes that their lengths say; see `EncodedInputs.byLength`. */
  byLength = false;
  /** Whether any request has a signal. */
  hasSignals = false;
  /** By position: the listener entry of the request; undefined if its signal has no listener. */
  listening: (Listening | undefined)[] | undefined;
  /** By position: the stack frames that made the request; set only with `captureStacks`. */
  stacks: (string | undefined)[] | undefined;
  /** The batch size of each request; 0 for models without a batch dimension. */
  rows = 0;
  /** By input: the shape of each request's input (undefined if the input is absent), and its size in bytes. */
  readonly shapes: (readonly number[] | undefined)[] = [];
  readonly byteLengths: number[] = [];
  /** By input: the view that the requests' bytes are written to, and the number of elements of each request. */
  readonly views: (WireArray | undefined)[] = [];
  readonly lengths: number[] = [];
  /** The version that its range was allocated for. The group keeps both after its requests have ended. */
  placed: DispatchTarget | undefined;
  /**
   * Position and size of its range, and the slab and offset of the range. If the size is 0, its inputs are in
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
  readonly signal: StopSignal;
  first: Listening | undefined;
  last: Listening | undefined;
  readonly listener: () => void;
}

/** Requests of a group that listen to the same signal. */
export class Listening {
  readonly group: Group;
  /** Positions of the first and the last of these requests. Other requests may lie between them. */
  readonly first: number;
  last: number;
  /** How many of these requests still wait. */
  left = 0;
  /** The signal; undefined once none of the requests waits. */
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

  /** Whether the request at a position of the group is one of these requests, and still waits. */
  has(position: number): boolean {
    return this.group.listening?.[position] === this;
  }
}
