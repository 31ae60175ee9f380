/** Requests that a model in this environment runs, and for which it can call other models. */

import type { CallSignal } from '../../call-signal.js';

/**
 * See the head of this file. A separate class, so that checking `options.parent` does not load the code that runs
 * models.
 */
export abstract class CallingRequest {
  /** The engine's number for calls of this request; 0: the request has ended. */
  abstract get caller(): number;
  /** The instance that runs the request. */
  abstract get instance(): object;
  /**
   * Aborts the calls that the model made for this request. It fires when the request is cancelled and a rejected
   * call can fail no other request. `execute` may await the calls of a batch together, so they go on while any
   * other request of the batch is wanted.
   */
  abstract get callSignal(): CallSignal;
}
