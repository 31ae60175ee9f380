/** What a candidate changes in the configurations of its models. */

import type { FieldChange, ModelConfig, ModelConfigInput } from '../../config/index.js';
import { threadParameters } from './axes.js';
import {
  changedIn,
  valueOf,
  type Candidate,
  type SettingName,
  type SettingValue,
  type Space,
} from './space.js';

/** A model as it is served and as it is written. */
export interface ConfiguredModel {
  /** The complete configuration, as it is served now. */
  readonly config: ModelConfig;
  /** The fields that are written in config.pbtxt. */
  readonly written: ModelConfigInput;
}

/** The changes of a model's configuration. There are none if the candidate leaves the model as it is. */
export function changesOf(
  space: Space,
  candidate: Candidate,
  { config, written }: ConfiguredModel,
): readonly FieldChange[] {
  const { name: model, backend } = config;
  const changed = changedIn(space, candidate).filter(({ axis }) => axis.model === model);
  const changes = changed.flatMap(({ axis: { setting }, value }) =>
    changesOfSetting(setting, value, backend),
  );
  const rows = valueOf(space, candidate, model, 'max_batch_size');
  const batches = changed.some(({ axis: { setting } }) => isOfBatcher(setting));
  if (!batches || config.sequence_batching !== undefined || rows === 'unbatched') return changes;
  const { dynamic_batching: dynamic } = written;
  // A written max_batch_size batches only with dynamic_batching; both are completed together.
  if (dynamic === undefined)
    return rows === 1 ? changes : [{ path: 'dynamic_batching', value: {} }, ...changes];
  // Preferred sizes above the new limit would be refused.
  const sizes = dynamic.preferred_batch_size ?? [];
  const fit = typeof rows === 'number' ? sizes.filter((size) => size <= rows) : sizes;
  const isSet = changes.some(({ path }) => path === preferredPath);
  return isSet || fit.length === sizes.length ? changes : [...changes, { path: preferredPath, value: fit }];
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
