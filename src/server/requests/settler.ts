/**
 * Promises of requests, made with as few allocations as possible. Responses settle them in
 * src/dispatch/responses/settle-promises.ts.
 */

import type { Waiter } from '../../dispatch/types.js';
import type { InferResult } from '../../api/results.js';

/** The two functions that settle a promise. */
export class Settler implements Waiter<InferResult> {
  readonly resolve: (result: InferResult) => void;
  readonly reject: (error: unknown) => void;

  constructor(resolve: (result: InferResult) => void, reject: (error: unknown) => void) {
    this.resolve = resolve;
    this.reject = reject;
  }
}

/**
 * A promise. {@link takeSettler} returns its settler, and must be called next. All promises share one
 * executor: one for each would be an eighth of what a request allocates.
 */
export function makePromise(): Promise<InferResult> {
  return new Promise(keep);
}

/** The settler of the promise that `makePromise` has just returned. */
export function takeSettler(): Settler {
  const settler = kept;
  kept = none;
  return settler;
}

const none = new Settler(
  () => undefined,
  () => undefined,
);
/**
 * The settler of the promise that was made last. A hook of `async_hooks` may make promises of its own; it has
 * returned before the executor is called.
 */
let kept: Settler = none;

function keep(resolve: (result: InferResult) => void, reject: (error: unknown) => void): void {
  kept = new Settler(resolve, reject);
}
