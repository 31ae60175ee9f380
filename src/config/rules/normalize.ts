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

/** Idle time after which a sequence ends if the configuration names none, in microseconds. */
const defaultSequenceIdle = 1_000_000;

/**
 * The configuration with Triton's defaults in place of what was left out: version policy, preferred batch sizes, sequence
 * idle time, pinned memory, instance groups with their names, kinds and counts.
 *
 * One default is not Triton's: the number of instances is 1, on the CPU too, because instances share one session and one
 * with all cores is not slower than two with half of them.
 *
 * @param config - Filled from the files.
 * @param gpuCount - Number of usable GPUs.
 */
export function normalizeConfig(config: ModelConfig, gpuCount: number): ModelConfig {
  const normal = {
    ...config,
    ...schedulersOf(config),
    version_policy: config.version_policy ?? unwritten.version_policy,
  };
  if (isEnsemble(config)) return normal;
  const optimization = config.optimization ? withPinnedMemory(config.optimization) : unwritten.optimization;
  return withInstances({ ...normal, optimization }, gpuCount);
}

/** Ensembles have no instances: their steps have. */
function isEnsemble(config: ModelConfig): boolean {
  return config.platform === 'ensemble' || config.ensemble_scheduling !== undefined;
}

/** The configuration with its instance groups as they are served, from those that were written. */
function withInstances(config: ModelConfig, gpuCount: number): ModelConfig {
  return { ...config, instance_group: normalizeGroups(config, gpuCount) };
}

/** The configuration with preferred batch sizes (and the idle time of sequences) where schedulers name none. */
export function withPreferredSizes(config: ModelConfig): ModelConfig {
  return { ...config, ...schedulersOf(config) };
}

/** The schedulers that are written, with what they do not name. */
function schedulersOf(
  config: ModelConfig,
): Partial<Pick<ModelConfig, 'dynamic_batching' | 'sequence_batching'>> {
  const { dynamic_batching: dynamic, sequence_batching: sequence, max_batch_size: maxBatchSize } = config;
  return {
    ...(dynamic && { dynamic_batching: withPreferredSize(dynamic, maxBatchSize) }),
    ...(sequence && { sequence_batching: normalizeSequence(sequence, maxBatchSize) }),
  };
}

/** Frozen, as all of the rest of it is. */
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

function normalizeGroups(config: ModelConfig, gpuCount: number): readonly ModelInstanceGroup[] {
  const groups =
    config.instance_group.length > 0
      ? config.instance_group
      : unwritten.instance_group.map((group) => ({ ...group, name: config.name }));
  const normal = groups.map((group, index) => {
    const kind = resolveKind(group, gpuCount);
    return Object.freeze({
      ...group,
      name: group.name === '' ? `${config.name}_${index}` : group.name,
      kind,
      // A negative one is left for the rules to refuse.
      count: group.count === 0 ? 1 : group.count,
      gpus: Object.freeze(
        kind === 'KIND_GPU' && group.gpus.length === 0
          ? Array.from({ length: gpuCount }, (_, gpu) => gpu)
          : group.gpus,
      ),
    });
  });
  return Object.freeze(normal);
}

/** KIND_AUTO means GPUs only if there is one and every listed one is there. */
function resolveKind(group: ModelInstanceGroup, gpuCount: number): ModelInstanceGroupKind {
  if (group.kind !== 'KIND_AUTO') return group.kind;
  return gpuCount > 0 && group.gpus.every((gpu) => isGpu(gpu, gpuCount)) ? 'KIND_GPU' : 'KIND_CPU';
}

/** Whether a GPU of this id is there. */
export function isGpu(id: number, gpuCount: number): boolean {
  return id >= 0 && id < gpuCount;
}

/** What is put in where nothing was written, and an instance group of which nothing was. */
const unwritten: ModelConfig = expandConfig({
  version_policy: { latest: { num_versions: 1 } },
  optimization: { input_pinned_memory: { enable: true }, output_pinned_memory: { enable: true } },
  instance_group: [{}],
});
