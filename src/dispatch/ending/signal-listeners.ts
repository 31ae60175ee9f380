/** The abort signals of requests in flight. A signal has one listener, no matter how many requests use it. */

import { listenTo, stopListening, type StopSignal } from '../../call-signal.js';
import { Listening, type Group, type Listened } from '../requests/group.js';

/** See the head of this file. An engine connection has one. */
export class SignalListeners {
  readonly #known: Map<StopSignal, Listened> = new Map();
  /** The signal that was looked up last, because many requests share one signal. */
  #last: Listened | undefined;
  readonly #fired: (first: Listening | undefined) => void;

  /**
   * @param fired - Called with the first entry of a signal that fired. The other entries follow by `next`. They
   *   no longer listen then.
   */
  constructor(fired: (first: Listening | undefined) => void) {
    this.#fired = fired;
  }

  /** Adds listeners for the waiting requests of a group. */
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

  /** Removes the listeners of adjacent requests of a group that no longer wait. */
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

  #listening(group: Group, position: number, signal: StopSignal): Listening {
    const listened = this.#find(signal) ?? this.#listenTo(signal);
    const listening = new Listening(group, position, listened);
    if (listened.last) listened.last.next = listening;
    else listened.first = listening;
    listened.last = listening;
    return listening;
  }

  #listenTo(signal: StopSignal): Listened {
    const listened: Listened = {
      signal,
      first: undefined,
      last: undefined,
      listener: () => {
        this.#fire(listened);
      },
    };
    listenTo(signal, listened.listener);
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
    const { signal, listener } = listened;
    stopListening(signal, listener);
    this.#drop(listened);
  }

  #fire(listened: Listened): void {
    this.#drop(listened);
    const { first } = listened;
    listened.first = listened.last = undefined;
    for (let one = first; one; one = one.next) one.to = undefined;
    this.#fired(first);
  }

  #find(signal: StopSignal): Listened | undefined {
    if (this.#last?.signal === signal) return this.#last;
    return this.#known.get(signal);
  }

  #drop(listened: Listened): void {
    this.#known.delete(listened.signal);
    if (this.#last === listened) this.#last = undefined;
  }
}
