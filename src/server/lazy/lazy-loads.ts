/** How an environment asks for lazy models, and the limit of the requests that wait for them. */

import type { EngineConnection } from '../../dispatch/engine-connection.js';
import { invalidArgument, unavailable, type TritonError } from '../../errors.js';
import type { ModelKey } from '../../model-key.js';
import { clearInterval, setInterval } from '../../timers.js';

/** Asks for lazy models. */
export interface Waker {
  /**
   * Resolves when the model is served. Others that ask meanwhile share the load.
   *
   * @param isUrgent - Whether a model asks for it. It waits for no other load, and for no model to become idle: the model that
   *   asks may be the one.
   * @throws {@link TritonError} Why it cannot be loaded.
   */
  wake(key: ModelKey, isUrgent: boolean): Promise<void>;
  /** Whether it is known now which model asks, so that a circle of loads would be seen. */
  readonly knowsAsker: boolean;
}

/** A wait for a lazy model, of a request whose inputs were not read yet. */
export interface AwaitedModel {
  /** Rejects with the reason why it cannot be loaded, or why the request may not wait. */
  readonly loaded: Promise<void>;
  /** The request was let go. */
  leave(): void;
}

/** What a request that waits counts besides its inputs. */
const requestBytes = 1024;

/** See the head of this file. An environment has one for each server. */
export class LazyLoads {
  readonly #waker: Waker;
  /** How many bytes the requests may hold. */
  readonly #limit: number;
  /** Whether models ask here. */
  readonly #isUrgent: boolean;
  readonly #connection: EngineConnection;
  /** Ends the waker. */
  readonly #end: (() => void) | undefined;
  #isClosed = false;
  #held = 0;
  #waits = 0;
  #timer: NodeJS.Timeout | undefined;
  readonly #closed: Set<(error: unknown) => void> = new Set();

  /**
   * @param limit - How many bytes the requests may hold.
   * @param isUrgent - Whether models ask here.
   * @param end - Called when the connection closes.
   */
  constructor(
    waker: Waker,
    connection: EngineConnection,
    limit: number,
    isUrgent: boolean,
    end?: () => void,
  ) {
    this.#waker = waker;
    this.#connection = connection;
    this.#limit = limit;
    this.#isUrgent = isUrgent;
    this.#end = end;
  }

  /**
   * Has a model loaded. It rejects at most a second after the server has closed, and keeps the process alive until
   * then.
   *
   * @throws {@link TritonError} Why it cannot be loaded; UNAVAILABLE (`CLOSED`).
   */
  async wake(key: ModelKey): Promise<void> {
    this.#throwIfClosed();
    this.#waits++;
    // The owner of the server may end without an answer.
    this.#timer ??= setInterval(() => {
      this.#endIfClosed();
    }, lookMs);
    let close: (error: unknown) => void = () => undefined;
    const closed = new Promise<never>((_, reject) => (close = reject));
    this.#closed.add(close);
    try {
      await Promise.race([this.#waker.wake(key, this.#isUrgent), closed]);
    } finally {
      this.#closed.delete(close);
      if (--this.#waits === 0) {
        clearInterval(this.#timer);
        this.#timer = undefined;
      }
    }
  }

  /** Whether each request has to ask on its own, because a model may make it that the load waits for. */
  get asksEach(): boolean {
    return this.#waker.knowsAsker;
  }

  /** The server, or the connection to it, closes: nobody waits any more. */
  close(): void {
    this.#isClosed = true;
    this.#endIfClosed();
    this.#end?.();
  }

  #throwIfClosed(): void {
    if (this.#isClosed || this.#connection.closed) throw unavailable('CLOSED', 'the server is closed');
  }

  #endIfClosed(): void {
    try {
      this.#throwIfClosed();
    } catch (error) {
      for (const close of this.#closed) close(error);
    }
  }

  /**
   * Counts a request that waits.
   *
   * @returns What ends it.
   * @throws {@link TritonError} UNAVAILABLE (`TOO_MUCH_IN_FLIGHT`), INVALID_ARG for one that alone is too large.
   */
  hold(model: string, inputBytes: number): () => void {
    const bytes = inputBytes + requestBytes;
    if (this.#held + bytes > this.#limit) throw this.#tooMuch(model, bytes);
    this.#held += bytes;
    return () => {
      this.#held -= bytes;
    };
  }

  /**
   * Has a model loaded for a request of an endpoint.
   *
   * @param bytes - The size of the request; undefined: it has none that counts.
   */
  awaitModel(key: ModelKey, bytes: number | undefined): AwaitedModel {
    let release: (() => void) | undefined;
    const leave = (): void => {
      release?.();
      release = undefined;
    };
    try {
      release = bytes === undefined ? undefined : this.hold(key.name, bytes);
    } catch (error) {
      // The refusal is the caller's to tell.
      return {
        loaded: Promise.resolve().then(() => {
          throw error;
        }),
        leave,
      };
    }
    return { loaded: this.wake(key).finally(leave), leave };
  }

  #tooMuch(model: string, bytes: number): TritonError {
    const text = `model '${model}': a request of ${bytes} bytes waits for the model to be loaded`;
    if (bytes > this.#limit) {
      return invalidArgument(`${text}, but all requests together may hold ${this.#limit} bytes`, { model });
    }
    return unavailable(
      'TOO_MUCH_IN_FLIGHT',
      `${text}, and those that wait hold ${this.#held} bytes of ${this.#limit}`,
      { model },
    );
  }
}

/** How often it is looked whether the server is still there. */
const lookMs = 500;
