/** The models whose best configuration is known by trying all: each has a poor present one. */

import { readFileSync } from 'node:fs';
import { modelRepository } from '../../examples/digits/data.js';
import type { Objective } from '../../src/analyze/search/objective.js';
import type { SearchLimit } from '../../src/analyze/space/axes.js';
import type { SettingName, SettingValue } from '../../src/analyze/space/space.js';
import { addModel, mlpModel } from '../../test/support/models.js';
import { configText, identity, onnx } from '../../test/support/harness.js';
import type { RepositoryModel } from '../../test/support/repository.js';

/** A model, its load, the objective, and the values that are tried. */
export interface KnownModel {
  readonly name: string;
  readonly title: string;
  readonly model: () => RepositoryModel;
  /** Requests at once. */
  readonly levels: readonly number[];
  readonly objective: Objective;
  readonly limits: ReadonlyMap<SettingName, SearchLimit>;
}

function limits(values: Partial<Record<SettingName, readonly SettingValue[]>>): KnownModel['limits'] {
  const all: Record<SettingName, SearchLimit> = {
    instances: { kind: 'present' },
    threads: { kind: 'present' },
    max_batch_size: { kind: 'present' },
    delay: { kind: 'present' },
    preferred: { kind: 'present' },
    inline: { kind: 'present' },
  };
  for (const [setting, list] of Object.entries(values) as [SettingName, readonly SettingValue[]][])
    all[setting] = { kind: 'values', values: list };
  return new Map(Object.entries(all) as [SettingName, SearchLimit][]);
}

/** A model in JavaScript whose batches cost 200 µs, and 10 µs a row. */
const batchCost = `
function spin(us) {
  const end = performance.now() + us / 1000;
  while (performance.now() < end);
}
export default {
  execute(requests) {
    spin(200 + 10 * requests.length);
    return requests.map(({ inputs }) => ({ y: inputs.x }));
  },
};
`;

/** A model in JavaScript that waits, without a core, and whose instances have memory of their own. */
const waiting = (ms: string, mib: number): string => `
export default {
  memory: Buffer.alloc(${mib} * 2 ** 20, 1),
  async execute(requests) {
    await new Promise((resolve) => setTimeout(resolve, ${ms}));
    return requests.map(({ inputs }) => ({ y: inputs.x }));
  },
};
`;

const throughput: Objective = {
  goal: 'throughput',
  latency: 'mean',
  limit: undefined,
  mostMemoryBytes: undefined,
};

/** The models, in the order of the table. */
export const knownModels: readonly KnownModel[] = [
  {
    name: 'add',
    title: 'x + 1 of 16 floats',
    model: () => onnx(addModel(), { maxBatchSize: 4, instances: 2 }),
    levels: [64],
    objective: throughput,
    limits: limits({
      instances: [1, 2],
      threads: ['default', 1],
      max_batch_size: [1, 4, 16, 64],
      inline: ['off', 'auto'],
    }),
  },
  {
    name: 'mlp',
    title: 'perceptron 512-2048-2048-512',
    model: () => onnx(mlpModel(), { ...tensors(512, 512), maxBatchSize: 2 }),
    levels: [64],
    objective: throughput,
    limits: limits({
      instances: [1, 2],
      threads: ['default', 1, 2],
      max_batch_size: [2, 8, 16, 32, 64],
    }),
  },
  {
    name: 'conv',
    title: 'convolutional net of examples/digits',
    model: () => ({
      config: configText({
        maxBatchSize: 2,
        inputs: [{ name: 'image', dims: [64] }],
        outputs: [{ name: 'scores', dims: [10] }],
      }),
      versions: { '1': readFileSync(new URL('digits_conv/1/model.onnx', modelRepository)) },
    }),
    levels: [32],
    objective: throughput,
    limits: limits({
      instances: [1, 2],
      threads: ['default', 1, 2],
      max_batch_size: [1, 2, 4, 8, 16, 32],
    }),
  },
  {
    name: 'javascript',
    title: 'JavaScript, 200 µs a batch and 10 µs a row',
    model: () => ({
      config: configText({ backend: 'javascript', maxBatchSize: 1 }),
      versions: { '1': { 'model.js': batchCost } },
    }),
    levels: [32],
    objective: throughput,
    limits: limits({
      instances: [1, 2, 3],
      max_batch_size: [1, 2, 4, 8, 16, 32],
      delay: [0, 500],
    }),
  },
  {
    name: 'waiting',
    title: '4 ms a batch, without a core',
    model: () => identity({ delayMs: 4, maxBatchSize: 2 }),
    levels: [32],
    objective: throughput,
    limits: limits({ instances: [1, 2, 4, 8], max_batch_size: [1, 2, 4, 8, 16, 32] }),
  },
  {
    // One batch of all callers is too late; small ones of one instance wait for each other.
    name: 'late',
    title: '2 ms a batch and 1 ms a row, without a core',
    model: () => ({
      config: configText({ backend: 'javascript', maxBatchSize: 16 }),
      versions: { '1': { 'model.js': waiting('2 + requests.length', 0) } },
    }),
    levels: [4, 8, 16],
    objective: { ...throughput, limit: { latency: 'p99', ms: 15 } },
    limits: limits({ instances: [1, 2], max_batch_size: [1, 2, 4, 8, 16] }),
  },
  {
    // One instance is enough, if its batches have all callers.
    name: 'large',
    title: '10 ms a batch, without a core; 24 MiB an instance',
    model: () => ({
      config: configText({ backend: 'javascript', maxBatchSize: 2, instances: 4 }),
      versions: { '1': { 'model.js': waiting('10', 24) } },
    }),
    levels: [4],
    objective: { ...throughput, goal: 'memory' },
    limits: limits({ instances: [1, 2, 4], max_batch_size: [1, 2, 4] }),
  },
];

function tensors(
  input: number,
  output: number,
): Pick<NonNullable<Parameters<typeof configText>[0]>, 'inputs' | 'outputs'> {
  return { inputs: [{ name: 'x', dims: [input] }], outputs: [{ name: 'y', dims: [output] }] };
}
