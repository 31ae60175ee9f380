/** Steps with a reshape: between models a tensor has the dims that callers see. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { InferenceServer } from '../../src/index.js';
import { streamingModule } from '../javascript/decoupled.js';
import { executing } from '../javascript/harness.js';
import { readAll } from '../streams/harness.js';
import { chain, ensemble, floats, onnx, rejection, serve } from '../support/harness.js';
import type { RepositoryModel } from '../support/repository.js';
import { graph } from '../support/onnx/graph.js';

/** y = x with the last two of three dims exchanged. */
const transpose = graph('transposing')
  .input('x', 'FP32', ['N', 'rows', 'columns'])
  .node('Transpose', ['x'], ['y'], { perm: [0, 2, 1] })
  .output('y', 'FP32', ['N', 'columns', 'rows'])
  .encode();

/** The transposing model with these fields for x and y. */
function transposing(input: string, output: string, more = 'max_batch_size: 8'): RepositoryModel {
  const config = `${more} dynamic_batching { }
input [ { name: "x" data_type: TYPE_FP32 ${input} } ]
output [ { name: "y" data_type: TYPE_FP32 ${output} } ]`;
  return onnxText(config);
}

function onnxText(config: string): RepositoryModel {
  return { config, versions: { '1': transpose } };
}

/** `rows` times `columns` values, exchanged by hand. */
function exchanged(values: readonly number[], rows: number, columns: number): number[] {
  return Array.from({ length: rows * columns }, (_, i) => {
    const [column, row] = [Math.floor(i / rows), i % rows];
    return values[row * columns + column] ?? Number.NaN;
  });
}

const six = (first: number): number[] => Array.from({ length: 6 }, (_, i) => first + i);
const inner = (shape: string): string => `reshape { shape: [ ${shape} ] }`;

/** Dims [2,1,n] for callers and [2,n] for the model, and back to [n,1,1,2]. */
const there = transposing(
  `dims: [ 2, 1, -1 ] ${inner('2, -1')}`,
  `dims: [ -1, 1, 1, -1 ] ${inner('-1, -1')}`,
);
const back = transposing(`dims: [ -1, 1, 1, -1 ] ${inner('-1, -1')}`, 'dims: [ -1, -1 ]');
const both = ensemble(chain(['there', 'back']), {
  maxBatchSize: 8,
  inputs: [{ name: 'x', dims: [2, 1, -1] }],
  outputs: [{ name: 'y', dims: [-1, -1] }],
});

async function outputOf(
  server: InferenceServer,
  data: readonly number[],
  shape: readonly number[],
): Promise<{ shape: readonly number[] | undefined; values: number[] }> {
  const result = await server.infer('e', { x: { data: Float32Array.from(data), shape } });
  return { shape: result.outputs['y']?.shape, values: [...floats(result)] };
}

void test('the shape goes in and out as each step says, alone and in batches', async (t) => {
  const server = await serve(t, { there, back, e: both });
  // Both exchange, so the values come back as they were, and [2,1,n] is [2,n].
  assert.deepEqual(await outputOf(server, six(1), [1, 2, 1, 3]), { shape: [1, 2, 3], values: six(1) });
  const many = await Promise.all(
    Array.from({ length: 40 }, (_, i) => outputOf(server, six(i), [1, 2, 1, 3])),
  );
  for (const [i, one] of many.entries()) assert.deepEqual(one, { shape: [1, 2, 3], values: six(i) });
  // Requests of different shapes and sizes in one tick.
  const mixed = await Promise.all(
    [1, 2, 3, 5].flatMap((n) =>
      [1, 2].map(async (rows) => {
        const values = Array.from({ length: rows * 2 * n }, (_, i) => 100 * n + i);
        return { n, rows, values, out: await outputOf(server, values, [rows, 2, 1, n]) };
      }),
    ),
  );
  for (const { n, rows, values, out } of mixed) assert.deepEqual(out, { shape: [rows, 2, n], values });
});

void test('what a step gets and gives is what it gives to a caller of its own', async (t) => {
  const e = ensemble(chain(['there']), {
    maxBatchSize: 8,
    inputs: [{ name: 'x', dims: [2, 1, -1] }],
    outputs: [{ name: 'y', dims: [-1, 1, 1, -1] }],
  });
  const server = await serve(t, { there, e });
  const x = { data: Float32Array.from(six(1)), shape: [1, 2, 1, 3] };
  const [alone, within] = [await server.infer('there', { x }), await server.infer('e', { x })];
  assert.deepEqual(within.outputs['y']?.shape, [1, 3, 1, 1, 2]);
  assert.deepEqual(alone.outputs['y']?.shape, [1, 3, 1, 1, 2]);
  assert.deepEqual([...floats(within)], exchanged(six(1), 2, 3));
  assert.deepEqual([...floats(within)], [...floats(alone)]);
});

void test('a step without a batch dimension, and one whose tensor has no dims at all', async (t) => {
  const unbatched = transposing(
    `dims: [ 1, 1, 2, -1 ] ${inner('1, 2, -1')}`,
    `dims: [ -1, 1, -1, -1 ] ${inner('-1, -1, -1')}`,
    'max_batch_size: 0 #',
  );
  const text = (unbatched.config ?? '').replace('# dynamic_batching { }', '');
  const scalar = onnx(
    graph('doubling')
      .input('x', 'FP32', ['N'])
      .node('Add', ['x', 'x'], ['y'])
      .output('y', 'FP32', ['N'])
      .encode(),
    { inputs: [], outputs: [], maxBatchSize: 8 },
  );
  const one = 'data_type: TYPE_FP32 dims: [ 1 ] reshape { }';
  const server = await serve(t, {
    unbatched: { ...unbatched, config: text },
    scalar: {
      ...scalar,
      config: `max_batch_size: 8 input [ { name: "x" ${one} } ] output [ { name: "y" ${one} } ]`,
    },
    e: ensemble(chain(['unbatched']), {
      maxBatchSize: 1,
      inputs: [{ name: 'x', dims: [1, 2, -1] }],
      outputs: [{ name: 'y', dims: [1, -1, -1] }],
    }),
    f: ensemble(chain(['scalar', 'scalar']), {
      maxBatchSize: 8,
      inputs: [{ name: 'x', dims: [1] }],
      outputs: [{ name: 'y', dims: [1] }],
    }),
  });
  assert.deepEqual(await outputOf(server, six(1), [1, 1, 2, 3]), {
    shape: [1, 1, 3, 2],
    values: exchanged(six(1), 2, 3),
  });
  const numbers = await server.infer('f', { x: { data: Float32Array.of(1, 2, 3), shape: [3, 1] } });
  assert.deepEqual(numbers.outputs['y']?.shape, [3, 1]);
  assert.deepEqual([...floats(numbers)], [4, 8, 12]);
});

void test('responses of a decoupled step have the dims of its configuration', async (t) => {
  const one = { datatype: 'INT32', dims: [1] } as const;
  // The model gives [1,2], its callers see [2].
  const body = `return requests.map(({ inputs: { count: { data: [n] } } }) =>
    Array.from({ length: n }, (_, k) => ({ y: { data: Int32Array.of(k, 10 + k), shape: [1, 1, 2] } })));`;
  const many = streamingModule(executing(body), { outputs: [{ name: 'y', datatype: 'INT32', dims: [2] }] });
  const sum = streamingModule(
    executing(`return requests.map(({ inputs: { y: { data: [a, b] } } }) => ({ z: [[a + b]] }));`),
    { inputs: [{ name: 'y', datatype: 'INT32', dims: [2] }], outputs: [{ name: 'z', ...one }] },
  );
  const server = await serve(t, {
    many: {
      ...many,
      config: (many.config ?? '').replace('dims: [ 2 ]', 'dims: [ 2 ] reshape { shape: [ 1, 2 ] }'),
    },
    sum: { ...sum, config: (sum.config ?? '').replace(/model_transaction_policy .*/, '') },
    e: ensemble(
      [
        { model: 'many', from: { count: 'count' }, to: { y: 't' } },
        { model: 'sum', from: { y: 't' }, to: { z: 'y' } },
      ],
      { maxBatchSize: 4, inputs: [{ name: 'count', ...one }], outputs: [{ name: 'y', ...one }] },
    ),
  });
  assert.deepEqual((await readAll(server.stream('e', { count: [[3]] }))).numbers, [10, 12, 14]);
});

void test('a step that is loaded with another reshape counts from its next request on', async (t) => {
  const server = await serve(
    t,
    {
      there,
      e: ensemble(chain(['there']), {
        maxBatchSize: 8,
        inputs: [{ name: 'x', dims: [6] }],
        outputs: [{ name: 'y', dims: [-1, 1, -1] }],
      }),
    },
    { modelControlMode: 'explicit' },
  );
  const file = { 'model.onnx': transpose };
  const load = (rows: number, columns: number): Promise<unknown> =>
    server.loadModel('there', {
      config: {
        max_batch_size: 8,
        input: [{ name: 'x', data_type: 'TYPE_FP32', dims: [6], reshape: { shape: [rows, columns] } }],
        output: [{ name: 'y', data_type: 'TYPE_FP32', dims: [-1, 1, -1], reshape: { shape: [-1, -1] } }],
      },
      files: { '1/model.onnx': file['model.onnx'] },
    });
  await load(2, 3);
  await server.loadModel('e');
  assert.deepEqual((await outputOf(server, six(1), [1, 6])).values, exchanged(six(1), 2, 3));
  await load(3, 2);
  assert.deepEqual((await outputOf(server, six(1), [1, 6])).values, exchanged(six(1), 3, 2));
});

void test('a request whose shape the step refuses is told the dims that callers see', async (t) => {
  const server = await serve(t, {
    free: transposing('dims: [ -1, -1 ]', 'dims: [ -1, -1 ]'),
    there: transposing(`dims: [ 3, 2, 1 ] ${inner('3, 2')}`, 'dims: [ -1, -1 ]'),
    e: ensemble(chain(['free', 'there']), {
      maxBatchSize: 8,
      inputs: [{ name: 'x', dims: [-1, -1] }],
      outputs: [{ name: 'y', dims: [-1, -1] }],
    }),
  }).catch((error: unknown) => error);
  // The ranks differ, which the load reports.
  assert.match(String(server), /tensor 't1' has two shapes: .*\[-1,-1\].*\[3,2,1\]/);
  const good = await serve(t, {
    free: transposing('dims: [ -1, -1 ]', 'dims: [ -1, -1 ]'),
    there: transposing(`dims: [ 3, 2 ] ${inner('2, 3')}`, 'dims: [ -1, -1 ]'),
    e: ensemble(chain(['free', 'there']), {
      maxBatchSize: 8,
      inputs: [{ name: 'x', dims: [-1, -1] }],
      outputs: [{ name: 'y', dims: [-1, -1] }],
    }),
  });
  // [2,3] becomes [3,2], which the second model reads as [2,3].
  const { values } = await outputOf(good, six(1), [1, 2, 3]);
  assert.deepEqual(values, exchanged(exchanged(six(1), 2, 3), 2, 3));
  // [3,2] becomes [2,3]: as many values, but another shape.
  const wrong = good.infer('e', { x: { data: Float32Array.from(six(1)), shape: [1, 3, 2] } });
  const error = await rejection(wrong);
  assert.equal(error.code, 'INVALID_ARG');
  assert.match(
    error.message,
    /ensemble 'e'.*model 'there', input 'x': expected dims \[-1,3,2\] but received shape \[1,2,3\]/,
  );
});

void test("dims that disagree are those of callers, also where the models' shapes would agree", async (t) => {
  const error = await rejection(
    serve(t, {
      first: transposing('dims: [ 2, 3 ]', `dims: [ -1, 1, -1 ] ${inner('-1, -1')}`),
      second: transposing('dims: [ -1, -1 ]', 'dims: [ -1, -1 ]'),
      e: ensemble(chain(['first', 'second']), {
        maxBatchSize: 8,
        inputs: [{ name: 'x', dims: [2, 3] }],
        outputs: [{ name: 'y', dims: [-1, -1] }],
      }),
    }),
  );
  assert.equal(error.code, 'INVALID_ARG');
  assert.match(
    error.message,
    /tensor 't1' has two shapes: the output 'y' of model 'first' has dims \[-1,1,-1\]/,
  );
});

void test('tensors of the ensemble itself have no reshape', async (t) => {
  const e = ensemble(chain(['there']), {
    maxBatchSize: 8,
    inputs: [{ name: 'x', dims: [2, 1, -1] }],
    outputs: [{ name: 'y', dims: [-1, 1, 1, -1] }],
  });
  const config = (e.config ?? '').replace('dims: [ 2, 1, -1 ]', `dims: [ 2, 1, -1 ] ${inner('2, -1')}`);
  const error = await rejection(serve(t, { there, e: { ...e, config } }));
  assert.equal(error.code, 'UNSUPPORTED');
  assert.match(error.message, /input\[0\]\.reshape: an ensemble's tensors take no reshape/);
});
