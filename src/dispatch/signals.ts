/** The abort signals of requests in flight: one listener a signal, however many requests have it. */

import type { Group } from './group.js';

// The accessor of the class, and not whatever the signal has under that name: it runs none of the caller's code, which
// could take away an input that is checked and not yet copied.
const getAborted = Reflect.getOwnPropertyDescriptor(AbortSignal.prototype, 'aborted')?.get as (
  this: AbortSignal,
) => boolean;

/** Whether the signal has fired. */
export function isAborted(signal: AbortSignal): boolean {
  return getAborted.call(signal);
}

/** A signal that requests in flight listen to. */
interface Listened {
  readonly signal: AbortSignal;
  first: Listening | undefined;
  readonly listener: () => void;
}

/** A request that listens to a signal. */
export class Listening {
  readonly group: Group;
  readonly position: number;
  /** Undefined when it does no more. */
  to: Listened | undefined;
  /** Neighbours in the list of those with the same signal. */
  next: Listening | undefined;
  previous: Listening | undefined;

  constructor(group: Group, position: number, to: Listened) {
    this.group = group;
    this.position = position;
    this.to = to;
    this.next = to.first;
    this.previous = undefined;
  }
}

/** See the head of this file. One a dispatcher. */
export class Signals {
  readonly #known: Map<AbortSignal, Listened> = new Map();
  /** The one that was asked for last: many requests have the same. */
  #last: Listened | undefined;
  readonly #aborted: (signal: AbortSignal, first: Listening | undefined) => void;

  /**
   * @param aborted - Called with the first of the requests of a signal that fired; the others follow by `next`, and none
   *   of them listens any more.
   */
  constructor(aborted: (signal: AbortSignal, first: Listening | undefined) => void) {
    this.#aborted = aborted;
  }

  /** The request is to be told when the signal fires. */
  add(group: Group, position: number, signal: AbortSignal): void {
    let listened = this.#find(signal);
    if (listened === undefined) {
      const made: Listened = {
        signal,
        first: undefined,
        listener: () => {
          this.#fired(made);
        },
      };
      listened = made;
      signal.addEventListener('abort', listened.listener, once);
      this.#known.set(signal, listened);
      this.#last = listened;
    }
    const listening = new Listening(group, position, listened);
    if (listened.first) listened.first.previous = listening;
    listened.first = listening;
    (group.listening ??= new Array<Listening | undefined>(group.room))[position] = listening;
  }

  /** The request has ended. */
  remove(listening: Listening): void {
    const listened = listening.to;
    if (listened === undefined) return;
    const { next, previous } = listening;
    if (next) next.previous = previous;
    if (previous) previous.next = next;
    else listened.first = next;
    listening.to = listening.next = listening.previous = undefined;
    if (listened.first) return;
    listened.signal.removeEventListener('abort', listened.listener);
    this.#forget(listened);
  }

  #fired(listened: Listened): void {
    this.#forget(listened);
    const { first } = listened;
    listened.first = undefined;
    for (let one = first; one; one = one.next) one.to = undefined;
    this.#aborted(listened.signal, first);
  }

  #find(signal: AbortSignal): Listened | undefined {
    if (this.#last?.signal === signal) return this.#last;
    return this.#known.get(signal);
  }

  #forget(listened: Listened): void {
    this.#known.delete(listened.signal);
    if (this.#last === listened) this.#last = undefined;
  }
}

const once = { once: true } as const;
