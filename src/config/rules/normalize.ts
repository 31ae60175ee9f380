/** Writes Triton's defaults into a configuration. */

import { expandConfig } from '../schema/expand.js';
import type {
  ModelConfig,
  ModelDynamicBatching,
  ModelInstanceGroup,
  ModelInstanceGroupKind,
  ModelOptimizationPolicy,
  ModelSequenceBatching,
} from '../schema/types.js';

/** The default time without requests after which a sequence ends, in microseconds. */
const defaultSequenceIdle = 1_000_000;

/**
 * Fills in Triton's defaults for everything that was left out: version policy, preferred batch sizes, sequence
 * idle time, pinned memory, and the names, kinds and counts of instance groups.
 *
 * One default differs from Triton's: the number of instances is 1 on the CPU, too. Instances share one session,
 * and one instance with all cores is not slower than two with half of them.
 *
 * @param config - Filled in from the files.
 * @param gpus - Ids of the usable GPUs.
 */
export function normalizeConfig(config: ModelConfig, gpus: readonly number[]): ModelConfig {
  const normal = {
    ...config,
    ...schedulersOf(config),
    version_policy: config.version_policy ?? unwritten.version_policy,
  };
  if (isEnsemble(config)) return normal;
  const optimization = config.optimization ? withPinnedMemory(config.optimization) : unwritten.optimization;
  return withInstances({ ...normal, optimization }, gpus);
}

/** Ensembles have no instances; only their steps do. */
function isEnsemble(config: ModelConfig): boolean {
  return config.platform === 'ensemble' || config.ensemble_scheduling !== undefined;
}

/** The configuration with normalised instance groups. */
function withInstances(config: ModelConfig, gpus: readonly number[]): ModelConfig {
  return { ...config, instance_group: normalizeGroups(config, gpus) };
}

/**
 * The configuration with preferred batch sizes and the sequence idle time, for schedulers that do not set them.
 */
export function withPreferredSizes(config: ModelConfig): ModelConfig {
  return { ...config, ...schedulersOf(config) };
}

/** The written schedulers, with defaults for fields that were left out. */
function schedulersOf(
  config: ModelConfig,
): Partial<Pick<ModelConfig, 'dynamic_batching' | 'sequence_batching'>> {
  const { dynamic_batching: dynamic, sequence_batching: sequence, max_batch_size: maxBatchSize } = config;
  return {
    ...(dynamic && { dynamic_batching: withPreferredSize(dynamic, maxBatchSize) }),
    ...(sequence && { sequence_batching: normalizeSequence(sequence, maxBatchSize) }),
  };
}

/** The result is frozen, like the rest of the configuration. */
function withPreferredSize<T extends Pick<ModelDynamicBatching, 'preferred_batch_size'>>(
  batching: T,
  maxBatchSize: number,
): T {
  const fill = batching.preferred_batch_size.length === 0 && maxBatchSize > 0;
  return fill
    ? Object.freeze({ ...batching, preferred_batch_size: Object.freeze([maxBatchSize]) })
    : batching;
}

function normalizeSequence(sequence: ModelSequenceBatching, maxBatchSize: number): ModelSequenceBatching {
  return {
    ...sequence,
    max_sequence_idle_microseconds: sequence.max_sequence_idle_microseconds || defaultSequenceIdle,
    ...(sequence.oldest && { oldest: withPreferredSize(sequence.oldest, maxBatchSize) }),
  };
}

function withPinnedMemory(optimization: ModelOptimizationPolicy): ModelOptimizationPolicy {
  const { input_pinned_memory: input, output_pinned_memory: output } = optimization;
  return {
    ...optimization,
    input_pinned_memory: input ?? { enable: true },
    output_pinned_memory: output ?? { enable: true },
  };
}

function normalizeGroups(config: ModelConfig, gpus: readonly number[]): readonly ModelInstanceGroup[] {
  const groups =
    config.instance_group.length > 0
      ? config.instance_group
      : unwritten.instance_group.map((group) => ({ ...group, name: config.name }));
  const normal = groups.map((group, index) => {
    const kind = resolveKind(group, gpus);
    return Object.freeze({
      ...group,
      name: group.name === '' ? `${config.name}_${index}` : group.name,
      kind,
      // A negative count stays, so that the rules refuse it.
      count: group.count === 0 ? 1 : group.count,
      gpus: Object.freeze(kind === 'KIND_GPU' && group.gpus.length === 0 ? [...gpus] : group.gpus),
    });
  });
  return Object.freeze(normal);
}

/** KIND_AUTO becomes KIND_GPU only if there is a usable GPU and every listed one is usable. */
function resolveKind(group: ModelInstanceGroup, gpus: readonly number[]): ModelInstanceGroupKind {
  if (group.kind !== 'KIND_AUTO') return group.kind;
  return gpus.length > 0 && group.gpus.every((gpu) => gpus.includes(gpu)) ? 'KIND_GPU' : 'KIND_CPU';
}

/** The defaults: a configuration with default policies and an instance group without written fields. */
const unwritten: ModelConfig = expandConfig({
  version_policy: { latest: { num_versions: 1 } },
  optimization: { input_pinned_memory: { enable: true }, output_pinned_memory: { enable: true } },
  instance_group: [{}],
});
