/** A connection as the owner of its requests, which are cancelled when the connection ends. */

/** Cancels requests by their owner. A model's handle is one. */
export interface Canceller {
  cancelAll(owner: object): void;
}

/**
 * See the head of this file. Each connection has one client. A request without a connection has a client of its
 * own.
 */
export class Client {
  /** Requests that were accepted and have not been answered. */
  inFlight = 0;
  /** Requests of sequences wait for it: an earlier one still waits for its inputs. It never rejects. */
  behind: Promise<void> | undefined;
  #gone = false;
  #canceller: Canceller | undefined;
  /** Listeners for the end of the connection; undefined until the first is added. */
  #listeners: Set<() => void> | undefined;

  /** Whether the connection has ended. */
  get gone(): boolean {
    return this.#gone;
  }

  /** Sets the canceller of the requests. Any handle of the server will do, because all share one engine connection. */
  sentBy(canceller: Canceller): void {
    this.#canceller = canceller;
  }

  /** Calls `listener` when the connection ends, or soon if it has ended. Returns a function that removes it. */
  onGone(listener: () => void): () => void {
    const listeners = (this.#listeners ??= new Set());
    if (this.#gone)
      queueMicrotask(() => {
        if (listeners.delete(listener)) listener();
      });
    listeners.add(listener);
    return () => listeners.delete(listener);
  }

  /** Ends the client: cancels its requests and calls the listeners. Idempotent. */
  end(): void {
    if (this.#gone) return;
    this.#gone = true;
    for (const listener of this.#listeners ?? []) listener();
    this.#listeners = undefined;
    if (this.inFlight > 0) this.#canceller?.cancelAll(this);
  }
}
