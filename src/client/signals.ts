/** Cancels calls when a caller's signal aborts. Many calls may share one signal, which gets one listener. */

interface Listened {
  readonly cancels: Set<() => void>;
  readonly listener: () => void;
}

/** See the head of this file. */
export class Signals {
  readonly #all: Map<AbortSignal, Listened> = new Map();

  /** Registers a call: `cancel` is called when the signal aborts. */
  add(signal: AbortSignal, cancel: () => void): void {
    const known = this.#all.get(signal);
    if (known !== undefined) {
      known.cancels.add(cancel);
      return;
    }
    const cancels = new Set([cancel]);
    const listener = (): void => {
      this.#all.delete(signal);
      for (const one of cancels) one();
    };
    this.#all.set(signal, { cancels, listener });
    signal.addEventListener('abort', listener, { once: true });
  }

  /** Undoes {@link add}. */
  remove(signal: AbortSignal, cancel: () => void): void {
    const known = this.#all.get(signal);
    known?.cancels.delete(cancel);
    if (known?.cancels.size !== 0) return;
    this.#all.delete(signal);
    signal.removeEventListener('abort', known.listener);
  }
}
