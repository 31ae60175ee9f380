/**
 * Runs a batch again in halves when `execute` has thrown, so that one bad request does not fail the others. The
 * model has to allow it (`rerun_in_halves`), because side effects of `execute` then happen twice.
 *
 *   [a b c d]  throws
 *   [a b]      answered
 *   [c d]      throws
 *   [c]        answered
 *   [d]        throws: this is the error of d
 */

import { TritonError } from '../../errors.js';
import type { BatchRequest } from './batch.js';
import { notResults } from '../results/results.js';
import { areAwaited, resultOf, settled } from '../results/settle-results.js';

/** Whether a single request may be the reason of a batch's error; as in `native/engine/version/halves.cc`. */
export function mayBeAnothers(error: unknown): boolean {
  try {
    if (!(error instanceof TritonError)) return true;
    return !['CANCELLED', 'UNAVAILABLE', 'UNSUPPORTED'].includes(error.code);
  } catch {
    return true;
  }
}

/**
 * Runs the halves of requests whose `execute` has failed.
 *
 * @param execute - Runs some of the requests.
 * @param isGone - Whether a request's caller has cancelled it.
 * @returns One result for each request, in their order.
 */
export async function inHalves(
  model: string,
  requests: readonly BatchRequest[],
  error: unknown,
  execute: (some: readonly BatchRequest[]) => unknown,
  isGone: (request: BatchRequest) => boolean,
): Promise<readonly unknown[]> {
  if (requests.length === 1 || !mayBeAnothers(error)) return requests.map(() => resultOf(model, error));
  const middle = Math.ceil(requests.length / 2);
  const results: unknown[] = [];
  for (const half of [requests.slice(0, middle), requests.slice(middle)]) {
    const waiting = half.filter((request) => !isGone(request));
    const found = new Map<BatchRequest, unknown>();
    if (waiting.length > 0) {
      const given = await run(model, waiting, execute, isGone);
      waiting.forEach((request, i) => found.set(request, given[i]));
    }
    const gone = new TritonError('CANCELLED', `model '${model}': the request was cancelled`, { model });
    results.push(...half.map((request) => (found.has(request) ? found.get(request) : gone)));
  }
  return results;
}

async function run(
  model: string,
  requests: readonly BatchRequest[],
  execute: (some: readonly BatchRequest[]) => unknown,
  isGone: (request: BatchRequest) => boolean,
): Promise<readonly unknown[]> {
  try {
    const given = await execute(requests);
    const results = areAwaited(given, requests.length) ? await settled(model, given) : given;
    const wrong = notResults(model, requests.length, results);
    if (wrong !== undefined) throw wrong;
    // `notResults` has checked that it is an array.
    return results as readonly unknown[];
  } catch (error) {
    return inHalves(model, requests, error, execute, isGone);
  }
}
