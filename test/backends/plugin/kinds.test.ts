/** Kinds of models of plug-ins: decoupled ones, with implicit state, with batching of their own. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { InferenceServer } from '../../../src/index.js';
import { rejection } from '../../support/harness.js';
import { pluginModel, serving, skip } from './own-plugins.js';

const one = { datatype: 'INT32', dims: [1] } as const;
const decoupled = {
  maxBatchSize: 0,
  batching: false,
  inputs: [{ name: 'x', ...one }],
  outputs: [{ name: 'y', ...one }],
  more: 'model_transaction_policy { decoupled: true }',
} as const;

async function streamed(server: InferenceServer, name: string, count: number): Promise<number[]> {
  const seen: number[] = [];
  for await (const { outputs } of server.model(name).stream({ x: Int32Array.of(count) }))
    seen.push(Number(outputs['y']?.data[0]));
  return seen;
}

test('responses come from a thread of the plug-in, after the request is released', { skip }, async (t) => {
  const server = await serving(t, {
    alone: pluginModel('decoupled', decoupled),
    together: pluginModel('decoupled', { ...decoupled, parameters: { final: 'with' } }),
  });
  for (const name of ['alone', 'together']) {
    const counts = [0, 1, 2, 100, 5];
    const seen = await Promise.all(counts.map((count) => streamed(server, name, count)));
    assert.deepEqual(
      seen,
      counts.map((count) => Array.from({ length: count }, (_, k) => k)),
      name,
    );
  }
});

test('a plug-in learns that a caller has left, and its model unloads', { skip }, async (t) => {
  const server = await serving(
    t,
    { slow: pluginModel('decoupled', { ...decoupled, parameters: { pause_ms: 1 } }) },
    { modelControlMode: 'explicit', loadModels: ['slow'] },
  );
  for await (const { outputs } of server.model('slow').stream({ x: Int32Array.of(2 ** 30) }))
    if (Number(outputs['y']?.data[0]) === 3) break;
  // Its last model would else wait for a thread that sends for days.
  await server.unloadModel('slow');
});

test('a request with a wrong tensor is refused before the plug-in', { skip }, async (t) => {
  const server = await serving(t, { alone: pluginModel('decoupled', decoupled) });
  const error = await rejection(
    (async () => {
      for await (const result of server.model('alone').stream({ x: Float32Array.of(1) })) void result;
    })(),
  );
  assert.equal(error.code, 'INVALID_ARG');
});

/** A model that adds to the state of its sequence. */
const sums = (more = ''): ReturnType<typeof pluginModel> =>
  pluginModel('stateful', {
    batching: false,
    inputs: [{ name: 'x', ...one }],
    outputs: [
      { name: 'y', ...one },
      { name: 'told', datatype: 'BYTES', dims: [1] },
    ],
    more: `sequence_batching { direct { } ${more} state [ { input_name: "sum_in" output_name: "sum_out" data_type: TYPE_INT32
      dims: [ 1 ] initial_state { name: "zero" data_type: TYPE_INT32 dims: [ 1 ] zero_data: true } } ] }`,
    instances: 1,
  });

// The second sequence has slot 1. Where the first one has no request, slot 0 is a null row, which wants no output.
test('a sequence has its state, which a plug-in reads and replaces', { skip }, async (t) => {
  const server = await serving(t, { sums: sums() });
  const add = async (
    id: bigint | string,
    x: number,
    flags: { start?: boolean; end?: boolean } = {},
  ): Promise<[number, string | undefined]> => {
    const { outputs } = await server.infer('sums', { x: [[x]] }, { sequence: { id, ...flags } });
    return [Number(outputs['y']?.data[0]), outputs['told']?.strings()[0]];
  };
  assert.deepEqual(await add(7n, 1, { start: true }), [1, '7 1 of 1: y told']);
  assert.deepEqual(await add('name', 10, { start: true }), [10, "'name' 1 of 2: y told"]);
  assert.deepEqual(await add(7n, 2), [3, '7 0 of 1: y told']);
  // This one does not replace its state.
  assert.deepEqual(await add(7n, -1), [2, '7 0 of 1: y told']);
  assert.deepEqual(await add('name', 5), [15, "'name' 0 of 2: y told"]);
  assert.deepEqual(await add(7n, 4, { end: true }), [7, '7 2 of 1: y told']);
  assert.deepEqual(await add('name', 1, { end: true }), [16, "'name' 2 of 2: y told"]);
});

// The plug-in counts one up in each run, until the sum is a multiple of 5.
test('a request that is run again finds the state that its last run has left', { skip }, async (t) => {
  const server = await serving(t, { sums: sums('iterative_sequence: true') });
  const add = async (
    id: bigint,
    x: number,
    flags: { start?: boolean; end?: boolean } = {},
  ): Promise<number> => {
    const { outputs } = await server.infer(
      'sums',
      { x: [[x]] },
      { sequence: { id, ...flags }, timeoutMs: 5000 },
    );
    return Number(outputs['y']?.data[0]);
  };
  assert.deepEqual(await Promise.all([add(7n, 2, { start: true }), add(8n, 6, { start: true })]), [2, 6]);
  assert.deepEqual(await Promise.all([add(7n, 1000), add(8n, 1000)]), [5, 10]);
  assert.deepEqual(await Promise.all([add(7n, 1), add(8n, -1)]), [6, 9]);
  // A state that cannot be kept fails the request, which would be run again with one that is too old.
  await assert.rejects(add(7n, 1001), { code: 'INTERNAL', message: /output 'sum_out'.*8 bytes/ });
  assert.deepEqual(await Promise.all([add(7n, 1000, { end: true }), add(8n, 1, { end: true })]), [10, 11]);
});

test('a plug-in decides which requests run together', { skip }, async (t) => {
  const dims = [-1];
  const options = {
    maxBatchSize: 64,
    inputs: [{ name: 'x', dims: [1] }],
    outputs: [
      { name: 'y', dims: [1] },
      { name: 'size', datatype: 'INT32', dims: [1] },
    ],
  } as const;
  const alone = {
    ...options,
    inputs: [{ name: 'x', dims }],
    outputs: [{ name: 'y', dims }, options.outputs[1]],
  };
  const server = await serving(t, {
    // Three requests of 4 bytes. The delay lets them come together.
    three: pluginModel('batcher', {
      ...options,
      batching: 'max_queue_delay_microseconds: 100000',
      parameters: { most_bytes: 12 },
    }),
    // Not even one request fits, and it runs all the same.
    none: pluginModel('batcher', { ...options, parameters: { most_bytes: 1 } }),
    single: pluginModel('batcher', { ...alone, batching: false, parameters: { most_bytes: 400 } }),
  });
  const sizes = async (name: string, count: number): Promise<number[]> => {
    const answers = await Promise.all(
      Array.from({ length: count }, (_, k) => server.infer(name, { x: [[k]] })),
    );
    for (const [k, { outputs }] of answers.entries()) assert.deepEqual([...(outputs['y']?.data ?? [])], [k]);
    return answers.map(({ outputs }) => Number(outputs['size']?.data[0]));
  };
  assert.deepEqual(await sizes('three', 9), Array<number>(9).fill(3));
  assert.ok(server.model('three').explain().closedBy.custom >= 2);
  assert.deepEqual(await sizes('none', 5), Array<number>(5).fill(1));
  assert.deepEqual(await sizes('single', 5), Array<number>(5).fill(1));
});
