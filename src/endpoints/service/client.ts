/** A connection's requests under way, so that they can be cancelled when it ends. */

/** What can cancel requests by their owner: a model's handle. */
export interface Canceller {
  cancelAll(owner: object): void;
}

/** See the head of this file. A connection has one; requests of no connection share none. */
export class Client {
  /** Requests that were accepted and have not been answered. */
  inFlight = 0;
  #gone = false;
  #canceller: Canceller | undefined;
  /** What else ends with the connection; undefined: nothing did yet. */
  #listeners: Set<() => void> | undefined;

  /** Whether the connection has ended. */
  get gone(): boolean {
    return this.#gone;
  }

  /** Notes what cancels its requests. Any handle of the server will do: all have one dispatcher. */
  sentBy(canceller: Canceller): void {
    this.#canceller = canceller;
  }

  /** Calls `listener` when the connection ends; soon, if it has ended. Returns what undoes this. */
  onGone(listener: () => void): () => void {
    const listeners = (this.#listeners ??= new Set());
    if (this.#gone)
      queueMicrotask(() => {
        if (listeners.delete(listener)) listener();
      });
    listeners.add(listener);
    return () => listeners.delete(listener);
  }

  /** The connection has ended: its requests are cancelled. Idempotent. */
  end(): void {
    if (this.#gone) return;
    this.#gone = true;
    for (const listener of this.#listeners ?? []) listener();
    this.#listeners = undefined;
    if (this.inFlight > 0) this.#canceller?.cancelAll(this);
  }
}
