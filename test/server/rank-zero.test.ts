import assert from 'node:assert/strict';
import { test } from 'node:test';
import { graph } from '../support/onnx/graph.js';
import type { RepositoryModel } from '../support/repository.js';
import { addModel, identityModel } from '../support/models.js';
import { configText, floats, identity, onnx, rejection, serve } from '../support/harness.js';

/** A model y = x + 1 of rank 0, and count = the rank of x. */
function scalarModel(): Uint8Array {
  return graph('scalar')
    .input('x', 'FP32', [])
    .initializer('one', 'FP32', [], [1])
    .node('Add', ['x', 'one'], ['y'])
    .node('Shape', ['x'], ['shape'])
    .node('Size', ['shape'], ['rank'])
    .output('y', 'FP32', [])
    .output('rank', 'INT64', [])
    .encode();
}

const tensors = (more: string): string => `
input [ { name: "x" data_type: TYPE_FP32 dims: [ 1 ] ${more} } ]
output [ { name: "y" data_type: TYPE_FP32 dims: [ 1 ] ${more} }, { name: "rank" data_type: TYPE_INT64 dims: [ 1 ] ${more} } ]`;

const configs = {
  'as Triton wants it': tensors(''),
  'as completion writes it': undefined,
  'with an empty reshape': tensors('reshape { }'),
};

for (const [how, config] of Object.entries(configs)) {
  test(`a tensor without dims is [1] to its caller, configured ${how}`, async (t) => {
    const model: RepositoryModel = {
      versions: { '1': scalarModel() },
      ...(config === undefined ? {} : { config }),
    };
    const server = await serve(t, { m: model });
    assert.deepEqual(server.model('m').metadata.inputs[0]?.shape, [1]);
    for (const x of [Float32Array.of(4), [4], { data: [4], shape: [1] }]) {
      const { outputs } = await server.infer('m', { x });
      assert.deepEqual(outputs['y']?.shape, [1]);
      assert.deepEqual(floats({ outputs }), [5]);
      assert.deepEqual(outputs['rank']?.toArray(), [0n]);
    }
    for (const shape of [[], [1, 1]]) {
      const error = await rejection(server.infer('m', { x: { data: [4], shape } }));
      assert.equal(error.code, 'INVALID_ARG');
      assert.match(error.message, /expected FP32 of shape \[1\]/);
    }
  });
}

test('several dims of 1 may stand for no dims', async (t) => {
  const wide = 'dims: [ 1, 1 ] reshape { }';
  const config = `input [ { name: "x" data_type: TYPE_FP32 ${wide} } ] output [ { name: "y" data_type: TYPE_FP32 ${wide} } ]`;
  const server = await serve(t, { m: { config, versions: { '1': scalarModel() } } });
  const { outputs } = await server.infer('m', { x: [[4]] });
  assert.deepEqual(outputs['y']?.toArray(), [[5]]);
});

test('a model of one number an item batches, with an empty reshape that completion writes', async (t) => {
  const server = await serve(t, { m: { versions: { '1': identityModel('INT64', ['N']) } } });
  const model = server.model('m');
  assert.deepEqual(model.config.input[0]?.dims, [1]);
  assert.deepEqual(model.config.input[0].reshape, { shape: [] });
  assert.deepEqual(model.metadata.inputs[0]?.shape, [-1, 1]);
  const results = await Promise.all([[[1]], [[2], [3]], [[4]]].map((x) => model.infer({ x })));
  assert.deepEqual(
    results.map(({ outputs }) => outputs['y']?.toArray()),
    [[[1n]], [[2n], [3n]], [[4n]]],
  );
  assert.equal(results[0]?.timings.batchSize, 4);
});

test('strings without dims go through', async (t) => {
  const server = await serve(t, { m: { versions: { '1': identityModel('BYTES', []) } } });
  const { outputs } = await server.infer('m', { x: 'a\0é' });
  assert.deepEqual(outputs['y']?.shape, [1]);
  assert.deepEqual(outputs['y'].as('BYTES').strings(), ['a\0é']);
});

const zeros = { inputs: [{ name: 'x', dims: [-1, 2] }], outputs: [{ name: 'y', dims: [-1, 2] }] };

for (const [backend, model] of Object.entries({
  identity: identity(zeros),
  onnxruntime: onnx(identityModel('FP32', ['N', 'T', 2]), zeros),
})) {
  test(`a variable dim may be 0, first request or not, with ${backend}`, async (t) => {
    const server = await serve(t, { m: model });
    for (const batch of [1, 3]) {
      const x = { data: new Float32Array(0), shape: [batch, 0, 2] };
      const [empty, full, again] = await Promise.all([
        server.infer('m', { x }),
        server.infer('m', { x: [[[1, 2]]] }),
        server.infer('m', { x }),
      ]);
      assert.deepEqual(empty.outputs['y']?.shape, [batch, 0, 2]);
      assert.equal(empty.outputs['y'].data.length, 0);
      assert.deepEqual(full.outputs['y']?.toArray(), [[[1, 2]]]);
      assert.deepEqual(again.outputs['y']?.shape, [batch, 0, 2]);
    }
  });
}

test('a batch of 0 is refused, and so is 0 for a dim that is fixed', async (t) => {
  const server = await serve(t, {
    fixed: onnx(),
    variable: identity(zeros),
    unbatched: onnx(addModel({ batch: false }), { maxBatchSize: 0, batching: false }),
  });
  const refusals: readonly (readonly [model: string, shape: readonly number[], message: RegExp])[] = [
    ['fixed', [0, 16], /a batch of 0/],
    ['variable', [0, 3, 2], /a batch of 0/],
    ['variable', [1, 3, 0], /shape \[1,3,0\]/],
    ['unbatched', [0], /shape \[0\]/],
  ];
  for (const [model, shape, message] of refusals) {
    const error = await rejection(server.infer(model, { x: { data: new Float32Array(0), shape } }));
    assert.equal(error.code, 'INVALID_ARG');
    assert.match(error.message, message);
  }
  const error = await rejection(server.infer('fixed', { x: new Float32Array(0) }));
  assert.match(error.message, /a batch of 0/);
});

test('dims of a configuration are not 0', async (t) => {
  const config = configText({ inputs: [{ name: 'x', dims: [0] }] });
  const error = await rejection(serve(t, { m: { config, versions: { '1': addModel() } } }));
  assert.equal(error.code, 'INVALID_ARG');
  assert.equal(error.location?.field, 'input[0].dims');
});
