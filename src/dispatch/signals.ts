/** The abort signals of requests in flight: one listener a signal, however many requests have it. */

import type { Group } from './group.js';

// What the classes have, and not whatever a signal has under these names: it runs none of the caller's code, which could
// take away an input that is checked and not yet copied, ask for more requests in the middle of one, or throw.
const { prototype } = AbortSignal;
const getAborted = Reflect.getOwnPropertyDescriptor(prototype, 'aborted')?.get as (
  this: AbortSignal,
) => boolean;
const getReason = Reflect.getOwnPropertyDescriptor(prototype, 'reason')?.get as (
  this: AbortSignal,
) => unknown;
// Read as properties: under `node --frozen-intrinsics` methods of the language have a getter in place of a value.
const addListener: AbortSignal['addEventListener'] = Reflect.get(prototype, 'addEventListener');
const removeListener: AbortSignal['removeEventListener'] = Reflect.get(prototype, 'removeEventListener');

/** Whether the signal has fired. */
export function isAborted(signal: AbortSignal): boolean {
  return getAborted.call(signal);
}

/** Why it has. */
export function reasonOf(signal: AbortSignal): unknown {
  return getReason.call(signal);
}

/** A signal that requests in flight listen to, and these, in the order they began to. */
interface Listened {
  readonly signal: AbortSignal;
  first: Listening | undefined;
  last: Listening | undefined;
  readonly listener: () => void;
}

/** Requests of a group that listen to a signal. */
export class Listening {
  readonly group: Group;
  /** Positions of the first one and of the last one; not all between them need be of these. */
  readonly first: number;
  last: number;
  /** So many of them still wait. */
  left = 0;
  /** Undefined when none does any more. */
  to: Listened | undefined;
  /** Neighbours in the list of those with the same signal. */
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

/** See the head of this file. One a dispatcher. */
export class Signals {
  readonly #known: Map<AbortSignal, Listened> = new Map();
  /** The one that was asked for last: many requests have the same. */
  #last: Listened | undefined;
  readonly #fired: (first: Listening | undefined) => void;

  /**
   * @param fired - Called with the first of the requests of a signal that fired; the others follow by `next`, and none
   *   of them listens any more.
   */
  constructor(fired: (first: Listening | undefined) => void) {
    this.#fired = fired;
  }

  /** The requests of a group that wait are to be told when their signals fire. */
  listen(group: Group): void {
    const { waiters, count } = group;
    let one: Listening | undefined;
    for (let position = 0; position < count; position++) {
      const signal = waiters[position] && group.requestOf(position)?.signal;
      if (signal === undefined) continue;
      if (one?.to?.signal !== signal) one = this.#listening(group, position, signal);
      one.last = position;
      one.left++;
      (group.listening ??= new Array<Listening | undefined>(group.room))[position] = one;
    }
  }

  /** Requests of a group, neighbours, wait no more. */
  forget(group: Group, first: number, count: number): void {
    const { listening } = group;
    if (listening === undefined) return;
    for (let position = first; position < first + count; position++) {
      const one = listening[position];
      if (one === undefined) continue;
      listening[position] = undefined;
      if (--one.left === 0) this.#remove(one);
    }
  }

  #listening(group: Group, position: number, signal: AbortSignal): Listening {
    const listened = this.#find(signal) ?? this.#listenTo(signal);
    const listening = new Listening(group, position, listened);
    if (listened.last) listened.last.next = listening;
    else listened.first = listening;
    listened.last = listening;
    return listening;
  }

  #listenTo(signal: AbortSignal): Listened {
    const listened: Listened = {
      signal,
      first: undefined,
      last: undefined,
      listener: () => {
        this.#fire(listened);
      },
    };
    addListener.call(signal, 'abort', listened.listener, once);
    this.#known.set(signal, listened);
    this.#last = listened;
    return listened;
  }

  #remove(listening: Listening): void {
    const listened = listening.to;
    if (listened === undefined) return;
    const { next, previous } = listening;
    if (next) next.previous = previous;
    else listened.last = previous;
    if (previous) previous.next = next;
    else listened.first = next;
    listening.to = listening.next = listening.previous = undefined;
    if (listened.first) return;
    removeListener.call(listened.signal, 'abort', listened.listener);
    this.#drop(listened);
  }

  #fire(listened: Listened): void {
    this.#drop(listened);
    const { first } = listened;
    listened.first = listened.last = undefined;
    for (let one = first; one; one = one.next) one.to = undefined;
    this.#fired(first);
  }

  #find(signal: AbortSignal): Listened | undefined {
    if (this.#last?.signal === signal) return this.#last;
    return this.#known.get(signal);
  }

  #drop(listened: Listened): void {
    this.#known.delete(listened.signal);
    if (this.#last === listened) this.#last = undefined;
  }
}

const once = { once: true } as const;
