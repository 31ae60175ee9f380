/** The engine's statistics in Triton's shape. */

import type { NativeStatistics } from '../addon/native.js';
import type { ReadyVersion } from './ready-version.js';
import type { ModelStatistics, StatisticDuration } from './metadata.js';

const zero: StatisticDuration = { count: 0, ns: 0 };

/** Statistics of a version; all zero where the engine does not know it any more. */
export function statisticsOf(
  { name, version }: Pick<ReadyVersion, 'name' | 'version'>,
  native: NativeStatistics | undefined,
): ModelStatistics {
  return {
    name,
    version,
    last_inference: native?.lastInferenceMs ?? 0,
    inference_count: native?.inferenceCount ?? 0,
    execution_count: native?.executionCount ?? 0,
    inference_stats: {
      success: native?.success ?? zero,
      fail: native?.fail ?? zero,
      queue: native?.queue ?? zero,
      compute_input: native?.computeInput ?? zero,
      compute_infer: native?.computeInfer ?? zero,
      compute_output: native?.computeOutput ?? zero,
      cache_hit: zero,
      cache_miss: zero,
    },
    response_stats: {},
    batch_stats: (native?.batches ?? []).map((batch) => ({
      batch_size: batch.batchSize,
      compute_input: batch.computeInput,
      compute_infer: batch.computeInfer,
      compute_output: batch.computeOutput,
    })),
    memory_usage: [],
  };
}
