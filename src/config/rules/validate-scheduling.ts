/** Triton's rules for dynamic batching. */

import { indexPath, keyPath } from '../schema/paths.js';
import type { Report } from '../text/problems.js';
import type { ModelConfig, ModelDynamicBatching, ModelQueuePolicy } from '../schema/types.js';

/** Checks `dynamic_batching`. */
export function validateDynamicBatching(config: ModelConfig, report: Report): void {
  const batching = config.dynamic_batching;
  if (batching === undefined) return;
  checkPreferredSizes(batching.preferred_batch_size, config, 'dynamic_batching.preferred_batch_size', report);
  checkPriorities(batching, report);
  if (!batching.preserve_ordering) return;
  const path = 'dynamic_batching.preserve_ordering';
  if (batching.priority_levels > 1) {
    report(path, `cannot be kept with priorities, but priority_levels is ${batching.priority_levels}`);
  }
  for (const [at, policy] of queuePolicies(batching)) {
    if (policy.timeout_action !== 'DELAY' || policy.default_timeout_microseconds === 0) continue;
    report(path, `cannot be kept with ${at}, which moves expired requests behind others (DELAY)`);
  }
}

/** Checks preferred batch sizes of a scheduler. */
export function checkPreferredSizes(
  sizes: readonly number[],
  config: ModelConfig,
  path: string,
  report: Report,
): void {
  const max = config.max_batch_size;
  sizes.forEach((size, index) => {
    if (size > 0 && size <= max) return;
    const missing = max === 0 ? ' (write max_batch_size: without it there is no batching)' : '';
    report(
      indexPath(path, index),
      `expected 1 to max_batch_size, which is ${max}, but found ${size}${missing}`,
    );
  });
}

/** Without priority levels, Triton does not check any of this. */
function checkPriorities(batching: ModelDynamicBatching, report: Report): void {
  const levels = batching.priority_levels;
  if (levels === 0) return;
  const level = batching.default_priority_level;
  if (level < 1 || level > levels) {
    report(
      'dynamic_batching.default_priority_level',
      `expected 1 to priority_levels, ${levels}, but found ${level}`,
    );
  }
  for (const key of Object.keys(batching.priority_queue_policy)) {
    if (Number(key) >= 1 && Number(key) <= levels) continue;
    const path = keyPath('dynamic_batching.priority_queue_policy', key);
    report(path, `expected a level from 1 to priority_levels, ${levels}`);
  }
}

function queuePolicies(batching: ModelDynamicBatching): [path: string, policy: ModelQueuePolicy][] {
  const { default_queue_policy: general, priority_queue_policy: own } = batching;
  return [
    ...(general ? [['default_queue_policy', general] as [string, ModelQueuePolicy]] : []),
    ...Object.entries(own).map(([key, policy]): [string, ModelQueuePolicy] => [
      keyPath('priority_queue_policy', key),
      policy,
    ]),
  ];
}
