/** The JavaScript backend's decisions. `src/javascript` runs its models on threads. */

import type { ModelConfig } from '../config/index.js';
import type { Backend, BackendContext } from './backend.js';

/** Parameter: how many batches an instance may have in progress at once. */
const concurrencyKey = 'max_concurrency';
const mostConcurrency = 1024;
/** Parameter: names of the models that are loaded before this one. */
const requiresKey = 'requires';
/** The field of {@link requiredModels}. */
export const requiresField: string = `parameters["${requiresKey}"]`;

/** Runs models that are written in JavaScript. */
export const javascript: Backend = {
  name: 'javascript',
  opens: 'threads',
  decoupled: true,
  needsFile: false,
  optionKeys: [],
  settings(): Record<string, string> {
    return {};
  },
};

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

/** The models that a JavaScript model declares that it calls, each once. */
export function requiredModels({ parameters }: Pick<ModelConfig, 'parameters'>): string[] {
  const names = (parameters[requiresKey]?.string_value ?? '').split(',').map((name) => name.trim());
  return [...new Set(names)].filter((name) => name !== '');
}
