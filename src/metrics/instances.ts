/** How many instances a configuration asks for. */

import type { ModelConfig, ModelInstanceGroup } from '../config/index.js';

/** A configuration, of which servers of other software may leave out parts. */
export type InstanceGroups = Partial<{
  readonly [K in keyof Pick<ModelConfig, 'instance_group'>]: readonly Partial<ModelInstanceGroup>[];
}>;

/**
 * The number of instances, without passive ones, which take no requests; undefined if the configuration names none, as
 * that of an ensemble.
 */
export function instancesOf({ instance_group: groups }: InstanceGroups): number | undefined {
  if (groups === undefined || groups.length === 0) return undefined;
  return groups.reduce(
    (sum, { count = 1, gpus = [], kind, passive = false }) =>
      passive ? sum : sum + count * (kind === 'KIND_GPU' ? Math.max(1, gpus.length) : 1),
    0,
  );
}
