/** Turns the engine's statistics into Triton's shape. */

import type { NativeServer } from '../../addon/native/server.js';
import type { NativeStatistics } from '../../addon/native/statistics.js';
import { failureReasons } from '../../metrics/model-families.js';
import type { ModelStatistics, StatisticDuration } from '../../api/metadata.js';
import { defaultNamespace, type ModelKey } from '../../model-key.js';
import type { ModelTable } from '../models/model-table.js';

const zero: StatisticDuration = { count: 0, ns: 0 };
const nothing = { rejected: 0, cancelled: 0, backendFailed: 0, fail: zero };

/** Statistics of a version. All counts are zero if the engine does not know the version any more. */
export function statisticsOf(
  { name, namespace }: ModelKey,
  version: string,
  native: NativeStatistics | undefined,
): ModelStatistics {
  return {
    name,
    ...(namespace !== defaultNamespace && { namespace }),
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
      cache_hit: native?.cacheHit ?? zero,
      cache_miss: native?.cacheMiss ?? zero,
    },
    fail_reasons: failureReasons(native ?? nothing),
    refused: native?.refused ?? 0,
    reruns: native?.reruns ?? 0,
    response_stats: Object.fromEntries(
      (native?.responses ?? []).map((response, number) => [
        String(number),
        {
          compute_infer: response.computeInfer,
          compute_output: response.computeOutput,
          success: response.success,
          fail: response.fail,
          empty_response: response.emptyResponse,
          cancel: response.cancel,
        },
      ]),
    ),
    batch_stats: (native?.batches ?? []).map((batch) => ({
      batch_size: batch.batchSize,
      compute_input: batch.computeInput,
      compute_infer: batch.computeInfer,
      compute_output: batch.computeOutput,
    })),
    memory_usage: (native?.memory ?? []).map(({ type, id, byteSize }) => ({ type, id, byte_size: byteSize })),
  };
}

/**
 * Statistics of all served versions, of one model's versions, or of one version.
 *
 * @throws {@link TritonError} NOT_FOUND or UNAVAILABLE for a named model or version that is not served, INVALID_ARG for
 *   a name that several namespaces have.
 */
export function serverStatistics(
  native: NativeServer,
  table: ModelTable,
  name: string | undefined,
  version: string | undefined,
  namespace: string | undefined,
): ModelStatistics[] {
  const key =
    name === undefined
      ? undefined
      : namespace === undefined
        ? table.keyOf(name)
        : table.keyIn({ namespace, name });
  if (key && (version !== undefined || !table.entry(key)?.ready.length)) {
    const ready = table.resolve(key, version);
    return [statisticsOf(key, ready.version, native.statistics(ready.uid))];
  }
  // Without a name: all models of the namespace, if there is one.
  const keys = key
    ? [key]
    : table.keys().filter((one) => namespace === undefined || one.namespace === namespace);
  return keys.flatMap((model) =>
    (table.entry(model)?.ready ?? [])
      .map(({ uid, version: served }) => statisticsOf(model, served, native.statistics(uid)))
      .reverse(),
  );
}

/** Triton's reply to a request for statistics. */
export interface TritonStatistics {
  readonly model_stats: readonly Omit<ModelStatistics, 'fail_reasons' | 'refused' | 'reruns' | 'namespace'>[];
}

/** Removes the fields that Triton's message does not have. */
export function tritonStatistics(all: readonly ModelStatistics[]): TritonStatistics {
  return {
    model_stats: all.map(
      ({ fail_reasons: _reasons, refused: _refused, reruns: _reruns, namespace: _namespace, ...rest }) =>
        rest,
    ),
  };
}
