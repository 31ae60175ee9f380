/** How many batches an instance of a JavaScript model runs at once. */

import type { BackendContext } from '../context.js';

/** Parameter: how many batches an instance may have in progress at once. */
const concurrencyKey = 'max_concurrency';
const mostConcurrency = 1024;
/**
 * How many batches an instance of a JavaScript model may have in progress at once.
 *
 * @throws {@link TritonError} INVALID_ARG for a parameter that is not a number in that range.
 */
export function concurrencyOf({ config, fault }: Pick<BackendContext, 'config' | 'fault'>): number {
  const text = config.parameters[concurrencyKey]?.string_value;
  if (text === undefined) return 1;
  const number = Number(text);
  if (Number.isInteger(number) && number >= 1 && number <= mostConcurrency) return number;
  throw fault(
    `parameters["${concurrencyKey}"]`,
    `expected a whole number from 1 to ${mostConcurrency} but received '${text}'`,
  );
}
