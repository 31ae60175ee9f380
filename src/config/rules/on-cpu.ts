/** Moves a configuration that was written for GPUs to the CPU, for `instanceKind: 'cpu'`. */

import { fieldPath, indexPath } from '../schema/paths.js';
import type { ModelConfig, ModelInstanceGroup } from '../schema/types.js';

/** A configuration without GPUs. */
export interface PlacedConfig {
  readonly config: ModelConfig;
  /** One sentence for each change, beginning with the field's path. */
  readonly notes: readonly string[];
}

const reason = "as instanceKind: 'cpu' says";
const accelerators = 'gpu_execution_accelerator';

/**
 * Puts all instances on the CPU, and removes everything that concerns only GPUs: GPU ids, and the accelerators
 * of GPU instances. `count` stays, so a group has as many instances as on one GPU.
 *
 * @param config - Filled in from the files, before defaults are filled in.
 */
export function placeOnCpu(config: ModelConfig): PlacedConfig {
  const notes: string[] = [];
  const groups = config.instance_group.map((group, index): ModelInstanceGroup => {
    if (group.kind !== 'KIND_GPU' && group.kind !== 'KIND_AUTO') return group;
    const path = indexPath('instance_group', index);
    if (group.kind === 'KIND_GPU')
      notes.push(`${fieldPath(path, 'kind')}: KIND_GPU means the CPU, ${reason}`);
    if (group.gpus.length > 0) notes.push(`${fieldPath(path, 'gpus')}: left out, ${reason}`);
    return { ...group, kind: 'KIND_CPU', gpus: [] };
  });
  const { optimization } = config;
  const written = optimization?.execution_accelerators;
  if (optimization === undefined || written === undefined || written[accelerators].length === 0)
    return { config: { ...config, instance_group: groups }, notes };
  notes.push(`optimization.execution_accelerators.${accelerators}: left out, ${reason}`);
  return {
    config: {
      ...config,
      instance_group: groups,
      optimization: { ...optimization, execution_accelerators: { ...written, [accelerators]: [] } },
    },
    notes,
  };
}
