/**
 * Checks the decoupled steps of an ensemble. Each of their responses starts the following steps independently,
 * so no step may need responses of two decoupled steps.
 */

import { fieldPath, indexPath, keyPath, type ModelConfig } from '../config/index.js';
import type { ComposingVersion, Note } from './composing.js';

/** Whether a step's model is decoupled. */
export function isDecoupled(version: ComposingVersion | undefined): boolean {
  return version?.config.model_transaction_policy?.decoupled ?? false;
}

/**
 * Checks which steps the responses of decoupled steps reach.
 *
 * @param versions - The version of each step.
 */
export function checkOrigins(
  config: ModelConfig,
  versions: readonly (ComposingVersion | undefined)[],
  note: Note,
): void {
  if (!versions.some(isDecoupled)) return;
  const steps = config.ensemble_scheduling?.step ?? [];
  /** Tensor names that depend on a decoupled step's responses, with the number of that step. */
  const origins = new Map<string, number>();
  const originsOf = (tensors: readonly string[], but?: number): number[] => [
    ...new Set(tensors.flatMap((name) => origins.get(name) ?? []).filter((origin) => origin !== but)),
  ];
  // Steps may be listed in any order. Each round propagates the origins by at least one step.
  for (let round = 0; round <= steps.length; round++) {
    for (const [index, step] of steps.entries()) {
      const [origin] = originsOf(Object.values(step.input_map), index);
      const own = isDecoupled(versions[index]) ? index : origin;
      if (own === undefined) continue;
      for (const name of Object.values(step.output_map)) origins.set(name, own);
    }
  }
  const named = (found: readonly number[]): string =>
    found.map((index) => `'${steps[index]?.model_name ?? ''}' (step ${index})`).join(' and ');
  for (const [index, step] of steps.entries()) {
    const found = originsOf(Object.values(step.input_map), index);
    if (found.length < 2) continue;
    note(
      fieldPath(indexPath('ensemble_scheduling.step', index), 'input_map'),
      `model '${step.model_name}' reads tensors that come from the responses of different decoupled models: ${named(found)}; each response starts the steps behind it on its own`,
    );
  }
  const found = originsOf(config.output.map(({ name }) => name));
  if (found.length > 1) {
    note(
      'output',
      `the outputs come from the responses of different decoupled models: ${named(found)}; a response has the outputs of one`,
    );
  }
  if (config.parameters['conditional']?.string_value === 'true') {
    note(
      keyPath('parameters', 'conditional'),
      'an ensemble with a decoupled model cannot skip branches',
      'UNSUPPORTED',
    );
  }
}

/** The configuration of an ensemble with these steps: it is decoupled if any step is. */
export function withPolicy(
  config: ModelConfig,
  versions: readonly ComposingVersion[],
): { readonly config: ModelConfig; readonly notes: readonly string[] } {
  const index = versions.findIndex(isDecoupled);
  if (index < 0 || config.model_transaction_policy?.decoupled === true) return { config, notes: [] };
  const model = config.ensemble_scheduling?.step[index]?.model_name ?? '';
  return {
    config: Object.freeze({ ...config, model_transaction_policy: Object.freeze({ decoupled: true }) }),
    notes: [
      `model_transaction_policy.decoupled: completed to true, because the model '${model}' is decoupled`,
    ],
  };
}
