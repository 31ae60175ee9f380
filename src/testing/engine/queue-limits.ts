/** How many requests may wait, as the policies of a queue say. */

import type { NativeQueuePolicies } from '../../addon/native/version-config.js';

/** Why a queue takes no further request of a priority, of which some wait; undefined: it does. */
export function fullness(
  queue: NativeQueuePolicies | undefined,
  level: number,
  waiting: number,
): string | undefined {
  if (queue === undefined) return undefined;
  const { maxQueueSize: most } = queue.own.find((one) => one.level === level) ?? queue.general;
  if (most === 0 || waiting < most) return undefined;
  const where = queue.levels > 0 ? `the queue of priority level ${level}` : 'its queue';
  return `${where} is full: max_queue_size is ${most}, and ${most} ${most === 1 ? 'request waits' : 'requests wait'}`;
}

/** How many requests of one priority may wait at most. */
export function mostWaiting(queue: NativeQueuePolicies | undefined): number {
  if (queue === undefined) return Infinity;
  const { levels, general, own } = queue;
  const policies = levels > 0 && own.length === levels ? own : [general, ...own];
  return Math.max(...policies.map(({ maxQueueSize: most }) => (most === 0 ? Infinity : most)));
}
