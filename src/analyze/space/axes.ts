/** Finds the settings of a model that can be searched, and says why others cannot. */

import type { ModelConfig } from '../../config/index.js';
import type { Axis, SettingName, SettingValue } from './space.js';

/** All settings, in the order of the axes. */
export const settingNames: readonly SettingName[] = [
  'instances',
  'threads',
  'max_batch_size',
  'delay',
  'preferred',
  'inline',
];

/** The parameter of a backend that sets its threads, with the text for as many as the backend chooses. */
export const threadParameters: Readonly<
  Record<string, { readonly key: string; readonly otherwise: string }>
> = {
  onnxruntime: { key: 'intra_op_thread_count', otherwise: '0' },
  fil: { key: 'cpu_nthread', otherwise: '-1' },
  openvino: { key: 'INFERENCE_NUM_THREADS', otherwise: '0' },
};

/** Backends whose runs may be on the JS thread. */
const inlineBackends: ReadonlySet<string> = new Set([
  'onnxruntime',
  'fil',
  'identity',
  'openvino',
  'pytorch',
  'tensorflow',
]);

/** Backends whose runs may wait for something else than a core, so that more instances than cores may gain. */
const waiting: ReadonlySet<string> = new Set(['javascript', 'python', 'identity']);
const mostWaiting = 8;

const mostRows = 128;
const delays: readonly number[] = [0, 100, 500, 2000];
const inlineValues: readonly SettingValue[] = ['off', 'auto', 200];

/** The limits of a setting that `--search` gives. */
export type SearchLimit =
  | { readonly kind: 'present' }
  | { readonly kind: 'values'; readonly values: readonly SettingValue[] }
  | { readonly kind: 'range'; readonly least: number; readonly most: number };

/** What decides about the axes of a model. */
export interface AxisSource {
  /** The complete configuration, as it is served. */
  readonly config: ModelConfig;
  /** Cores that the server may use. */
  readonly cores: number;
  /** The most rows that wait at a time: callers times rows of a request. */
  readonly load: number;
  /** The fewest rows that a candidate takes: those of a request, and those that an ensemble may give its step. */
  readonly batch: number;
  readonly limits: ReadonlyMap<SettingName, SearchLimit>;
}

/** A setting that is not searched, and the reason. */
export interface LeftOut {
  readonly model: string;
  readonly settings: readonly SettingName[];
  readonly why: string;
}

/** The axes of a model, and what is left out. */
export function axesOf(source: AxisSource): {
  readonly axes: readonly Axis[];
  readonly left: readonly LeftOut[];
} {
  const { name: model } = source.config;
  const axes: Axis[] = [];
  const left: LeftOut[] = [];
  const leave = (why: string, ...settings: readonly SettingName[]): void => {
    left.push({ model, settings, why });
  };
  const add = (setting: SettingName, found: readonly SettingValue[], present: SettingValue): void => {
    const axis = {
      ...axisOf(source, setting, found, present),
      ...(present === 'unbatched' && { unbatchedRows: source.config.max_batch_size }),
    };
    if (axis.values.length > 1) axes.push(axis);
    else leave(source.limits.has(setting) ? '--search leaves one value' : 'there is one value', setting);
  };
  instanceAxes(source, add, leave);
  batchAxes(source, add, leave);
  inlineAxis(source, add, leave);
  return { axes, left };
}

type Add = (setting: SettingName, values: readonly SettingValue[], present: SettingValue) => void;
type Leave = (why: string, ...settings: readonly SettingName[]) => void;

function isOnGpu({ instance_group: groups }: ModelConfig): boolean {
  return groups.some(({ kind }) => kind === 'KIND_GPU');
}

function instanceAxes({ config, cores }: AxisSource, add: Add, leave: Leave): void {
  const { backend, instance_group: groups, parameters } = config;
  const [group] = groups;
  if (groups.length > 1) {
    leave('there are several instance groups', 'instances', 'threads');
    return;
  }
  const present = group?.count ?? 1;
  const most = Math.max(waiting.has(backend) ? Math.min(mostWaiting, 4 * cores) : cores, 1);
  add('instances', upTo(most), present);
  const threads = threadParameters[backend];
  if (threads === undefined) {
    leave(`the number of threads is not a setting of a model of backend ${backend}`, 'threads');
    return;
  }
  if (isOnGpu(config)) {
    leave('the model runs on a GPU', 'threads');
    return;
  }
  const written = parameters[threads.key]?.string_value;
  const isDefault = written === undefined || written === threads.otherwise;
  add('threads', ['default', ...upTo(cores)], isDefault ? 'default' : Number(written));
}

function batchAxes({ config, load, batch }: AxisSource, add: Add, leave: Leave): void {
  const { max_batch_size: rows, dynamic_batching: dynamic, sequence_batching: sequences } = config;
  if (rows === 0) {
    leave('the model has no batch dimension (max_batch_size 0)', 'max_batch_size', 'delay', 'preferred');
    return;
  }
  const useful = 2 ** Math.ceil(Math.log2(Math.max(1, load)));
  const sizes = powers(Math.min(mostRows, useful)).filter((size) => size >= batch);
  if (sequences !== undefined) {
    add('max_batch_size', sizes, rows);
    leave('a model with sequence_batching has no dynamic_batching', 'delay', 'preferred');
    return;
  }
  if (dynamic === undefined)
    add(
      'max_batch_size',
      ['unbatched', ...new Set([...sizes, rows])].filter((size) => size !== 1),
      'unbatched',
    );
  else add('max_batch_size', sizes, rows);
  add('delay', delays, dynamic?.max_queue_delay_microseconds ?? 0);
  // The largest batch is preferred anyway.
  const present = (dynamic?.preferred_batch_size ?? []).filter((size) => size !== rows);
  const preferred = sizes.filter((size) => size >= 4 && size < useful);
  add(
    'preferred',
    ['none', ...preferred],
    present.length === 0 ? 'none' : present.length === 1 ? (present[0] ?? 'none') : present.join(),
  );
}

function inlineAxis({ config }: AxisSource, add: Add, leave: Leave): void {
  const { backend, parameters } = config;
  if (!inlineBackends.has(backend) || isOnGpu(config)) {
    leave('its batches never run on the JS thread', 'inline');
    return;
  }
  const written = parameters['inline']?.string_value ?? 'auto';
  add('inline', inlineValues, /^\d+$/.test(written) ? Number(written) : written);
}

/** 1, 2, 3, 4, 6, 8, 12, 16 … */
function upTo(most: number): readonly number[] {
  const steps = powers(most).flatMap((power) => [power, power * 1.5]);
  return [...new Set([...steps.filter((one) => Number.isInteger(one) && one <= most), most])].sort(
    (a, b) => a - b,
  );
}

/** 1, 2, 4, 8 … */
function powers(most: number): readonly number[] {
  return Array.from({ length: Math.floor(Math.log2(Math.max(1, most))) + 1 }, (_, i) => 2 ** i);
}

/** An axis within the limits that `--search` gives. The present value is always among its values. */
function axisOf(
  { config, limits }: AxisSource,
  setting: SettingName,
  found: readonly SettingValue[],
  present: SettingValue,
): Axis {
  const limit = limits.get(setting);
  const values = limit === undefined ? found : limited(found, limit);
  const order = (value: SettingValue): number =>
    typeof value === 'number'
      ? value
      : value === 'off'
        ? -2
        : value === 'auto'
          ? 50
          : value.includes(',')
            ? Number(value.split(',').at(-1))
            : -1;
  const all = [...new Set([...values, present])].sort((a, b) => order(a) - order(b));
  return { model: config.name, setting, values: all, present: all.indexOf(present) };
}

function limited(found: readonly SettingValue[], limit: SearchLimit): readonly SettingValue[] {
  switch (limit.kind) {
    case 'present':
      return [];
    case 'values':
      return limit.values;
    case 'range': {
      const { least, most } = limit;
      const inside = found.filter((value) => typeof value === 'number' && value >= least && value <= most);
      return [least, ...inside, most];
    }
  }
}
