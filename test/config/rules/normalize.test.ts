import assert from 'node:assert/strict';
import test from 'node:test';
import { normalizeConfig } from '../../../src/config/rules/normalize.js';
import { normalized, whole } from '../helpers.js';

const groups = (text: string, gpuCount = 0): unknown[] =>
  normalized(`name: "m" backend: "onnxruntime" ${text}`, gpuCount).instance_group.map(
    ({ name, kind, count, gpus }) => [name, kind, count, ...gpus],
  );

test('without a version policy the latest version is served', () => {
  assert.deepEqual(normalized('').version_policy, { latest: { num_versions: 1 } });
});

test('a version policy that is written and empty stays, and means all versions', () => {
  assert.deepEqual(normalized('version_policy { }').version_policy, {});
});

for (const [text, expected] of [
  ['max_batch_size: 8 dynamic_batching { }', [8]],
  ['max_batch_size: 8 dynamic_batching { preferred_batch_size: 4 }', [4]],
  ['dynamic_batching { }', []],
] as const) {
  test(`${text} has preferred sizes [${expected.join()}]`, () => {
    assert.deepEqual(normalized(text).dynamic_batching?.preferred_batch_size, expected);
  });
}

test('sequence batching gets preferred sizes and an idle time', () => {
  const { sequence_batching: sequence } = normalized('max_batch_size: 2 sequence_batching { oldest { } }');
  assert.deepEqual(sequence?.oldest?.preferred_batch_size, [2]);
  assert.equal(sequence.max_sequence_idle_microseconds, 1_000_000);
  const kept = normalized('sequence_batching { max_sequence_idle_microseconds: 5 }').sequence_batching;
  assert.equal(kept?.max_sequence_idle_microseconds, 5);
});

test('pinned memory is on unless it is switched off', () => {
  assert.deepEqual(
    normalized('optimization { input_pinned_memory { } priority: PRIORITY_MAX }').optimization,
    {
      priority: 'PRIORITY_MAX',
      gather_kernel_buffer_threshold: 0,
      eager_batching: false,
      input_pinned_memory: { enable: false },
      output_pinned_memory: { enable: true },
    },
  );
});

for (const [text, gpuCount, expected] of [
  ['', 0, [['m', 'KIND_CPU', 1]]],
  ['', 2, [['m', 'KIND_GPU', 1, 0, 1]]],
  ['instance_group { }', 0, [['m_0', 'KIND_CPU', 1]]],
  [
    'instance_group { count: 0 } instance_group { name: "m_0" }',
    0,
    [
      ['m_0', 'KIND_CPU', 1],
      ['m_0', 'KIND_CPU', 1],
    ],
  ],
  ['instance_group { count: 3 kind: KIND_CPU }', 2, [['m_0', 'KIND_CPU', 3]]],
  ['instance_group { gpus: [ 1 ] }', 2, [['m_0', 'KIND_GPU', 1, 1]]],
  ['instance_group { gpus: [ 0, 2 ] }', 2, [['m_0', 'KIND_CPU', 1, 0, 2]]],
  ['instance_group { gpus: [ 0 ] }', 0, [['m_0', 'KIND_CPU', 1, 0]]],
  ['instance_group { kind: KIND_GPU }', 2, [['m_0', 'KIND_GPU', 1, 0, 1]]],
  ['instance_group { kind: KIND_MODEL }', 1, [['m_0', 'KIND_MODEL', 1]]],
] as const) {
  test(`with ${gpuCount} GPUs ${text || 'no instance group'} gives ${JSON.stringify(expected)}`, () => {
    assert.deepEqual(groups(text, gpuCount), expected);
  });
}

test('an ensemble gets neither instances nor optimization', () => {
  const config = normalized('name: "m" platform: "ensemble" ensemble_scheduling { }');
  assert.deepEqual([config.instance_group, config.optimization], [[], undefined]);
});

test('what is normalised stays as it is when it is normalised again', () => {
  const once = normalized('name: "m" max_batch_size: 4 dynamic_batching { } instance_group { count: 2 }', 1);
  assert.deepEqual(normalizeConfig(once, [0]), once);
});

test('GPUs that cannot be used are left out: of all GPUs, and of what KIND_AUTO may mean', () => {
  const usable = [1, 3];
  const kinds = (text: string): readonly unknown[] =>
    normalizeConfig(whole(text), usable).instance_group.map(({ kind, gpus: ids }) => [kind, ...ids]);
  assert.deepEqual(kinds('name: "m" instance_group { kind: KIND_GPU }'), [['KIND_GPU', 1, 3]]);
  assert.deepEqual(kinds('name: "m" instance_group { gpus: 3 }'), [['KIND_GPU', 3]]);
  assert.deepEqual(kinds('name: "m" instance_group { gpus: 2 }'), [['KIND_CPU', 2]]);
});
