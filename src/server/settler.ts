/** The promise of a request, made with as little as it needs. */

import type { Waiter } from '../addon/port-types.js';
import type { InferResult } from './types.js';

/** What a promise of a request is settled with. */
export class Settler implements Waiter<InferResult> {
  // Those of its promise, by the time that it is there.
  resolve: (result: InferResult) => void = unset;
  reject: (error: unknown) => void = unset;
}

function unset(): void {
  // Stands for what is not there yet.
}

/** The promise of a settler. An executor for each would be an eighth of what a request allocates: there is one for all. */
export function promiseOf(settler: Settler): Promise<InferResult> {
  begun = settler;
  const promise = new Promise(keepInBegun);
  // A hook of `async_hooks`, which hears of a promise before its executor runs, may have asked for another one.
  return settler.resolve === unset ? ownPromiseOf(settler) : promise;
}

/** Whose promise is being made. */
let begun: Settler | undefined;

function keepInBegun(resolve: (result: InferResult) => void, reject: (error: unknown) => void): void {
  if (begun === undefined) return;
  begun.resolve = resolve;
  begun.reject = reject;
  begun = undefined;
}

function ownPromiseOf(settler: Settler): Promise<InferResult> {
  return new Promise((resolve, reject) => {
    settler.resolve = resolve;
    settler.reject = reject;
  });
}
