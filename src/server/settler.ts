/** The promise of a request, made with as little as it needs. */

import type { Waiter } from '../dispatch/types.js';
import type { InferResult } from './results.js';

/** A promise and what it is settled with. */
export class Settler implements Waiter<InferResult> {
  readonly resolve: (result: InferResult) => void;
  readonly reject: (error: unknown) => void;

  constructor(resolve: (result: InferResult) => void, reject: (error: unknown) => void) {
    this.resolve = resolve;
    this.reject = reject;
  }
}

/**
 * A promise whose {@link Settler} is to be taken next. An executor for each would be an eighth of what a request
 * allocates: there is one for all.
 */
export function makePromise(): Promise<InferResult> {
  return new Promise(keep);
}

/** What the promise is settled with that `makePromise` has just returned. */
export function takeSettler(): Settler {
  const settler = kept;
  kept = none;
  return settler;
}

const none = new Settler(
  () => undefined,
  () => undefined,
);
/** Of the promise made last: a hook of `async_hooks` that makes another one has ended before the executor is called. */
let kept: Settler = none;

function keep(resolve: (result: InferResult) => void, reject: (error: unknown) => void): void {
  kept = new Settler(resolve, reject);
}
