/** What a model keeps is its own: callers may do with their arrays what they like. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { floats, rejection, serve } from '../../support/harness.js';
import { needsTensorFlow, recordedModel, tensorflow } from './models.js';

/** A matrix of 1 MB: its array is passed on without a copy. */
const rows = 256;
const columns = 1024;

const matrix = (value: number): Float32Array<ArrayBuffer> => new Float32Array(rows * columns).fill(value);

async function stateful(instances: number, share: number): Promise<ReturnType<typeof tensorflow>> {
  return tensorflow(recordedModel('state'), {
    ...{ maxBatchSize: 0, instances, parameters: { MAX_SESSION_SHARE_COUNT: share } },
    inputs: [{ name: 'x', dims: [-1, -1] }],
    outputs: [
      { name: 'before', dims: [-1, -1] },
      { name: 'after', dims: [-1, -1] },
    ],
  });
}

test(
  "a variable keeps the value of an input, whatever becomes of the caller's array",
  needsTensorFlow,
  async (t) => {
    const server = await serve(t, { m: await stateful(1, 1) });
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void;
    const shape = [rows, columns];
    await server.infer('m', { x: { data: matrix(0), shape } });
    for (let round = 1; round <= 8; round++) {
      const data = matrix(round);
      await server.infer('m', { x: { data, shape } });
      if (round % 2 === 0) data.fill(-1);
      else structuredClone(data, { transfer: [data.buffer] });
      collect();
      // What memory is free is used again.
      const others = Array.from({ length: 8 }, () => matrix(-2));
      const { outputs } = await server.infer('m', { x: { data: matrix(0), shape } });
      const before = outputs['before']?.as('FP32').data ?? new Float32Array();
      assert.equal(before.length, others[0]?.length);
      assert.ok(
        before.every((value) => value === round),
        `round ${round}: ${before[0]}`,
      );
    }
  },
);

test('a returned array is no part of the model', needsTensorFlow, async (t) => {
  const server = await serve(t, {
    m: await tensorflow(recordedModel('same'), {
      ...{ maxBatchSize: 0, inputs: [{ name: 'x', dims: [-1, 4] }] },
      outputs: [
        { name: 'same', dims: [-1, 4] },
        { name: 'weight', dims: [1, 4] },
        { name: 'constant', dims: [1, 32_768] },
      ],
    }),
    state: await stateful(1, 1),
  });
  const x = new Float32Array(4 * 65_536).fill(5);
  for (let round = 0; round < 4; round++) {
    const result = await server.infer('m', { x: { data: x, shape: [65_536, 4] } });
    assert.deepEqual(floats(result, 'weight'), [0, 1, 2, 3]);
    const constant = floats(result, 'constant');
    assert.equal(constant.length, 32_768);
    assert.ok(constant.every((value, i) => value === i % 7));
    assert.equal(floats(result, 'same')[3], 5);
    for (const tensor of Object.values(result.outputs)) tensor.as('FP32').data.fill(-9);
    assert.equal(x[0], 5, "the caller's own array");
  }
  const shape = [rows, columns];
  await server.infer('state', { x: { data: matrix(3), shape } });
  const first = await server.infer('state', { x: { data: matrix(4), shape } });
  for (const tensor of Object.values(first.outputs)) tensor.as('FP32').data.fill(-9);
  const second = await server.infer('state', { x: { data: matrix(6), shape } });
  assert.equal(floats(second, 'before')[7], 4);
  assert.equal(floats(second, 'after')[7], 6);
});

test('instances share the state of a session as MAX_SESSION_SHARE_COUNT says', needsTensorFlow, async (t) => {
  const server = await serve(t, { shared: await stateful(2, 2), own: await stateful(2, 1) });
  const ask = async (name: string, value: number): Promise<number | undefined> =>
    floats(await server.infer(name, { x: { data: [value], shape: [1, 1] } }), 'before')[0];
  for (let round = 1; round < 20; round++) {
    const before = await ask('shared', round);
    assert.equal(before, round === 1 ? 0 : round - 1);
  }
  // Requests that overlap run on both instances, each with its own variable.
  const zeros = new Set<number>();
  for (let round = 0; round < 50 && zeros.size < 2; round++) {
    const many = await Promise.all([ask('own', 1), ask('own', 2), ask('own', 1), ask('own', 2)]);
    many.forEach((value, i) => {
      if (value === 0) zeros.add(round * 4 + i);
    });
  }
  assert.equal(zeros.size, 2);
});

test(
  'a request with values that the model refuses is an error, and the next one is answered',
  needsTensorFlow,
  async (t) => {
    const server = await serve(t, { m: await tensorflow(recordedModel('perceptron')) });
    const error = await rejection(server.infer('m', { x: { data: new Float32Array(5), shape: [1, 5] } }));
    assert.equal(error.code, 'INVALID_ARG');
    assert.equal(floats(await server.infer('m', { x: new Float32Array(4) })).length, 3);
  },
);
