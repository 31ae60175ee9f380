/** Requests that calls can be made for: those that a model in this environment runs. */

/** See the head of this file. A class of its own, so that `options.parent` is checked without the code that runs models. */
export abstract class CallingRequest {
  /** The engine's number for calls of this request; 0: the request has ended. */
  abstract get caller(): number;
  /** Aborts when the request's own caller has given up. */
  abstract get signal(): AbortSignal;
}
