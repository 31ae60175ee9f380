import assert from 'node:assert/strict';
import { test } from 'node:test';
import { expandConfig, type ModelConfig, type ModelConfigInput } from '../../src/config/index.js';
import { axesOf, type AxisSource, type SearchLimit } from '../../src/analyze/space/axes.js';
import { changesOf } from '../../src/analyze/space/changes.js';
import {
  allOf,
  candidateText,
  coarseGrid,
  isSensible,
  neighboursOf,
  presentOf,
  takenBack,
  type SettingName,
  type Space,
} from '../../src/analyze/space/space.js';
import { axis } from './made-up.js';

const onnx: ModelConfigInput = {
  name: 'm',
  backend: 'onnxruntime',
  max_batch_size: 64,
  dynamic_batching: {},
  instance_group: [{ kind: 'KIND_CPU', count: 1 }],
};

function source(config: ModelConfigInput, more: Partial<AxisSource> = {}): AxisSource {
  return { config: expandConfig(config), cores: 4, load: 64, batch: 1, limits: new Map(), ...more };
}

/** The values of each axis, with the present one in brackets. */
function shown(config: ModelConfigInput, more: Partial<AxisSource> = {}): Record<string, string> {
  const { axes } = axesOf(source(config, more));
  return Object.fromEntries(
    axes.map(({ setting, values, present }) => [
      setting,
      values.map((value, i) => (i === present ? `[${value}]` : String(value))).join(' '),
    ]),
  );
}

test('a batching model of ONNX Runtime has all axes', () => {
  assert.deepEqual(shown(onnx), {
    instances: '[1] 2 3 4',
    threads: '[default] 1 2 3 4',
    max_batch_size: '1 2 4 8 16 32 [64]',
    delay: '[0] 100 500 2000',
    preferred: '[none] 4 8 16 32',
    inline: 'off [auto] 200',
  });
});

test('present values that are no usual ones are among the values', () => {
  const config: ModelConfigInput = {
    ...onnx,
    max_batch_size: 100,
    instance_group: [{ kind: 'KIND_CPU', count: 7 }],
    dynamic_batching: { max_queue_delay_microseconds: 333, preferred_batch_size: [4, 20] },
    parameters: { inline: { string_value: '90' }, intra_op_thread_count: { string_value: '9' } },
  };
  assert.deepEqual(shown(config), {
    instances: '1 2 3 4 [7]',
    threads: 'default 1 2 3 4 [9]',
    max_batch_size: '1 2 4 8 16 32 64 [100]',
    delay: '0 100 [333] 500 2000',
    preferred: 'none 4 8 16 [4,20] 32',
    inline: 'off auto [90] 200',
  });
});

test('batches that the load cannot fill are not searched', () => {
  assert.equal(shown(onnx, { load: 5 })['max_batch_size'], '1 2 4 8 [64]');
  // A request has four rows.
  assert.equal(shown(onnx, { load: 16, batch: 4 })['max_batch_size'], '4 8 16 [64]');
});

test('a model without dynamic_batching may get it', () => {
  const { dynamic_batching: _, ...plain } = onnx;
  assert.equal(shown(plain)['max_batch_size'], '[unbatched] 2 4 8 16 32 64');
  // The present limit is among them, whatever the load.
  const large = { ...plain, max_batch_size: 100 };
  assert.equal(shown(large, { load: 8 })['max_batch_size'], '[unbatched] 2 4 8 100');
  const [rows] = axesOf(source(large)).axes.filter(({ setting }) => setting === 'max_batch_size');
  assert.equal(rows?.unbatchedRows, 100);
});

test('what cannot be searched is left out, with a reason', () => {
  const reasons = (config: ModelConfigInput): Record<string, string> =>
    Object.fromEntries(
      axesOf(source(config)).left.flatMap(({ settings, why }) => settings.map((setting) => [setting, why])),
    );
  assert.match(reasons({ ...onnx, max_batch_size: 0 })['delay'] ?? '', /no batch dimension/);
  const groups: ModelConfigInput['instance_group'] = [{ kind: 'KIND_CPU' }, { kind: 'KIND_CPU' }];
  assert.match(reasons({ ...onnx, instance_group: groups })['instances'] ?? '', /several instance groups/);
  assert.match(reasons({ ...onnx, backend: 'python' })['threads'] ?? '', /backend python/);
  assert.match(reasons({ ...onnx, backend: 'javascript' })['inline'] ?? '', /JS thread/);
  const gpu: ModelConfigInput['instance_group'] = [{ kind: 'KIND_GPU', count: 1 }];
  assert.match(reasons({ ...onnx, instance_group: gpu })['threads'] ?? '', /GPU/);
  const { dynamic_batching: _, ...sequences } = onnx;
  const direct = { ...sequences, sequence_batching: { direct: {} } };
  assert.match(reasons(direct)['delay'] ?? '', /sequence_batching/);
  assert.equal(shown(direct)['max_batch_size'], '1 2 4 8 16 32 [64]');
});

test('--search limits a setting', () => {
  const limited = (limits: readonly (readonly [SettingName, SearchLimit])[]): Record<string, string> =>
    shown(onnx, { limits: new Map(limits) });
  const found = limited([
    ['instances', { kind: 'range', least: 2, most: 3 }],
    ['max_batch_size', { kind: 'values', values: [8, 24] }],
    ['inline', { kind: 'present' }],
    ['delay', { kind: 'values', values: [0] }],
  ]);
  assert.equal(found['instances'], '[1] 2 3');
  assert.equal(found['max_batch_size'], '8 24 [64]');
  assert.deepEqual([found['inline'], found['delay']], [undefined, undefined]);
});

const space: Space = {
  cores: 4,
  axes: [
    axis('instances', [1, 2, 4], 1),
    axis('threads', ['default', 1, 2, 4], 'default'),
    axis('max_batch_size', [1, 2, 4, 8, 16, 32, 64], 64),
    axis('delay', [0, 500], 0),
    axis('preferred', ['none', 8], 'none'),
  ],
};

test('instances times threads are at most the cores, and a delay needs batches', () => {
  const sensible = (...places: readonly number[]): boolean => isSensible(space, places);
  assert.deepEqual(presentOf(space), [0, 0, 6, 0, 0]);
  assert.equal(sensible(1, 2, 6, 0, 0), true);
  assert.equal(sensible(2, 2, 6, 0, 0), false);
  assert.equal(sensible(2, 1, 6, 0, 0), true);
  assert.equal(sensible(0, 0, 0, 1, 0), false);
  assert.equal(sensible(0, 0, 3, 0, 1), false);
  assert.equal(sensible(0, 0, 4, 1, 1), true);
  // The present configuration may be anything.
  const odd: Space = { cores: 1, axes: [axis('instances', [8], 8), axis('threads', [4], 4)] };
  assert.equal(isSensible(odd, [0, 0]), true);
});

test('the grid varies what matters most, begins with the present configuration, and gets as small as it must', () => {
  const grid = coarseGrid(space, Infinity);
  assert.deepEqual(grid[0], presentOf(space));
  assert.equal(new Set(grid.map(String)).size, grid.length);
  assert.ok(grid.every(([, , , delay, preferred]) => delay === 0 && preferred === 0));
  assert.ok(grid.every((one) => isSensible(space, one)));
  for (const most of [1, 2, 5, 20, 60]) {
    const small = coarseGrid(space, most);
    assert.ok(small.length <= most, `${small.length} of ${most}`);
    assert.deepEqual(small[0], presentOf(space));
  }
  // Both ends of the longest axis stay in a grid of some size.
  const rows = new Set(coarseGrid(space, 40).map(([, , place]) => place));
  assert.ok(rows.has(0) && rows.has(6), [...rows].join());
});

test('neighbours differ by a step of one axis', () => {
  const around = neighboursOf(space, [1, 0, 4, 0, 0]).map(String);
  assert.deepEqual(around, [
    '0,0,4,0,0',
    '2,0,4,0,0',
    '1,1,4,0,0',
    '1,0,3,0,0',
    '1,0,5,0,0',
    '1,0,4,1,0',
    '1,0,4,0,1',
  ]);
});

test('each change can be taken back, and all candidates can be listed', () => {
  assert.deepEqual(takenBack(space, [1, 0, 4, 0, 0]), [
    [0, 0, 4, 0, 0],
    [1, 0, 6, 0, 0],
  ]);
  assert.equal(candidateText(space, [1, 0, 4, 0, 0]), 'instances 2, max_batch_size 16');
  assert.equal(candidateText(space, presentOf(space)), 'the present configuration');
  const all = allOf(space);
  assert.equal(new Set(all.map(String)).size, all.length);
  assert.ok(all.some((one) => String(one) === String(presentOf(space))));
});

function changes(
  written: ModelConfigInput,
  wanted: Partial<Record<SettingName, string | number>>,
): Record<string, unknown> {
  // Completion makes the largest batch preferred.
  const config: ModelConfig = expandConfig({
    ...written,
    ...(written.dynamic_batching && {
      dynamic_batching: { preferred_batch_size: [64], ...written.dynamic_batching },
    }),
  });
  const entries = Object.entries(wanted) as [SettingName, string | number][];
  const of: Space = {
    cores: 4,
    axes: entries.map(([setting, value]) => ({ model: 'm', setting, values: ['unlike', value], present: 0 })),
  };
  const found = changesOf(
    of,
    entries.map(() => 1),
    { config, written },
  );
  return Object.fromEntries(found.map(({ path, value }) => [path, value]));
}

test('a candidate changes fields of the configuration', () => {
  assert.deepEqual(
    changes(onnx, { instances: 2, threads: 1, max_batch_size: 8, delay: 100, preferred: 4, inline: 'off' }),
    {
      'instance_group[0].count': 2,
      'parameters["intra_op_thread_count"].string_value': '1',
      max_batch_size: 8,
      'dynamic_batching.max_queue_delay_microseconds': 100,
      'dynamic_batching.preferred_batch_size': [4],
      'parameters["inline"].string_value': 'off',
    },
  );
  assert.deepEqual(changes({ ...onnx, backend: 'fil' }, { threads: 'default' }), {
    'parameters["cpu_nthread"].string_value': '-1',
  });
  assert.deepEqual(changes(onnx, { preferred: 'none' }), { 'dynamic_batching.preferred_batch_size': [] });
  assert.deepEqual(changes(onnx, { preferred: '4,8' }), { 'dynamic_batching.preferred_batch_size': [4, 8] });
});

test('a model that does not batch gets dynamic_batching with its batch size, and before its fields', () => {
  const { dynamic_batching: _, ...plain } = onnx;
  assert.deepEqual(Object.entries(changes(plain, { max_batch_size: 16, delay: 100 })), [
    ['dynamic_batching', {}],
    ['max_batch_size', 16],
    ['dynamic_batching.max_queue_delay_microseconds', 100],
  ]);
  assert.deepEqual(changes(plain, { instances: 2 }), { 'instance_group[0].count': 2 });
  // What is written stays.
  assert.deepEqual(
    changes({ ...onnx, dynamic_batching: { preserve_ordering: true } }, { max_batch_size: 16 }),
    {
      max_batch_size: 16,
    },
  );
});

test('preferred sizes that no longer fit are left out', () => {
  const written = { ...onnx, dynamic_batching: { preferred_batch_size: [4, 32] } };
  assert.deepEqual(changes(written, { max_batch_size: 16 }), {
    max_batch_size: 16,
    'dynamic_batching.preferred_batch_size': [4],
  });
});
