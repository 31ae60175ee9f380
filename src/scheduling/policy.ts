/** Turns the scheduling part of a checked config into the engine's policy. */

import type {
  NativeQueuePolicies,
  NativeQueuePolicy,
  NativeScheduling,
} from '../addon/native/version-config.js';
import { readSwitch, type ModelConfig, type ModelQueuePolicy } from '../config/index.js';

/**
 * The dynamic batcher's policy; undefined if requests run one by one.
 *
 * @param acrossShapes - Whether batches are made across shapes where the model's parameter says nothing.
 */
export function schedulingOf(config: ModelConfig, acrossShapes: boolean): NativeScheduling | undefined {
  const batching = config.dynamic_batching;
  // With max_batch_size 0 there is no batch dimension to join requests by.
  if (!batching || config.max_batch_size === 0) return undefined;
  return {
    maxBatchSize: config.max_batch_size,
    preferredBatchSizes: batching.preferred_batch_size,
    maxQueueDelayUs: batching.max_queue_delay_microseconds,
    // Answers in the order of requests would wait for what was passed over.
    acrossShapes:
      !batching.preserve_ordering &&
      (readSwitch(config.parameters['batch_across_shapes']?.string_value) ?? acrossShapes),
  };
}

/** Whether a batch that fails as a whole is run again in halves: unless the model's parameter says no. */
export function rerunsInHalves(config: ModelConfig): boolean {
  return readSwitch(config.parameters['rerun_in_halves']?.string_value) ?? true;
}

/**
 * The same for a model in JavaScript or Python, which runs code of the user's: only if the parameter says yes, as that
 * code may do something outside of itself. Responses of decoupled models cannot be taken back.
 */
export function codeRerunsInHalves(config: ModelConfig): boolean {
  if (config.model_transaction_policy?.decoupled === true) return false;
  return readSwitch(config.parameters['rerun_in_halves']?.string_value) === true;
}

/**
 * Levels and queue policies; undefined where they come to one queue without limits, which costs less.
 *
 * They apply with max_batch_size 0, too, as in Triton.
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
