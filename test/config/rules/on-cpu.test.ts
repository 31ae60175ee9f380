import assert from 'node:assert/strict';
import test from 'node:test';
import { placeOnCpu } from '../../../src/config/rules/on-cpu.js';
import { whole } from '../helpers.js';

function placed(text: string): { groups: unknown[]; notes: readonly string[] } {
  const { config, notes } = placeOnCpu(whole(text));
  return { groups: config.instance_group.map(({ kind, count, gpus }) => [kind, count, ...gpus]), notes };
}

const kind = (index: number): string =>
  `instance_group[${index}].kind: KIND_GPU means the CPU, as instanceKind: 'cpu' says`;

test('each group of GPU instances becomes one on the CPU with the count of one GPU', () => {
  assert.deepEqual(
    placed('instance_group { kind: KIND_CPU } instance_group { kind: KIND_GPU count: 3 gpus: [ 0, 1 ] }'),
    {
      groups: [
        ['KIND_CPU', 0],
        ['KIND_CPU', 3],
      ],
      notes: [kind(1), "instance_group[1].gpus: left out, as instanceKind: 'cpu' says"],
    },
  );
});

test('KIND_AUTO means the CPU, which is noted only where it lists GPUs', () => {
  assert.deepEqual(placed('instance_group { count: 2 } instance_group { gpus: 0 }'), {
    groups: [
      ['KIND_CPU', 2],
      ['KIND_CPU', 0],
    ],
    notes: ["instance_group[1].gpus: left out, as instanceKind: 'cpu' says"],
  });
});

test('a mistake stays a mistake: KIND_CPU with GPUs', () => {
  assert.deepEqual(placed('instance_group { kind: KIND_CPU gpus: 0 }'), {
    groups: [['KIND_CPU', 0, 0]],
    notes: [],
  });
});

test('accelerators of GPU instances are left out, those of CPU instances stay', () => {
  const { config, notes } = placeOnCpu(
    whole(
      'optimization { graph { level: 1 } execution_accelerators { gpu_execution_accelerator { name: "tensorrt" } ' +
        'cpu_execution_accelerator { name: "openvino" } } }',
    ),
  );
  assert.deepEqual(notes, [
    "optimization.execution_accelerators.gpu_execution_accelerator: left out, as instanceKind: 'cpu' says",
  ]);
  assert.equal(config.optimization?.graph?.level, 1);
  const written = config.optimization.execution_accelerators;
  assert.deepEqual(written?.gpu_execution_accelerator, []);
  assert.deepEqual(
    written.cpu_execution_accelerator.map(({ name }) => name),
    ['openvino'],
  );
});

test('a configuration without GPUs stays as it is', () => {
  const config = whole(
    'backend: "onnxruntime" optimization { graph { level: 1 } } instance_group { kind: KIND_CPU }',
  );
  assert.deepEqual(placeOnCpu(config), { config, notes: [] });
});
