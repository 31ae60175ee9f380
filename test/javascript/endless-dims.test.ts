/** Work is bounded by elements, never by dims: a short shape may have 2^31 - 1 rows without any element. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createServer, type InferenceServer, type Inputs, type ModelConfigInput } from '../../src/index.js';
import { addressOf, connected, protocols } from '../client/harness.js';
import { script as python, serving as servingPython, skip } from '../python/harness.js';
import { rejection, serve, type ConfigOptions, type Context } from '../support/harness.js';
import { executing, script } from './harness.js';

const most = 2 ** 31 - 1;
const shapes = [
  [1, most, 0],
  [1, 0, most],
  [1, most, 1, 0],
  [1, 0, most, 1],
];
const x = (shape: readonly number[]): Inputs => ({ x: { data: new Float32Array(0), shape } });
const tensors = (rank: number): ConfigOptions => {
  const dims = Array.from({ length: rank - 1 }, () => -1);
  return { inputs: [{ name: 'x', dims }], outputs: [{ name: 'y', dims }], maxBatchSize: 1 };
};
const ways = ['toArray()', 'rows()', 'topK(1)', 'toJSON()', 'clone()', 'toFloat32()'];

/** Models of each rank that read their input in one way, and return it. */
async function serving(t: Context): Promise<InferenceServer> {
  const models = [3, 4].flatMap((rank) =>
    ways.map((way, i) => {
      const body = `return requests.map(({ inputs }) => { inputs.x.${way}; return { y: inputs.x }; });`;
      return [`m${rank}_${i}`, script(executing(body), tensors(rank))] as const;
    }),
  );
  return serve(t, Object.fromEntries(models));
}

/** Checks that a request is answered, or refused with a message about its dims. */
async function settles(asked: () => unknown, what: string): Promise<void> {
  try {
    await asked();
  } catch (error) {
    assert.match(String(error), /empty arrays|rows without elements/, what);
  }
}

test('no way to look at an input makes an array for each dim', async (t) => {
  const server = await serving(t);
  for (const shape of shapes) {
    for (const [i, way] of ways.entries()) {
      await settles(() => server.infer(`m${shape.length}_${i}`, x(shape)), `${way} of ${String(shape)}`);
    }
  }
  const { message } = await rejection(server.infer('m3_0', x([1, most, 0])));
  assert.match(message, /shape \[1,2147483647,0\] is 2147483647 empty arrays, and at most 65536 are made/);
  const { outputs } = await server.infer('m3_0', x([1, 2, 0]));
  assert.deepEqual(outputs['y']?.toArray(), [[[], []]]);
});

for (const protocol of protocols) {
  test(`over ${protocol}, and as classes, nothing grows with the dims`, async (t) => {
    const own = await serving(t);
    const url = await addressOf(t, protocol, own);
    const remote = await connected(t, url);
    for (const shape of shapes) {
      const what = String(shape);
      const model = `m${shape.length}_3`;
      await settles(() => remote.infer(`m${shape.length}_0`, x(shape)), what);
      const { outputs } = await remote.infer(model, x(shape));
      assert.deepEqual(outputs['y']?.shape, shape);
      await settles(() => outputs['y']?.toArray(), what);
      const classes = { outputs: [{ name: 'y', classification: 2 }] };
      await settles(() => remote.infer(model, x(shape), classes), what);
      if (protocol !== 'http') continue;
      const inputs = [{ name: 'x', datatype: 'FP32', shape, data: [] }];
      const answer = await fetch(`${url}/v2/models/${model}/infer`, {
        method: 'POST',
        body: JSON.stringify({ inputs }),
      });
      assert.equal(answer.status, 200, what);
      const said = (await answer.json()) as { readonly outputs: readonly unknown[] };
      assert.deepEqual(said.outputs, [{ name: 'y', datatype: 'FP32', shape, data: [] }]);
    }
  });
}

test('a model of the program that is warmed up with such a sample has no more work', async () => {
  const config: ModelConfigInput = {
    max_batch_size: 0,
    input: [{ name: 'x', data_type: 'TYPE_FP32', dims: [-1, -1] }],
    output: [{ name: 'y', data_type: 'TYPE_FP32', dims: [-1, -1] }],
    model_warmup: [
      {
        name: 'none',
        batch_size: 1,
        inputs: { x: { data_type: 'TYPE_FP32', dims: [most, 0], zero_data: true } },
      },
    ],
  };
  await assert.rejects(
    createServer({
      models: {
        m: {
          config,
          execute: (requests) => requests.map(({ inputs }) => ({ y: inputs['x']?.rows() ?? [] })),
        },
      },
    }),
    /'none'.* rows without elements/,
  );
});

test('a Python model sees such a shape as an array of no bytes', { skip }, async (t) => {
  const body = `def execute(self, requests):
    return [answer(array(request)) for request in requests]`;
  const server = await servingPython(t, { m: python(body, tensors(3)) });
  const { outputs } = await server.infer('m', x([1, most, 0]));
  assert.deepEqual(outputs['y']?.shape, [1, most, 0]);
});
