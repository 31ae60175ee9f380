/** What a candidate changes in the configurations of its models. */

import type { FieldChange, ModelConfig } from '../../config/index.js';
import { threadParameters } from './axes.js';
import {
  changedIn,
  valueOf,
  type Candidate,
  type SettingName,
  type SettingValue,
  type Space,
} from './space.js';

/**
 * The changes of a model's configuration. There are none if the candidate leaves the model as it is.
 *
 * @param config - The complete configuration, as it is served now.
 */
export function changesOf(space: Space, candidate: Candidate, config: ModelConfig): readonly FieldChange[] {
  const { name: model, backend, dynamic_batching: dynamic } = config;
  const changes: FieldChange[] = [];
  for (const { axis, value } of changedIn(space, candidate)) {
    if (axis.model !== model) continue;
    changes.push(...changesOfSetting(axis.setting, value, backend));
  }
  const changed = changedIn(space, candidate).filter(({ axis }) => axis.model === model);
  const batches = changed.some(({ axis: { setting } }) => isOfBatcher(setting));
  const rows = valueOf(space, candidate, model, 'max_batch_size');
  if (!batches || config.sequence_batching !== undefined || rows === 'unbatched') return changes;
  // Where max_batch_size is completed, dynamic_batching is too; a written one must be accompanied.
  const isWritten = changes.some(({ path }) => path.startsWith('dynamic_batching.'));
  if (!isWritten) changes.push({ path: 'dynamic_batching', value: {} });
  // Preferred sizes above the new limit would be refused.
  const sizes = dynamic?.preferred_batch_size ?? [];
  const fit = typeof rows === 'number' ? sizes.filter((size) => size <= rows) : sizes;
  const isSet = changes.some(({ path }) => path === preferredPath);
  if (!isSet && fit.length < sizes.length) changes.push({ path: preferredPath, value: fit });
  return changes;
}

const preferredPath = 'dynamic_batching.preferred_batch_size';

function isOfBatcher(setting: SettingName): boolean {
  return setting === 'max_batch_size' || setting === 'delay' || setting === 'preferred';
}

function changesOfSetting(
  setting: SettingName,
  value: SettingValue,
  backend: string,
): readonly FieldChange[] {
  switch (setting) {
    case 'instances':
      return [{ path: 'instance_group[0].count', value }];
    case 'threads': {
      const parameter = threadParameters[backend];
      if (parameter === undefined) throw new RangeError(`backend ${backend} has no parameter for threads`);
      const text = value === 'default' ? parameter.otherwise : String(value);
      return [{ path: `parameters["${parameter.key}"].string_value`, value: text }];
    }
    case 'max_batch_size':
      return value === 'unbatched' ? [] : [{ path: 'max_batch_size', value }];
    case 'delay':
      return [{ path: 'dynamic_batching.max_queue_delay_microseconds', value }];
    case 'preferred':
      return [{ path: preferredPath, value: value === 'none' ? [] : String(value).split(',').map(Number) }];
    case 'inline':
      return [{ path: 'parameters["inline"].string_value', value: String(value) }];
  }
}
