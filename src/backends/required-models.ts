/** The models that a model in JavaScript or Python declares that it calls. They are loaded before it. */

import { parameterRow, type ModelConfig, type ParameterSupport } from '../config/index.js';

/** Parameter: names of the models that are loaded before this one. */
const requiresKey = 'requires';
/** The row of {@link requiredModels}, for backends whose models call others. */
export const requiresRow: Readonly<Record<string, ParameterSupport>> = {
  [requiresKey]: parameterRow(
    'acted',
    'names of models, separated by commas, that are loaded first (not in Triton)',
  ),
};
/** The field of {@link requiredModels}. */
export const requiresField: string = `parameters["${requiresKey}"]`;

/** The models that a model declares that it calls, each once. */
export function requiredModels({ parameters }: Pick<ModelConfig, 'parameters'>): string[] {
  const names = (parameters[requiresKey]?.string_value ?? '').split(',').map((name) => name.trim());
  return [...new Set(names)].filter((name) => name !== '');
}
