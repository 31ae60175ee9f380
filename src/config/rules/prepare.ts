/**
 * Turns a written configuration into the served one, in two steps: {@link prepareConfig} before the model's
 * file is opened, {@link finishConfig} afterwards. Apart from the readers, the registry needs only these.
 */

import { sep } from 'node:path';
import { checkAgainstModel } from './against-model.js';
import { findUnsupported } from '../support/unsupported.js';
import { completeConfig, type BackendDefaults } from './complete.js';
import type { ModelDescription } from './description.js';
import { expandConfig, expandChanged } from '../schema/expand.js';
import { rulesOfModel, type RulesOfBackends } from '../support/backend-rules.js';
import { fillFromFiles, type DirectoryEntry } from './fill.js';
import type { GpuFinder } from './usable-gpus.js';
import { normalizeConfig } from './normalize.js';
import { placeOnCpu } from './on-cpu.js';
import {
  reportInto,
  throwProblems,
  unplaced,
  type ConfigSource,
  type Position,
  type Problem,
  type Report,
} from '../text/problems.js';
import type { ParsedConfig } from '../text/read.js';
import { fieldPath, indexPath } from '../schema/paths.js';
import type { ModelConfig, ModelInput } from '../schema/types.js';
import { isRagged, validateRagged } from './ragged.js';
import { doubtedBatching, lacksNames, rowsDoubt } from './rows.js';
import { keptStates } from './sequence-tensors.js';
import { ignoredStates } from './validate-sequences.js';
import { validateTensors } from './validate-tensors.js';
import { validateConfig } from './validate.js';
import { validateWarmupInputs } from './validate-warmup.js';

/** Everything that is known about a model before its file is opened. */
export interface ConfigContext {
  /** Name of the model's directory. */
  readonly modelName: string;
  /** Path of the model's directory, for messages. */
  readonly modelDirectory: string;
  /** Content of the first sub-directory, by name, of the model's directory; empty if there is none. */
  readonly firstVersionEntries: readonly DirectoryEntry[];
  /** Whether missing parts may be completed from the model's file (no `--disable-auto-complete-config`). */
  readonly autoComplete: boolean;
  /** The rules that the backends bring. */
  readonly backends: RulesOfBackends;
  /** Finds the GPUs that a backend's instances can use. */
  readonly gpus: GpuFinder;
  /** 'cpu': GPU instances are moved to the CPU. */
  readonly instanceKind: 'cpu' | undefined;
}

/** A configuration that is filled in, normalised, valid in itself and supported. Frozen. */
export interface PreparedConfig {
  readonly config: ModelConfig;
  /** The fields that have no effect, each with its reason. */
  readonly notes: readonly string[];
  readonly context: ConfigContext;
  readonly source: ConfigSource;
  /** Whether `max_batch_size: 0` was written. */
  readonly zeroBatchSizeWritten: boolean;
  /** Missing members of written inputs and outputs, which the model itself may still provide. */
  readonly unsaid: readonly Problem[];
}

/**
 * The source of a completed `max_batch_size`: the backend's default, or the model's own limit of rows; false if
 * it was not completed.
 */
export type CompletedBatchSize = 'default' | 'model' | false;

/** The configuration that a model is served with. */
export interface FinishedConfig {
  /** The complete configuration in Triton's JSON shape, frozen. */
  readonly config: ModelConfig;
  /** Notes about fields without effect, followed by completed values. */
  readonly notes: readonly string[];
  /** The source of `max_batch_size`, if it was completed. */
  readonly batchSizeCompleted: CompletedBatchSize;
  /**
   * Why the model runs without batches although its first dimensions are variable, with the line that turns
   * batches on.
   */
  readonly unbatched?: string | undefined;
}

/**
 * Does everything that is possible before the model's file is opened.
 *
 * @param parsed - The result of reading; undefined if the model has no `config.pbtxt`.
 * @throws {@link TritonError} INVALID_ARG if something is wrong or missing; otherwise UNSUPPORTED if Triton
 *   would accept all of it; UNAVAILABLE if only a GPU is missing. It lists all problems with file, line and
 *   field.
 */
export function prepareConfig(parsed: ParsedConfig | undefined, context: ConfigContext): PreparedConfig {
  return prepare(parsed, context, false);
}

/** @param asked - Whether the model has already provided its part. */
function prepare(parsed: ParsedConfig | undefined, context: ConfigContext, asked: boolean): PreparedConfig {
  const { modelName, modelDirectory, autoComplete } = context;
  const source = parsed ?? unplaced(`${modelDirectory}${sep}config.pbtxt`);
  const problems: Problem[] = [];
  const report = reportInto(problems);
  if (parsed === undefined && !autoComplete) {
    report('', `missing, and it is not completed from the model's file. Write it, such as\n${example}`);
    throwProblems(problems, source, modelName);
  }
  const written = expandConfig(parsed?.value ?? {});
  const filled = fillFromFiles(written, modelName, context.firstVersionEntries, context.backends, report);
  const onCpu = context.instanceKind === 'cpu';
  const placed = onCpu ? placeOnCpu(filled) : { config: filled, notes: [] };
  const gpus = !onCpu && mayUseGpus(filled) ? context.gpus(filled.backend) : undefined;
  const config = normalizeConfig(placed.config, gpus?.usable ?? []);
  // A field's meaning may depend on where the instances run, which KIND_AUTO leaves open until normalisation.
  const rules = rulesOfModel(config, context.backends);
  const found = findUnsupported(placed.config, rules, hasGpu(config));
  validateConfig(config, { modelName, gpus, rules }, report);
  if (!autoComplete) reportMissingSections(config, report);
  const later =
    autoComplete && !asked && (rules?.completesItself ?? rules?.completesTensors) === true
      ? missingMembers(config)
      : undefined;
  const unsaid = problems.filter(({ path }) => later?.has(path) === true);
  const now = unsaid.length === 0 ? problems : problems.filter((problem) => !unsaid.includes(problem));
  throwProblems(merge(now, found.problems), source, modelName);
  return {
    config: expandChanged(config),
    notes: [...(parsed?.notes ?? []), ...placed.notes, ...found.notes, ...ignoredStates(config)],
    context,
    source,
    zeroBatchSizeWritten: parsed?.value.max_batch_size === 0,
    unsaid,
  };
}

/** Paths of missing members of inputs and outputs that have a name. */
function missingMembers(config: ModelConfig): Set<string> {
  const paths = (['input', 'output'] as const).flatMap((section) =>
    config[section].flatMap(({ name, data_type: datatype, dims }, index) =>
      name === ''
        ? []
        : [
            ...(datatype === 'TYPE_INVALID' ? [fieldPath(indexPath(section, index), 'data_type')] : []),
            ...(dims.length === 0 ? [fieldPath(indexPath(section, index), 'dims')] : []),
          ],
    ),
  );
  return new Set(paths);
}

/** The fields that a model may complete itself. */
const ownFields = [
  'max_batch_size',
  'input',
  'output',
  'dynamic_batching',
  'model_transaction_policy',
] as const;

/**
 * Completes a configuration with the values that the model itself provides, without changing written ones. The
 * result is then prepared again.
 *
 * @param prepared - The result of {@link prepareConfig}.
 * @param parsed - The value that `prepared` was made from; undefined if the model has no `config.pbtxt`.
 * @param own - The values that the model provides.
 * @param by - The function that provides them. Python's function and plug-ins have seen the written configuration, and
 *   may add to it.
 * @throws {@link TritonError} INVALID_ARG for other fields, and as {@link prepareConfig}.
 */
export function completeWithOwn(
  prepared: PreparedConfig,
  parsed: ParsedConfig | undefined,
  own: ParsedConfig,
  by: 'completeConfig' | 'auto_complete_config' | 'TRITONBACKEND_ModelSetConfig' = 'completeConfig',
): PreparedConfig {
  const { context } = prepared;
  const problems: Problem[] = [];
  const report = reportInto(problems);
  const value: Record<string, unknown> = { ...parsed?.value };
  const notes: string[] = [];
  // Where a fault of a completed field is.
  const completed = new Set<string>();
  for (const [field, one] of Object.entries(own.value)) {
    // A plug-in prefers groups for a configuration without any.
    const isGroup = field === 'instance_group' && by === 'TRITONBACKEND_ModelSetConfig';
    if (!isGroup && !ownFields.some((known) => known === field)) {
      report(field, `cannot be completed by ${by}, which may complete ${ownFields.join(', ')}`);
    } else if (value[field] === undefined || by !== 'completeConfig') {
      // What Python's models and plug-ins say started from the written configuration, and is consistent with it.
      value[field] = one;
      completed.add(field);
      const place = own.positionOf(field).file ?? `the model's ${by}`;
      notes.push(`${field}: completed by ${place}`);
    } else if (field === 'input' || field === 'output') {
      const filled = filledTensors(value[field], one);
      if (filled === undefined) continue;
      value[field] = filled;
      notes.push(`${field}: completed by the model's ${by}`);
    }
  }
  throwProblems(problems, own, context.modelName);
  const source = parsed ?? own;
  const positionOf = (path: string): Position =>
    completed.has(/^\w*/.exec(path)?.[0] ?? '')
      ? { file: own.file, ...own.positionOf(path) }
      : source.positionOf(path);
  const again = prepare({ ...source, value, positionOf }, context, true);
  return { ...again, notes: [...again.notes, ...notes] };
}

/** Tensors with the types and dims that the model provides; undefined if none were missing. */
function filledTensors(written: unknown, said: unknown): unknown {
  // Both were read as inputs or outputs of a configuration.
  const tensors = written as readonly Partial<ModelInput>[];
  const known = new Map((said as readonly Partial<ModelInput>[]).map((one) => [one.name, one]));
  const filled = tensors.map((tensor) => {
    const own = known.get(tensor.name);
    const { data_type: datatype = 'TYPE_INVALID', dims = [] } = tensor;
    const noType = datatype === 'TYPE_INVALID' && own?.data_type !== undefined;
    const noDims = dims.length === 0 && own?.dims !== undefined;
    if (!noType && !noDims) return tensor;
    return { ...tensor, ...(noType && { data_type: own.data_type }), ...(noDims && { dims: own.dims }) };
  });
  return filled.some((tensor, k) => tensor !== tensors[k]) ? filled : undefined;
}

/**
 * Completes a configuration from the opened model, if that is allowed, and compares it with the model.
 *
 * @param prepared - The result of {@link prepareConfig}.
 * @param description - The model's inputs and outputs; undefined if the backend cannot describe them. Nothing
 *   is then completed or compared.
 * @param defaults - Settings of the backend.
 * @throws {@link TritonError} INVALID_ARG, UNSUPPORTED or UNAVAILABLE as {@link prepareConfig}. It names both
 *   sides.
 */
export function finishConfig(
  prepared: PreparedConfig,
  description: ModelDescription | undefined,
  defaults: BackendDefaults,
): FinishedConfig {
  const { context, source } = prepared;
  const rules = rulesOfModel(prepared.config, context.backends);
  const mayFill = description !== undefined && rules?.completesTensors === true;
  if (!mayFill) throwProblems(prepared.unsaid, source, context.modelName);
  const problems: Problem[] = [];
  const report = reportInto(problems);
  let { config } = prepared;
  let unbatched: string | undefined;
  const notes = [...prepared.notes];
  if (context.autoComplete) {
    if (description) {
      const zeroWritten = prepared.zeroBatchSizeWritten;
      const completed = completeConfig(config, zeroWritten, description, defaults, report, mayFill);
      throwProblems(problems, source, context.modelName);
      notes.push(...completed.notes);
      config = completed.config;
      unbatched = completed.unbatched;
    }
    // An unchanged configuration has already passed these checks.
    if (config !== prepared.config) {
      validateTensors(config, rules, report);
      validateRagged(config, true, report);
      const unsupported = findUnsupported(config, rules, hasGpu(config)).problems;
      throwProblems(merge(problems, unsupported), source, context.modelName);
    }
  }
  if (config === prepared.config) throwProblems(prepared.unsaid, source, context.modelName);
  if (description) checkAgainstModel(config, description, report);
  else reportMissingSections(config, report);
  // Dims written without a batch dimension are wrong only for this reason.
  if (problems.length > 0 && unbatched !== undefined) report('max_batch_size', unbatched);
  // Samples are checked only if the configuration fits the model.
  if (problems.length === 0) validateWarmupInputs(config, report);
  throwProblems(problems, source, context.modelName);
  // A TensorRT plan has no names of dims, and its own limit of rows shows that it was built for batches. The first dim of a
  // ragged input is no batch.
  const mayDoubt = prepared.config.max_batch_size > 0 && !isRagged(config);
  if (description && description.mostRows === undefined && mayDoubt) {
    const doubt = rowsDoubt(withOutputsOf(config, description));
    if (doubt !== undefined) notes.push(doubtedBatching(doubt, config));
  }
  return {
    config: config === prepared.config ? config : expandChanged(config),
    notes: Object.freeze(notes),
    batchSizeCompleted:
      config.max_batch_size !== prepared.config.max_batch_size &&
      (description?.mostRows === undefined ? 'default' : 'model'),
    ...(unbatched !== undefined &&
      description &&
      lacksNames(withOutputsOf(config, description)) && { unbatched: `max_batch_size: ${unbatched}` }),
  };
}

/** The model without outputs that the configuration leaves out. */
function withOutputsOf(config: ModelConfig, description: ModelDescription): ModelDescription {
  const states = keptStates(config).map(({ state }) => state.output_name);
  const names = new Set([...config.output.map(({ name }) => name), ...states]);
  return { ...description, outputs: description.outputs.filter(({ name }) => names.has(name)) };
}

/** Whether any instance is on a GPU. */
function hasGpu({ instance_group: groups }: ModelConfig): boolean {
  return groups.some(({ kind }) => kind === 'KIND_GPU');
}

/** Whether the available GPUs matter. Finding them may take a while. */
function mayUseGpus({ instance_group: groups }: ModelConfig): boolean {
  return groups.length === 0 || groups.some(({ kind }) => kind === 'KIND_AUTO' || kind === 'KIND_GPU');
}

/** If a field is unsupported and also breaks a rule, only the broken rule is reported. */
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
