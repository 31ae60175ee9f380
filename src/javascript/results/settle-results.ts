/** Awaits what a model has returned, so that what one result rejects with is the failure of its request alone. */

import { types } from 'node:util';
import { errorOf, failureOf } from '../batches/failures.js';

/** Whether a value has to be awaited. Reading `then` runs the model's code, which may throw. */
export function isThenable(value: unknown): value is PromiseLike<unknown> {
  return (
    typeof value === 'object' &&
    value !== null &&
    typeof (value as { readonly then?: unknown }).then === 'function'
  );
}

/** Whether one of the results is not there yet, as those of `requests.map(async …)`. */
export function areAwaited(results: unknown): results is readonly unknown[] {
  try {
    if (!Array.isArray(results)) return false;
  } catch {
    // A proxy that was revoked. Who reads it next says so.
    return false;
  }
  try {
    for (const result of results) if (isThenable(result)) return true;
  } catch {
    // Only `settled` looks at them one by one.
    return true;
  }
  return false;
}

/** What a model has thrown for one request, as its result. */
export function resultOf(model: string, thrown: unknown): Error {
  try {
    if (thrown instanceof Error) return thrown;
  } catch {
    // A proxy that was revoked.
  }
  return errorOf(failureOf(model, thrown), model);
}

/** The results, when all are there. One that rejects is an Error. */
export async function settled(model: string, results: readonly unknown[]): Promise<unknown[]> {
  // Only `found` is awaited, so that a result that has a `then` of its own is not asked again.
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

/** Promises that nobody awaits any more, in a result that was refused: what they reject with would end the thread. */
export function silence(refused: unknown): void {
  try {
    if (types.isPromise(refused)) void Promise.prototype.then.call(refused, undefined, () => undefined);
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
