/** The abort signals of requests that are not sent yet. As with those that are, a signal has one listener. */

import { isAborted, listenTo, stopListening, type StopSignal } from '../../call-signal.js';

interface Listened {
  readonly calls: Set<() => void>;
  readonly listener: () => void;
}

/** See the head of this file. */
export class SignalCalls {
  readonly #known: Map<StopSignal, Listened> = new Map();

  /**
   * Calls a function when a signal is aborted; at once, if it is.
   *
   * @returns Ends that.
   */
  on(signal: StopSignal, call: () => void): () => void {
    if (isAborted(signal)) {
      call();
      return () => undefined;
    }
    const listened = this.#known.get(signal) ?? this.#listen(signal);
    listened.calls.add(call);
    return () => {
      if (!listened.calls.delete(call) || listened.calls.size > 0) return;
      stopListening(signal, listened.listener);
      this.#known.delete(signal);
    };
  }

  #listen(signal: StopSignal): Listened {
    const calls = new Set<() => void>();
    const listener = (): void => {
      this.#known.delete(signal);
      for (const call of [...calls]) call();
    };
    const listened = { calls, listener };
    listenTo(signal, listener);
    this.#known.set(signal, listened);
    return listened;
  }
}
