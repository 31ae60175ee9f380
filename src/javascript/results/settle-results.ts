/** Awaits the results of a model one by one, so that a rejected result fails only its request. */

import { types } from 'node:util';
import { errorOf, failureOf } from '../batches/failures.js';
import { WithParameters } from './with-parameters.js';

/** Whether a value has to be awaited. Reading `then` runs the model's code, which may throw. */
export function isThenable(value: unknown): value is PromiseLike<unknown> {
  return (
    typeof value === 'object' &&
    value !== null &&
    typeof (value as { readonly then?: unknown }).then === 'function'
  );
}

/**
 * Whether one of the results is a promise, as those of `requests.map(async …)` are.
 *
 * @param count - The number of requests. An array of another length is not read, because it may be huge; `notResults`
 *   reports it.
 */
export function areAwaited(results: unknown, count: number): results is readonly unknown[] {
  try {
    if (!Array.isArray(results) || results.length !== count) return false;
  } catch {
    // A proxy that is revoked, or throws. The next reader reports it.
    return false;
  }
  try {
    for (let i = 0; i < count; i++) if (isThenable(results[i])) return true;
  } catch {
    // Reading a result has thrown. `settled` handles each result by itself.
    return true;
  }
  return false;
}

/** A value that a model has thrown for one request, as an Error. */
export function resultOf(model: string, thrown: unknown): Error {
  try {
    if (thrown instanceof Error) return thrown;
  } catch {
    // A revoked proxy.
  }
  return errorOf(failureOf(model, thrown), model);
}

/** Resolves with the results when all have settled. A rejected result becomes an Error. */
export async function settled(model: string, results: readonly unknown[]): Promise<unknown[]> {
  // Each result's `then` is called once only: the results are stored in `found` and not returned from the promises.
  const found: unknown[] = [];
  await Promise.all(
    results.map(async (result, i) => {
      try {
        found[i] = isThenable(result) ? await result : result;
      } catch (error) {
        found[i] = resultOf(model, error);
      }
    }),
  );
  return found;
}

/**
 * Handles promises in a refused result, which are no longer awaited. An unhandled rejection would end the thread.
 */
export function silence(refused: unknown): void {
  try {
    if (refused instanceof WithParameters) silence(refused.outputs);
    else if (types.isPromise(refused)) void Promise.prototype.then.call(refused, undefined, () => undefined);
    else if (types.isMap(refused) || types.isSet(refused)) for (const one of refused.values()) silence(one);
    else if (typeof refused === 'object' && refused !== null && !types.isProxy(refused)) {
      for (const one of Object.values(refused)) {
        if (types.isPromise(one)) silence(one);
      }
    }
  } catch {
    // A getter has thrown.
  }
}
