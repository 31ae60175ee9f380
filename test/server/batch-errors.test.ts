import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { InferenceServer, InferResult, TritonError } from '../../src/index.js';
import { graph } from '../support/onnx/graph.js';
import { addModel, failingModel } from '../support/models.js';
import { floats, onnx, row, serve } from '../support/harness.js';

/** A model value = 10 * index with batches of two. An index of 8 or more makes the run of its batch fail. */
const failing = (instances: number): ReturnType<typeof onnx> =>
  onnx(failingModel(), {
    maxBatchSize: 2,
    inputs: [{ name: 'index', datatype: 'INT64', dims: [1] }],
    outputs: [{ name: 'value', dims: [1] }],
    instances,
  });

/** The outcomes of requests that were sent in one turn: their values, or the codes of their errors. */
async function outcomes(
  server: InferenceServer,
  indices: readonly number[],
): Promise<readonly (number | string)[]> {
  const results = await Promise.allSettled(indices.map((index) => server.infer('m', { index: [[index]] })));
  return results.map((result) =>
    result.status === 'fulfilled'
      ? (floats(result.value, 'value')[0] ?? NaN)
      : (result.reason as TritonError).code,
  );
}

for (const instances of [1, 3]) {
  test(`a run that fails takes no other request with it, with ${instances} instance${instances > 1 ? 's' : ''}`, async (t) => {
    const server = await serve(t, { m: failing(instances), add: onnx() });
    const indices = [0, 1, 2, 99, 4, 5, 98, 97, 7, 6];
    const [values, other] = await Promise.all([outcomes(server, indices), server.infer('add', { x: row() })]);
    const failed = 'INTERNAL';
    assert.deepEqual(values, [0, 10, 20, failed, 40, 50, failed, failed, 70, 60]);
    assert.equal(floats(other)[0], 1);
    assert.deepEqual(await outcomes(server, [3, 2, 1]), [30, 20, 10]);
  });
}

test('an instance whose runs fail again and again goes on', async (t) => {
  const server = await serve(t, { m: failing(1) });
  for (let i = 0; i < 50; i++) {
    const [good, bad] = await Promise.all([outcomes(server, [i % 8, 1]), outcomes(server, [8 + i])]);
    assert.deepEqual([good, bad], [[(i % 8) * 10, 10], ['INTERNAL']]);
  }
});

/** A model y = the first row of x, which claims that it batches, but does not. */
function firstRow(): Uint8Array {
  return graph('first_row')
    .input('x', 'FP32', ['N', 4])
    .initializer('chosen', 'BOOL', [1], [true])
    .node('Compress', ['x', 'chosen'], ['y'], { axis: 0 })
    .output('y', 'FP32', ['N', 4])
    .encode();
}

test('a model that returns other rows than it got fails the batch, naming the output and both numbers', async (t) => {
  const tensors = { inputs: [{ name: 'x', dims: [4] }], outputs: [{ name: 'y', dims: [4] }] };
  const server = await serve(t, { m: onnx(firstRow(), tensors) });
  const send = (): Promise<InferResult> => server.infer('m', { x: [[1, 2, 3, 4]] });
  // A single row is one row, as it should be.
  assert.deepEqual(floats(await send()), [1, 2, 3, 4]);
  for (const result of await Promise.allSettled([send(), send(), send()])) {
    const error = (result as PromiseRejectedResult).reason as TritonError;
    assert.equal(error.code, 'INTERNAL');
    assert.match(error.message, /model 'm': output 'y': expected 3 rows.*returned 1/);
  }
  assert.deepEqual(floats(await send()), [1, 2, 3, 4]);
});

test('an error is of the model that failed, not of one that runs at the same time', async (t) => {
  const server = await serve(t, { m: failing(1), other: onnx(addModel({ addend: 2 })) });
  for (let i = 0; i < 10; i++) {
    const [bad, good] = await Promise.allSettled([
      server.infer('m', { index: [[20]] }),
      server.infer('other', { x: row() }),
    ]);
    assert.equal(bad.status === 'rejected' && (bad.reason as TritonError).model, 'm');
    assert.equal(good.status === 'fulfilled' && floats(good.value)[0], 2);
  }
});
