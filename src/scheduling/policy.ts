/** Turns the scheduling section of a checked configuration into the engine's policy. */

import type {
  NativeQueuePolicies,
  NativeQueuePolicy,
  NativeScheduling,
} from '../addon/native/version-config.js';
import {
  readSwitch,
  type ModelConfig,
  type ModelDynamicBatching,
  type ModelQueuePolicy,
  type ModelSequenceBatchingStrategyOldest,
} from '../config/index.js';

/**
 * The dynamic batcher's policy; undefined if requests run one by one.
 *
 * @param acrossShapes - Whether requests of a batch's shape may join it ahead of others, unless the model's
 *   parameter says otherwise.
 */
export function schedulingOf(config: ModelConfig, acrossShapes: boolean): NativeScheduling | undefined {
  const { dynamic_batching: batching } = config;
  return batching && batchingOf(config, batching, acrossShapes);
}

/** The policy of a dynamic batcher with these settings; undefined if there are no batches. */
export function batchingOf(
  config: ModelConfig,
  batching: ModelSequenceBatchingStrategyOldest | ModelDynamicBatching,
  acrossShapes: boolean,
): NativeScheduling | undefined {
  // With max_batch_size 0 there is no batch dimension to join requests by.
  if (config.max_batch_size === 0) return undefined;
  return {
    maxBatchSize: config.max_batch_size,
    preferredBatchSizes: batching.preferred_batch_size,
    maxQueueDelayUs: batching.max_queue_delay_microseconds,
    // With preserved ordering, the answers of the batch would have to wait for the requests that were skipped.
    acrossShapes:
      !batching.preserve_ordering &&
      (readSwitch(config.parameters['batch_across_shapes']?.string_value) ?? acrossShapes),
  };
}

/**
 * Whether a batch that fails as a whole is run again in halves. The model's parameter can turn it off. It never holds for a
 * sequence model, which may have kept its state already.
 */
export function rerunsInHalves(config: ModelConfig): boolean {
  if (config.sequence_batching) return false;
  return readSwitch(config.parameters['rerun_in_halves']?.string_value) ?? true;
}

/**
 * Whether this holds for a JavaScript or Python model. The default is no, because the user's code may have side
 * effects; the model's parameter can turn it on. It never holds for a decoupled model, whose responses cannot
 * be taken back.
 */
export function codeRerunsInHalves(config: ModelConfig): boolean {
  if (config.model_transaction_policy?.decoupled === true || config.sequence_batching) return false;
  return readSwitch(config.parameters['rerun_in_halves']?.string_value) === true;
}

/**
 * Priority levels and queue policies; undefined if they amount to one queue without limits, which costs less.
 *
 * As in Triton, they also apply with max_batch_size 0.
 */
export function queuePoliciesOf({
  dynamic_batching: batching,
}: ModelConfig): NativeQueuePolicies | undefined {
  if (!batching) return undefined;
  const levels = batching.priority_levels;
  const general = policyOf(batching.default_queue_policy);
  const own = levels === 0 ? [] : Object.entries(batching.priority_queue_policy);
  const policies = own.map(([level, policy]) => ({ level: Number(level), ...policyOf(policy) }));
  if (levels <= 1 && ![general, ...policies].some(limits)) return undefined;
  return { levels, defaultLevel: levels === 0 ? 0 : batching.default_priority_level, general, own: policies };
}

function policyOf(policy: ModelQueuePolicy | undefined): NativeQueuePolicy {
  return {
    delays: policy?.timeout_action === 'DELAY',
    defaultTimeoutUs: policy?.default_timeout_microseconds ?? 0,
    allowTimeoutOverride: policy?.allow_timeout_override ?? false,
    maxQueueSize: policy?.max_queue_size ?? 0,
  };
}

function limits({ defaultTimeoutUs, allowTimeoutOverride, maxQueueSize }: NativeQueuePolicy): boolean {
  return defaultTimeoutUs > 0 || allowTimeoutOverride || maxQueueSize > 0;
}
