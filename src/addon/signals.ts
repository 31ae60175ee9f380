/** The abort signals of requests in flight: one listener a signal, however many requests have it. */

import type { Slot } from './slot.js';

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
  first: Slot | undefined;
  readonly listener: () => void;
}

/** See the head of this file. One a port. */
export class Signals {
  readonly #known: Map<AbortSignal, Listened> = new Map();
  /** The one that was asked for last: many requests have the same. */
  #last: { readonly signal: AbortSignal; readonly known: Listened } | undefined;
  readonly #aborted: (signal: AbortSignal, first: Slot | undefined) => void;

  /**
   * @param aborted - Called with the first of the requests of a signal that fired; the others follow by `next`, and none
   *   of them listens any more.
   */
  constructor(aborted: (signal: AbortSignal, first: Slot | undefined) => void) {
    this.#aborted = aborted;
  }

  /** The slot's request is to be told when the signal fires. */
  add(slot: Slot, signal: AbortSignal): void {
    slot.signal = signal;
    let known = this.#find(signal);
    if (!known) {
      const listener = (): void => {
        const fired = this.#known.get(signal);
        this.#forget(signal);
        if (fired) this.#aborted(signal, fired.first);
      };
      known = { first: undefined, listener };
      this.#known.set(signal, known);
      signal.addEventListener('abort', listener, { once: true });
    }
    slot.previous = undefined;
    slot.next = known.first;
    if (known.first) known.first.previous = slot;
    known.first = slot;
  }

  /** The slot's request has ended. */
  remove(slot: Slot): void {
    const { signal } = slot;
    if (!signal) return;
    slot.signal = undefined;
    const known = this.#find(signal);
    if (!known) return;
    const { next, previous } = slot;
    if (next) next.previous = previous;
    if (previous) previous.next = next;
    else known.first = next;
    slot.next = slot.previous = undefined;
    if (!known.first) {
      signal.removeEventListener('abort', known.listener);
      this.#forget(signal);
    }
  }

  #find(signal: AbortSignal): Listened | undefined {
    if (this.#last?.signal === signal) return this.#last.known;
    const known = this.#known.get(signal);
    if (known) this.#last = { signal, known };
    return known;
  }

  #forget(signal: AbortSignal): void {
    this.#known.delete(signal);
    if (this.#last?.signal === signal) this.#last = undefined;
  }
}
