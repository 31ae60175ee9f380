/** Requests that calls can be made for: those that a model in this environment runs. */

/** See the head of this file. A class of its own, so that `options.parent` is checked without the code that runs models. */
export abstract class CallingRequest {
  /** The engine's number for calls of this request; 0: the request has ended. */
  abstract get caller(): number;
  /** What runs it. */
  abstract get instance(): object;
  /**
   * Aborts the calls that were made for it: when its own caller has given up, and what the calls then reject with can
   * reach no other request of its batch. `execute` may await the calls of a batch together, so these go on as long as
   * anybody waits for another request of it.
   */
  abstract get callSignal(): AbortSignal;
}
