/**
 * Compiles an ensemble: checks its rules against its models, and turns its graph into a plan for the engine, in
 * which tensors have numbers.
 */

import type { NativeEnsemblePlan, NativeTensorSpec } from '../addon/native/version-config.js';
import {
  fieldError,
  fullDims,
  hasRowsInValues,
  problemsError,
  typeNumber,
  type ConfigSource,
  type ModelConfig,
} from '../config/index.js';
import { isCached } from '../cache-config.js';
import { reasonOfPart } from '../errors.js';
import { checkSteps } from './check-steps.js';
import { isDecoupled, withPolicy } from './origins.js';
import { graphText, type ComposingVersion, type FindComposing, type Note } from './composing.js';

/** A compiled ensemble. */
export interface CompiledEnsemble {
  readonly plan: NativeEnsemblePlan;
  /** The version of each step. */
  readonly versions: readonly ComposingVersion[];
  /** Class labels by output, from the models that produce the outputs. */
  readonly labels: Readonly<Record<string, readonly string[]>>;
  /** The configuration, completed from the models. */
  readonly config: ModelConfig;
  /** Notes about what was completed. */
  readonly notes: readonly string[];
}

/** Limits recursion: a graph may be nested in others, and each step of a chain uses some stack. */
const mostSteps = 1024;

/**
 * Compiles an ensemble.
 *
 * @param find - Finds the versions that are currently served.
 * @throws {@link TritonError} INVALID_ARG or UNSUPPORTED with all problems, and the graph.
 */
export function compileEnsemble(
  config: ModelConfig,
  source: ConfigSource,
  find: FindComposing,
): CompiledEnsemble {
  const problems: Parameters<typeof problemsError>[0][number][] = [];
  const note: Note = (path, text, code = 'INVALID_ARG') => {
    problems.push({ path, text, code });
  };
  const { versions, shapeTensors } = checkSteps(config, find, note);
  if (versions.length > mostSteps) {
    note('ensemble_scheduling.step', `expected at most ${mostSteps} steps but found ${versions.length}`);
  }
  const last = problems.pop();
  if (last !== undefined) {
    const withGraph = { ...last, text: `${last.text}\n${graphText(config)}` };
    throw problemsError([...problems, withGraph], source, config.name);
  }
  const found = versions.filter((version) => version !== undefined);
  const { config: own, notes } = withPolicy(config, found);
  const complete = withShapeTensors(own, shapeTensors);
  return {
    plan: planOf(complete, found),
    versions: found,
    labels: labelsOf(config, found),
    config: complete,
    notes: [
      ...notes,
      ...[...shapeTensors].map((name) => `is_shape_tensor: completed for '${name}', as its steps have it`),
    ],
  };
}

/**
 * The configuration with `is_shape_tensor` set for the named inputs and outputs. Returns the same object if
 * nothing changes.
 */
function withShapeTensors(config: ModelConfig, names: ReadonlySet<string>): ModelConfig {
  const lacks = [...config.input, ...config.output].some(
    ({ name, is_shape_tensor: is }) => names.has(name) && !is,
  );
  if (!lacks) return config;
  const complete = <T extends Pick<ModelConfig['output'][number], 'name' | 'is_shape_tensor'>>(
    tensor: T,
  ): T => (names.has(tensor.name) ? Object.freeze({ ...tensor, is_shape_tensor: true }) : tensor);
  return Object.freeze({
    ...config,
    input: Object.freeze(config.input.map(complete)),
    output: Object.freeze(config.output.map(complete)),
  });
}

/** The error of an ensemble whose model could not be loaded. */
export function failedStep(config: ModelConfig, source: ConfigSource, model: string, reason: Error): Error {
  const index = config.ensemble_scheduling?.step.findIndex(({ model_name: name }) => name === model) ?? 0;
  return fieldError(
    'UNAVAILABLE',
    source,
    `ensemble_scheduling.step[${index}].model_name`,
    `model '${model}' could not be loaded: ${reason.message}`,
    { model: config.name, reason: reasonOfPart(reason), cause: reason },
  );
}

function planOf(config: ModelConfig, versions: readonly ComposingVersion[]): NativeEnsemblePlan {
  const spec = (
    tensor: ModelConfig['input'][number] | ModelConfig['output'][number],
    optional: boolean,
  ): NativeTensorSpec => {
    return {
      name: tensor.name,
      datatype: typeNumber(tensor.data_type),
      dims: fullDims(config, tensor),
      optional,
      rowsInValues: hasRowsInValues(config, tensor),
    };
  };
  const numbers = new Map<string, number>();
  const numberOf = (tensor: string): number => {
    const number = numbers.get(tensor) ?? numbers.size;
    numbers.set(tensor, number);
    return number;
  };
  // The engine takes the first tensors as the inputs.
  for (const { name } of config.input) numberOf(name);
  const mappings = (map: Readonly<Record<string, string>>): { name: string; tensor: number }[] =>
    Object.entries(map).map(([name, tensor]) => ({ name, tensor: numberOf(tensor) }));
  const steps = (config.ensemble_scheduling?.step ?? []).map((step, index) => ({
    model: step.model_name,
    inputs: mappings(step.input_map),
    outputs: mappings(step.output_map),
    decoupled: isDecoupled(versions[index]),
  }));
  return {
    maxBatchSize: config.max_batch_size,
    inputs: config.input.map((input) => spec(input, input.optional)),
    outputs: config.output.map((output) => spec(output, false)),
    outputTensors: config.output.map(({ name }) => numberOf(name)),
    steps,
    tensors: numbers.size,
    tensorNames: [...numbers.keys()],
    maxInflight: config.ensemble_scheduling?.max_inflight_requests ?? 0,
    conditional: isConditional(config),
    cached: isCached(config),
  };
}

/** Whether the graph has branches that may be skipped, an extension that Triton does not have. */
function isConditional({ parameters }: ModelConfig): boolean {
  return parameters['conditional']?.string_value === 'true';
}

function labelsOf(
  config: ModelConfig,
  versions: readonly ComposingVersion[],
): Readonly<Record<string, readonly string[]>> {
  const labels: Record<string, readonly string[]> = {};
  config.ensemble_scheduling?.step.forEach((step, index) => {
    const own = versions[index]?.labels ?? {};
    for (const [output, tensor] of Object.entries(step.output_map)) {
      const known = Object.hasOwn(own, output) ? own[output] : undefined;
      if (known && config.output.some(({ name }) => name === tensor)) labels[tensor] = known;
    }
  });
  return labels;
}
