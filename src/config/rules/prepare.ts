/**
 * A configuration's way from what was written to what is served, in two steps: {@link prepareConfig} before the model's
 * file is opened, {@link finishConfig} after. The registry needs no other part of this folder but the readers.
 */

import { join } from 'node:path';
import { checkAgainstModel } from './against-model.js';
import { findUnsupported } from '../support/unsupported.js';
import { completeConfig, type BackendDefaults } from './complete.js';
import type { ModelDescription } from './description.js';
import { expandConfig, expandChanged } from '../schema/expand.js';
import { fillFromFiles, type DirectoryEntry } from './fill.js';
import type { GpuFinder } from './usable-gpus.js';
import { normalizeConfig } from './normalize.js';
import { placeOnCpu } from './on-cpu.js';
import {
  reportInto,
  throwProblems,
  unplaced,
  type ConfigSource,
  type Problem,
  type Report,
} from '../text/problems.js';
import type { ParsedConfig } from '../text/read.js';
import type { ModelConfig } from '../schema/types.js';
import { doubtedBatching, rowsDoubt } from './rows.js';
import { validateTensors } from './validate-tensors.js';
import { validateConfig } from './validate.js';

/** What is known about a model before its file is opened. */
export interface ConfigContext {
  /** Name of the model's directory. */
  readonly modelName: string;
  /** Path of the model's directory, for messages. */
  readonly modelDirectory: string;
  /** Content of the lexically first sub-directory of the model's directory, whatever it is; empty if there is none. */
  readonly firstVersionEntries: readonly DirectoryEntry[];
  /** Whether what is missing may be completed from the model's file (not `--disable-auto-complete-config`). */
  readonly autoComplete: boolean;
  /** The GPUs that a backend's instances can use. */
  readonly gpus: GpuFinder;
  /** 'cpu': instances that are for a GPU are taken to the CPU. */
  readonly instanceKind: 'cpu' | undefined;
}

/** A configuration that is filled in, normalised, valid in itself and supported; frozen. */
export interface PreparedConfig {
  readonly config: ModelConfig;
  /** Fields that are accepted without effect, each with its reason. */
  readonly notes: readonly string[];
  readonly context: ConfigContext;
  readonly source: ConfigSource;
  /** `max_batch_size: 0` was written. */
  readonly zeroBatchSizeWritten: boolean;
}

/** The configuration that a model is served with. */
export interface FinishedConfig {
  /** Complete, in Triton's JSON shape, frozen. */
  readonly config: ModelConfig;
  /** Fields without effect, then what completion filled in. */
  readonly notes: readonly string[];
  /** `max_batch_size` is the backend's default, not what was written. */
  readonly batchSizeCompleted: boolean;
}

/**
 * Everything that can be said about a configuration before the model's file is opened.
 *
 * @param parsed - What was read; undefined if the model has no `config.pbtxt`.
 * @throws {TritonError} With all problems, each with file, line and field. INVALID_ARG if something is wrong or missing,
 *   UNSUPPORTED if all of it would be right for Triton, UNAVAILABLE if nothing is missing but a GPU.
 */
export function prepareConfig(parsed: ParsedConfig | undefined, context: ConfigContext): PreparedConfig {
  const { modelName, modelDirectory, autoComplete } = context;
  const source = parsed ?? unplaced(join(modelDirectory, 'config.pbtxt'));
  const problems: Problem[] = [];
  const report = reportInto(problems);
  if (parsed === undefined && !autoComplete) {
    report('', `missing, and it is not completed from the model's file. Write it, such as\n${example}`);
    throwProblems(problems, source, modelName);
  }
  const written = expandConfig(parsed?.value ?? {});
  const filled = fillFromFiles(written, modelName, context.firstVersionEntries, report);
  const onCpu = context.instanceKind === 'cpu';
  const placed = onCpu ? placeOnCpu(filled) : { config: filled, notes: [] };
  const gpus = !onCpu && mayUseGpus(filled) ? context.gpus(filled.backend) : undefined;
  const gpuCount = gpus?.count ?? 0;
  const config = normalizeConfig(placed.config, gpuCount);
  // What a field means may depend on where the instances are, which KIND_AUTO leaves open.
  const classified = findUnsupported(placed.config, hasGpu(config));
  validateConfig(config, { modelName, gpus }, report);
  if (!autoComplete) reportMissingSections(config, report);
  throwProblems(merge(problems, classified.problems), source, modelName);
  return {
    config: expandChanged(config),
    notes: [...placed.notes, ...classified.notes],
    context,
    source,
    zeroBatchSizeWritten: parsed?.value.max_batch_size === 0,
  };
}

/**
 * Completes a configuration from the opened model, if that is allowed, and checks it against the model.
 *
 * @param prepared - What {@link prepareConfig} returned.
 * @param description - The model's inputs and outputs; undefined where the backend cannot tell (nothing is then completed
 *   or compared).
 * @param defaults - Settings of the backend.
 * @throws {TritonError} As {@link prepareConfig}; both sides are named.
 */
export function finishConfig(
  prepared: PreparedConfig,
  description: ModelDescription | undefined,
  defaults: BackendDefaults,
): FinishedConfig {
  const { context, source } = prepared;
  const problems: Problem[] = [];
  const report = reportInto(problems);
  let { config } = prepared;
  let unbatched: string | undefined;
  const notes = [...prepared.notes];
  if (context.autoComplete) {
    if (description && config.backend === 'onnxruntime') {
      const completed = completeConfig(config, prepared.zeroBatchSizeWritten, description, defaults, report);
      throwProblems(problems, source, context.modelName);
      notes.push(...completed.notes);
      config = completed.config;
      unbatched = completed.unbatched;
    }
    // What was not completed has been through all this.
    if (config !== prepared.config) {
      validateTensors(config, report);
      const unsupported = findUnsupported(config, hasGpu(config)).problems;
      throwProblems(merge(problems, unsupported), source, context.modelName);
    }
  }
  if (description) checkAgainstModel(config, description, report);
  else reportMissingSections(config, report);
  // Dims that were written without a batch dimension are wrong only because of this.
  if (problems.length > 0 && unbatched !== undefined) report('max_batch_size', unbatched);
  throwProblems(problems, source, context.modelName);
  if (description && prepared.config.max_batch_size > 0) {
    const doubt = rowsDoubt(withOutputsOf(config, description));
    if (doubt !== undefined) notes.push(doubtedBatching(doubt, config));
  }
  return {
    config: config === prepared.config ? config : expandChanged(config),
    notes: Object.freeze(notes),
    batchSizeCompleted: config.max_batch_size !== prepared.config.max_batch_size,
  };
}

/** The model without the outputs that a configuration leaves out. */
function withOutputsOf({ output }: ModelConfig, description: ModelDescription): ModelDescription {
  const names = new Set(output.map(({ name }) => name));
  return { ...description, outputs: description.outputs.filter(({ name }) => names.has(name)) };
}

/** Whether an instance is on a GPU. */
function hasGpu({ instance_group: groups }: ModelConfig): boolean {
  return groups.some(({ kind }) => kind === 'KIND_GPU');
}

/** Whether it matters which GPUs there are: finding out may take a while. */
function mayUseGpus({ instance_group: groups }: ModelConfig): boolean {
  return groups.length === 0 || groups.some(({ kind }) => kind === 'KIND_AUTO' || kind === 'KIND_GPU');
}

/** Where a field breaks a rule as well as being unsupported, the rule is what has to be known. */
function merge(problems: readonly Problem[], unsupported: readonly Problem[]): readonly Problem[] {
  const broken = new Set(problems.map(({ path }) => path));
  return [...problems, ...unsupported.filter(({ path }) => !broken.has(path))];
}

function reportMissingSections(config: ModelConfig, report: Report): void {
  const batch = config.max_batch_size > 0 ? ' without the batch dimension' : '';
  for (const section of ['input', 'output'] as const) {
    if (config[section].length > 0) continue;
    report(
      section,
      `missing: write the model's ${section}s with names, types and shapes${batch}, such as ` +
        `${section} [ { name: "x" data_type: TYPE_FP32 dims: [ 16 ] } ]`,
    );
  }
}

const example = `backend: "onnxruntime"
max_batch_size: 8
input [ { name: "x" data_type: TYPE_FP32 dims: [ 16 ] } ]
output [ { name: "y" data_type: TYPE_FP32 dims: [ 16 ] } ]`;
