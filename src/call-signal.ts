/**
 * Signals that stop the calls which models make for their requests. An `AbortSignal` would do, but to make one for each
 * request of each batch costs a model that calls others a quarter of its time.
 */

// These are the methods of the class, not of a signal's own properties, so no code of the caller runs here.
// Such code could detach an input between its check and its copy, make requests while another is being added,
// or throw.
const { prototype } = AbortSignal;
const getAborted = Reflect.getOwnPropertyDescriptor(prototype, 'aborted')?.get as (
  this: AbortSignal,
) => boolean;
const getReason = Reflect.getOwnPropertyDescriptor(prototype, 'reason')?.get as (
  this: AbortSignal,
) => unknown;
// Read as properties, because under `node --frozen-intrinsics` built-in methods are getters.
const addListener: AbortSignal['addEventListener'] = Reflect.get(prototype, 'addEventListener');
const removeListener: AbortSignal['removeEventListener'] = Reflect.get(prototype, 'removeEventListener');
const once = { once: true } as const;

/** The part of an `AbortSignal` that calls use. It is made with each request, so it is small. */
export class CallSignal {
  #reason: unknown;
  /** The first listener; most signals have no other one. */
  #listener: (() => void) | undefined;
  /** The others. */
  #more: Set<() => void> | undefined;
  #aborted = false;
  /** What {@link abortSignalOf} has made of it. */
  #controller: AbortController | undefined;

  /** Whether it has fired. */
  get aborted(): boolean {
    return this.#aborted;
  }

  /** As that of an `AbortController` that is aborted without a reason; undefined before. */
  get reason(): unknown {
    if (!this.#aborted) return undefined;
    this.#reason ??= new DOMException('This operation was aborted', 'AbortError');
    return this.#reason;
  }

  /** Whether it has listeners. */
  get isHeard(): boolean {
    return this.#listener !== undefined || (this.#more?.size ?? 0) > 0;
  }

  /** Has a function called once, when it fires. */
  addEventListener(_type: 'abort', listener: () => void, _options?: unknown): void {
    if (this.#aborted || this.#listener === listener || this.#more?.has(listener) === true) return;
    if (this.#listener === undefined) this.#listener = listener;
    else (this.#more ??= new Set()).add(listener);
  }

  /** Has it not called any more. */
  removeEventListener(_type: 'abort', listener: () => void): void {
    if (this.#listener === listener) this.#listener = undefined;
    else this.#more?.delete(listener);
  }

  /** Fires, once. What a listener throws is thrown where nobody catches it, as for an `AbortSignal`. */
  abort(): void {
    if (this.#aborted) return;
    this.#aborted = true;
    const listeners = [this.#listener, ...(this.#more ?? [])];
    this.#listener = this.#more = undefined;
    for (const listener of listeners) {
      try {
        listener?.();
      } catch (error) {
        process.nextTick(() => {
          throw error;
        });
      }
    }
  }

  /** An `AbortSignal` that fires with it: the same one for each call. */
  asAbortSignal(): AbortSignal {
    if (this.#controller === undefined) {
      const controller = (this.#controller = new AbortController());
      const stop = (): void => {
        controller.abort(this.reason);
      };
      if (this.aborted) stop();
      else this.addEventListener('abort', stop);
    }
    return this.#controller.signal;
  }
}

/**
 * Fires with the first of several signals. It listens to these only while it has listeners itself, so that it leaves nothing
 * in a signal that lives longer than a call. `AbortSignal.any` does.
 */
class JoinedSignal extends CallSignal {
  readonly #sources: readonly StopSignal[];
  readonly #fired = (): void => {
    this.abort();
  };
  #isListening = false;

  constructor(sources: readonly StopSignal[]) {
    super();
    this.#sources = sources;
  }

  override get aborted(): boolean {
    return this.#sources.some(isAborted);
  }

  override get reason(): unknown {
    const fired = this.#sources.find(isAborted);
    return fired && reasonOf(fired);
  }

  override addEventListener(type: 'abort', listener: () => void): void {
    if (this.aborted) return;
    super.addEventListener(type, listener);
    if (this.#isListening) return;
    this.#isListening = true;
    for (const source of this.#sources) listenTo(source, this.#fired);
  }

  override removeEventListener(type: 'abort', listener: () => void): void {
    super.removeEventListener(type, listener);
    if (!this.isHeard) this.#leave();
  }

  override abort(): void {
    this.#leave();
    super.abort();
  }

  #leave(): void {
    if (!this.#isListening) return;
    this.#isListening = false;
    for (const source of this.#sources) stopListening(source, this.#fired);
  }
}

/** Each fires with the `AbortSignal` that is its key, which has one listener then, no matter how many listen here. */
const relays = new WeakMap<AbortSignal, CallSignal>();

/** What stops a request. */
export type StopSignal = AbortSignal | CallSignal;

/** A signal that fires with the first of two, and has its reason. */
export function joinSignals(first: CallSignal, second: StopSignal): CallSignal {
  return new JoinedSignal([first, relayOf(second)]);
}

function relayOf(signal: StopSignal): CallSignal {
  if (signal instanceof CallSignal) return signal;
  const known = relays.get(signal);
  if (known) return known;
  const relay = new JoinedSignal([signal]);
  relays.set(signal, relay);
  return relay;
}

/** Whether the signal has fired. */
export function isAborted(signal: StopSignal): boolean {
  return signal instanceof CallSignal ? signal.aborted : getAborted.call(signal);
}

/** The abort reason of the signal. */
export function reasonOf(signal: StopSignal): unknown {
  return signal instanceof CallSignal ? signal.reason : getReason.call(signal);
}

/** Has a function called once, when the signal fires. */
export function listenTo(signal: StopSignal, listener: () => void): void {
  if (signal instanceof CallSignal) signal.addEventListener('abort', listener);
  else addListener.call(signal, 'abort', listener, once);
}

/** Has it not called any more. */
export function stopListening(signal: StopSignal, listener: () => void): void {
  if (signal instanceof CallSignal) signal.removeEventListener('abort', listener);
  else removeListener.call(signal, 'abort', listener);
}

/** The signal as an `AbortSignal`, to combine it with others. */
export function abortSignalOf(signal: StopSignal): AbortSignal {
  return signal instanceof CallSignal ? signal.asAbortSignal() : signal;
}
