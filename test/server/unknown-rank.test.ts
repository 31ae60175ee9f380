import assert from 'node:assert/strict';
import { test } from 'node:test';
import { graph } from '../support/onnx/graph.js';
import { configText, rejection, row, serve } from '../support/harness.js';

/**
 * A model y = -x for x of any shape, and rank = the rank of x. The file gives the rank of neither x nor y.
 */
function anyRankModel(): Uint8Array {
  return graph('any_rank')
    .input('x', 'FP32')
    .node('Neg', ['x'], ['y'])
    .node('Shape', ['x'], ['shape'])
    .node('Size', ['shape'], ['rank'])
    .output('y', 'FP32')
    .output('rank', 'INT64', [])
    .encode();
}

/** A configuration without batching, with these dims for x and y. */
const flat = (dims: string): string => `max_batch_size: 0
  input [ { name: "x" data_type: TYPE_FP32 ${dims} } ]
  output [ { name: "y" data_type: TYPE_FP32 ${dims} }, { name: "rank" data_type: TYPE_INT64 dims: [ 1 ] } ]`;

test('a model that leaves a rank open needs a configuration, and the message says what to write', async (t) => {
  const error = await rejection(serve(t, { m: { versions: { '1': anyRankModel() } } }));
  assert.deepEqual([error.code, error.model], ['INVALID_ARG', 'm']);
  assert.match(
    error.message,
    /input\[0\]: cannot be completed: .* how many dimensions its input "x" has\. Write all inputs/,
  );
  assert.match(error.message, /output\[0\]: cannot be completed: .* its output "y" has\./);
  const text = configText().replace(/output.*/, '');
  const half = await rejection(serve(t, { m: { config: text, versions: { '1': anyRankModel() } } }));
  assert.match(half.message, /config\.pbtxt.*: output\[0\]: cannot be completed/);
});

test('with written dims it is served: of one, of several, and batched', async (t) => {
  const versions = { '1': anyRankModel() };
  const y = { name: 'y', dims: [2, 2] };
  const server = await serve(t, {
    one: { config: flat('dims: [ 1 ]'), versions },
    scalar: { config: flat('dims: [ 1 ] reshape { shape: [ ] }'), versions },
    three: { config: flat('dims: [ 2, -1, 2 ]'), versions },
    batched: { config: configText({ inputs: [{ name: 'x', dims: [2, 2] }], outputs: [y] }), versions },
  });
  for (const [model, x, shape, rank] of [
    // [1] is not a scalar, unless the configuration has a reshape to one.
    ['one', { data: [4], shape: [1] }, [1], 1n],
    ['scalar', { data: [4], shape: [1] }, [1], 0n],
    ['three', { data: row(0, 12), shape: [2, 3, 2] }, [2, 3, 2], 3n],
    ['batched', { data: row(0, 12), shape: [3, 2, 2] }, [3, 2, 2], undefined],
  ] as const) {
    const { outputs } = await server.infer(model, { x });
    assert.deepEqual(outputs['y']?.shape, shape, model);
    if (rank !== undefined) assert.deepEqual(outputs['rank']?.toArray(), [rank], model);
  }
});

test('a model whose tensors have no dimensions is completed as before', async (t) => {
  const scalar = graph('scalar')
    .input('x', 'FP32', [])
    .node('Neg', ['x'], ['y'])
    .output('y', 'FP32', [])
    .encode();
  const server = await serve(t, { m: { versions: { '1': scalar } } });
  assert.deepEqual(server.model('m').config.input[0]?.dims, [1]);
});
