/** Turns the scheduling part of a checked config into the engine's policy. */

import type { NativeScheduling } from '../addon/native.js';
import type { ModelConfig } from '../config/index.js';

/** The dynamic batcher's policy; undefined where requests run one by one. */
export function schedulingOf(config: ModelConfig): NativeScheduling | undefined {
  const batching = config.dynamic_batching;
  // With max_batch_size 0 the batcher has nothing to put together.
  if (!batching || config.max_batch_size === 0) return undefined;
  return {
    maxBatchSize: config.max_batch_size,
    preferredBatchSizes: batching.preferred_batch_size,
    maxQueueDelayUs: batching.max_queue_delay_microseconds,
  };
}
