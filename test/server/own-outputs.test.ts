/** Large outputs come in memory of the engine, or with `ownOutputs` in memory of V8. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { InferenceServer, InferOptions, Tensor } from '../../src/index.js';
import { identity, row, serve, type Context } from '../support/harness.js';

const length = 100_000;
const dims = [length];

function large(t: Context): Promise<InferenceServer> {
  return serve(t, {
    echo: identity({ inputs: [{ name: 'x', dims }], outputs: [{ name: 'y', dims }] }),
  });
}

/** The answer to a row that counts up from `first`. */
async function ask(server: InferenceServer, first: number, options?: InferOptions): Promise<Tensor<'FP32'>> {
  const { outputs } = await server.infer('echo', { x: row(first, length) }, options);
  assert.ok(outputs['y']);
  return outputs['y'].as('FP32');
}

test('with ownOutputs a large output can be transferred', async (t) => {
  const server = await large(t);
  const { data } = await ask(server, 1, { ownOutputs: true });
  const { buffer } = data;
  const moved = structuredClone(buffer, { transfer: [buffer] });
  assert.equal(buffer.byteLength, 0);
  assert.deepEqual(new Float32Array(moved), row(1, length));
});

test('a clone of a large output can be transferred', async (t) => {
  const server = await large(t);
  const { buffer } = (await ask(server, 1)).clone().data;
  const moved = structuredClone(buffer, { transfer: [buffer] });
  assert.deepEqual(new Float32Array(moved), row(1, length));
});

test('large outputs of several requests are memory of their own', async (t) => {
  const server = await large(t);
  for (const ownOutputs of [false, true]) {
    const [first, second] = await Promise.all([1, 2].map((value) => ask(server, value, { ownOutputs })));
    assert.ok(first && second);
    first.data.fill(-1);
    assert.deepEqual(second.data, row(2, length));
  }
});

test('the memory of large outputs is used again, and kept outputs stay intact', async (t) => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const server = await large(t);
  const kept = await ask(server, 7);
  for (let i = 0; i < 60; i++) {
    await ask(server, i);
    if (i % 20 === 0) collect();
  }
  assert.deepEqual(kept.data, row(7, length));
});

test('large outputs outlive their server', async (t) => {
  const server = await large(t);
  const { data } = await ask(server, 3);
  await server.close();
  assert.deepEqual(data, row(3, length));
});
