/** Tensors of more than 4 GiB are refused before their bytes are touched, so these tests need little memory. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { executing, script } from '../javascript/harness.js';
import { rejection, serve } from '../support/harness.js';

const limit = 4294967296;
const beyond = limit / 8 + 1;
const dims = [-1];
const tensors = {
  inputs: [{ name: 'x', datatype: 'FP64', dims }],
  outputs: [{ name: 'y', datatype: 'FP64', dims }],
  maxBatchSize: 0,
} as const;

test('an input of more than 4 GiB is refused, and its instance goes on', async (t) => {
  const body =
    'return requests.map(({ inputs }) => ({ y: { data: new Float64Array([inputs.x.data.length]), shape: [1] } }));';
  const calling = `export default class {
    initialize({ server }) { this.model = server.model('m'); }
    async execute() {
      await this.model.infer({ x: { data: new Float64Array(${beyond}), shape: [${beyond}] } });
    }
  };`;
  const server = await serve(
    t,
    { m: script(executing(body), tensors), caller: script(calling, tensors) },
    { maxInFlightBytes: 2 ** 36 },
  );
  const x = { data: new Float64Array(beyond), shape: [beyond] };
  const words = `model 'm', input 'x': expected at most ${limit} bytes (4 GiB), but got ${limit + 8}`;
  const error = await rejection(server.infer('m', { x }));
  assert.deepEqual([error.code, error.message], ['INVALID_ARG', words]);
  const called = await rejection(server.infer('caller', { x: new Float64Array(1) }));
  assert.ok(called.message.includes(words), called.message);
  const { outputs } = await server.infer('m', { x: new Float64Array(3) });
  assert.deepEqual([...(outputs['y']?.as('FP64').data ?? [])], [3]);
});

test('an output of more than 4 GiB is the error of its request', async (t) => {
  const body = `return requests.map(({ inputs }) => {
    const n = inputs.x.data[0];
    return { y: { data: new Float64Array(n), shape: [n] } };
  });`;
  const server = await serve(t, { m: script(executing(body), tensors) }, { maxInFlightBytes: 2 ** 36 });
  const error = await rejection(server.infer('m', { x: new Float64Array([beyond]) }));
  assert.equal(error.code, 'INTERNAL');
  assert.equal(
    error.message,
    `model 'm', output 'y': expected at most ${limit} bytes (4 GiB), but got ${limit + 8}`,
  );
  const { outputs } = await server.infer('m', { x: new Float64Array([3]) });
  assert.equal(outputs['y']?.as('FP64').data.length, 3);
});
