/**
 * The requests that wait until a lazy model is loaded: those that came while it was not, and those whose version was unloaded
 * before it accepted them. They are sent in the order in which they came.
 */

import type { StopSignal } from '../../call-signal.js';
import { SignalCalls } from '../ending/signal-calls.js';
import { cancelled } from '../errors/request-errors.js';
import type { ToldStream } from '../responses/streams.js';
import type { DispatchRequest } from '../types.js';

/** A request that waits. */
export interface AwaitingRequest {
  readonly request: Pick<DispatchRequest, 'signal' | 'owner'>;
  /**
   * Sends it. The model is loaded.
   *
   * @throws Why it cannot be sent.
   */
  send(): void;
  /** It is not to be sent. */
  reject(error: unknown): void;
  /** It waits no more. Called before it is sent, or rejected. */
  leave?(): void;
}

/** A model for which requests wait. */
export interface QueuedModel {
  readonly name: string;
  /**
   * Has it loaded. Undefined: it is, or it is not one that requests load.
   *
   * @returns Rejects with the reason why it cannot be loaded.
   */
  load(): Promise<void> | undefined;
}

/** How often a model that was unloaded before its requests were sent is loaded again for them. */
const mostLoads = 100;

/** The queues of an engine connection. */
export class AwaitedLoads {
  readonly #signals: SignalCalls = new SignalCalls();
  /** Those with requests. */
  readonly #queues: Set<LoadQueue> = new Set();

  /** A queue of requests for a model. */
  queue(model: QueuedModel): LoadQueue {
    return new LoadQueue(model, this.#queues, this.#signals);
  }

  /** Rejects the requests that were made for `owner`. */
  cancelAll(owner: object): void {
    for (const queue of this.#queues) queue.cancelAll(owner);
  }
}

/** Requests that wait for one model. {@link AwaitedLoads} makes them. */
export class LoadQueue {
  readonly #model: QueuedModel;
  /** Those with requests, of the same connection. */
  readonly #queues: Set<LoadQueue>;
  readonly #signals: SignalCalls;
  /** The requests, with what ends their interest in their signal. */
  readonly #requests: Map<AwaitingRequest, (() => void) | undefined> = new Map();
  #isLoading = false;

  constructor(model: QueuedModel, queues: Set<LoadQueue>, signals: SignalCalls) {
    this.#model = model;
    this.#queues = queues;
    this.#signals = signals;
  }

  /** Whether requests wait, so that later ones have to wait behind them. */
  get any(): boolean {
    return this.#requests.size > 0;
  }

  /** Whether the model is being loaded for requests of this queue. */
  get isLoading(): boolean {
    return this.#isLoading;
  }

  /**
   * Adds requests, and has the model loaded for the first.
   *
   * @param requests - Their signals may be aborted.
   */
  add(requests: readonly AwaitingRequest[]): void {
    for (const request of requests) {
      this.#requests.set(request, undefined);
      this.#queues.add(this);
      const { signal } = request.request;
      if (signal === undefined) continue;
      const deaf = this.#signals.on(signal, () => {
        this.#cancel(request, signal);
      });
      // It is not there any more if the signal was aborted.
      if (this.#requests.has(request)) this.#requests.set(request, deaf);
    }
    if (!this.#isLoading && this.any) void this.#send();
  }

  /** What the reader of a stream can do with a request until it is sent. */
  stream(request: AwaitingRequest): ToldStream {
    return {
      begin: () => undefined,
      read: () => undefined,
      cancel: () => void this.#remove(request),
    };
  }

  /** Rejects a request, if it still waits. */
  refuse(request: AwaitingRequest, error: unknown): void {
    if (this.#remove(request)) request.reject(error);
  }

  /** Rejects the requests that were made for `owner`. */
  cancelAll(owner: object): void {
    for (const request of this.#requests.keys()) {
      if (request.request.owner === owner) this.#cancel(request);
    }
  }

  #cancel(request: AwaitingRequest, signal?: StopSignal): void {
    if (this.#remove(request)) request.reject(cancelled(this.#model.name, signal));
  }

  #remove(request: AwaitingRequest): boolean {
    const deaf = this.#requests.get(request);
    if (!this.#requests.delete(request)) return false;
    if (!this.any) this.#queues.delete(this);
    deaf?.();
    request.leave?.();
    return true;
  }

  async #send(): Promise<void> {
    this.#isLoading = true;
    try {
      for (let loads = 0; loads < mostLoads && this.any; loads++) {
        const load = this.#model.load();
        if (load === undefined) break;
        await load;
      }
    } catch (error) {
      this.#isLoading = false;
      for (const request of [...this.#requests.keys()]) this.refuse(request, error);
      return;
    }
    this.#isLoading = false;
    const requests = [...this.#requests.keys()];
    // From here on others may be sent, and follow these.
    for (const request of requests) this.#remove(request);
    for (const request of requests) {
      try {
        request.send();
      } catch (error) {
        request.reject(error);
      }
    }
  }
}
