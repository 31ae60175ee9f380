import assert from 'node:assert/strict';
import { createHook } from 'node:async_hooks';
import { suite, test } from 'node:test';
import { Tensor, type InferOptions, type InferResult } from '../../src/index.js';
import { addModel, mlpLayers, mlpModel, rowSumModel, sumAndDifferenceModel } from '../support/models.js';
import { random } from '../support/onnx/random.js';
import { batchCountsAfter, floats, identity, onnx, rejection, row, serve } from '../support/harness.js';

const sumAndDifference = onnx(sumAndDifferenceModel('FP32', 16), {
  inputs: [{ name: 'a' }, { name: 'b' }],
  outputs: [{ name: 'sum' }, { name: 'difference' }],
});

test('a result tells the model, the version and the timings', async (t) => {
  const server = await serve(t, { add: onnx() });
  const result = await server.model('add').infer({ x: row(1) });
  assert.deepEqual(result.model, { name: 'add', version: '1' });
  assert.equal(result.id, '');
  assert.deepEqual(result.parameters, {});
  assert.deepEqual(floats(result), [...row(2)]);
  assert.deepEqual(result.outputs['y']?.shape, [1, 16]);
  assert.ok(result.outputs['y'] instanceof Tensor);
  assert.equal(result.timings.batchSize, 1);
  assert.equal(result.timings.cacheHit, false);
});

test('one request may carry a batch', async (t) => {
  const server = await serve(t, { add: onnx() });
  for (const rows of [1, 3, 64]) {
    const x = row(0, rows * 16);
    const { outputs, timings } = await server.infer('add', { x });
    assert.deepEqual(outputs['y']?.shape, [rows, 16]);
    assert.deepEqual(
      outputs['y'].data,
      x.map((value) => value + 1),
    );
    assert.equal(timings.batchSize, rows);
  }
});

test('a model without a batch dimension takes its dims', async (t) => {
  const server = await serve(t, { add: onnx(addModel({ batch: false }), { maxBatchSize: 0 }) });
  const requests = [0, 1, 2, 3].map((first) => server.infer('add', { x: row(first) }));
  for (const [i, { outputs, timings }] of (await Promise.all(requests)).entries()) {
    assert.deepEqual(outputs['y']?.shape, [16]);
    assert.deepEqual(outputs['y'].data, row(i + 1));
    assert.equal(timings.batchSize, 1);
  }
  assert.deepEqual(await batchCountsAfter(server, 'add', 4), { 1: 4 });
});

test('the answers agree with plain arithmetic', async (t) => {
  const widths = [8, 12, 4];
  const model = onnx(mlpModel(widths), {
    inputs: [{ name: 'x', dims: [8] }],
    outputs: [{ name: 'y', dims: [4] }],
  });
  const server = await serve(t, { mlp: model });
  const inputs = Array.from({ length: 20 }, (_, seed) => random(seed).floats(8, 1));
  const results = await Promise.all(inputs.map((x) => server.infer('mlp', { x })));
  for (const [i, x] of inputs.entries()) {
    const expected = mlpLayers(widths).reduce<readonly number[]>(
      (values, layer, index, layers) => {
        const sums = Array.from(layer.bias, (bias, column) =>
          values.reduce(
            (sum, value, k) => sum + value * (layer.weights[k * layer.outputs + column] ?? 0),
            bias,
          ),
        );
        return index === layers.length - 1 ? sums : sums.map((sum) => Math.max(0, sum));
      },
      [...x],
    );
    const actual = results[i] ? floats(results[i]) : [];
    for (const [k, value] of actual.entries()) assert.ok(Math.abs(value - (expected[k] ?? NaN)) < 1e-4);
  }
});

test('inputs and outputs go by name, not by position', async (t) => {
  const server = await serve(t, { both: sumAndDifference });
  const result = await server.infer('both', { b: row(1), a: row(10) });
  assert.deepEqual(
    floats(result, 'sum'),
    Array.from({ length: 16 }, (_, i) => 11 + 2 * i),
  );
  assert.deepEqual(floats(result, 'difference'), new Array(16).fill(9));
});

test('a config may have the outputs in another order, and fewer of them', async (t) => {
  const { versions = {} } = sumAndDifference;
  const inputs = [{ name: 'b' }, { name: 'a' }];
  const turned = onnx(undefined, { inputs, outputs: [{ name: 'difference' }, { name: 'sum' }] });
  const one = onnx(undefined, { inputs, outputs: [{ name: 'difference' }] });
  const server = await serve(t, { turned: { ...turned, versions }, one: { ...one, versions } });
  const all = await server.infer('turned', { a: row(10), b: row(1) });
  assert.deepEqual([floats(all, 'sum')[0], floats(all, 'difference')[0]], [11, 9]);
  const { outputs } = await server.infer('one', { a: row(10), b: row(1) });
  assert.deepEqual(Object.keys(outputs), ['difference']);
});

test('variable dims are what came', async (t) => {
  const model = onnx(rowSumModel(), {
    inputs: [{ name: 'ids', datatype: 'INT64', dims: [-1] }],
    outputs: [{ name: 'total', dims: [1] }],
  });
  const server = await serve(t, { total: model });
  const lengths = [1, 5, 300, 5];
  const results = await Promise.all(
    lengths.map((length) => server.infer('total', { ids: new BigInt64Array(length).fill(2n) })),
  );
  assert.deepEqual(
    results.map((result) => floats(result, 'total')[0]),
    lengths.map((length) => 2 * length),
  );
});

test('only the wanted outputs come', async (t) => {
  const server = await serve(t, { both: sumAndDifference });
  const inputs = { a: row(3), b: row(1) };
  const names = async (outputs: InferOptions['outputs']): Promise<string[]> =>
    Object.keys((await server.infer('both', inputs, { outputs })).outputs);
  assert.deepEqual(await names(['difference']), ['difference']);
  assert.deepEqual(await names([{ name: 'sum' }]), ['sum']);
  assert.deepEqual((await names(['sum', 'difference'])).sort(), ['difference', 'sum']);
  assert.deepEqual((await names([])).sort(), ['difference', 'sum']);
});

test('requests of one batch may want different outputs', async (t) => {
  const server = await serve(t, { both: sumAndDifference });
  const wanted = [['sum'], ['difference'], undefined] as const;
  const results = await Promise.all(
    [...wanted, ...wanted].map((outputs) => server.infer('both', { a: row(3), b: row(1) }, { outputs })),
  );
  const names = results.map(({ outputs }) => Object.keys(outputs).sort().join());
  const expected = ['sum', 'difference', 'difference,sum'];
  assert.deepEqual(names, [...expected, ...expected]);
  for (const { outputs } of results) {
    if (outputs['sum']) assert.deepEqual(outputs['sum'].data[0], 4);
    if (outputs['difference']) assert.deepEqual(outputs['difference'].data[0], 2);
  }
});

test('the id comes back with the result', async (t) => {
  const server = await serve(t, { echo: identity() });
  const ids = ['a', 'ünï-💡', 'x'.repeat(4096)];
  const results = await Promise.all(ids.map((id) => server.infer('echo', { x: row() }, { id })));
  assert.deepEqual(
    results.map(({ id }) => id),
    ids,
  );
});

test('a request that a hook makes while the promise of another one begins gets its own answer', async (t) => {
  const server = await serve(t, { add: onnx() });
  const model = server.model('add');
  let nested: Promise<InferResult> | undefined;
  let asks = false;
  const hook = createHook({
    init: (_id, type) => {
      if (!asks || type !== 'PROMISE') return;
      asks = false;
      nested = model.infer({ x: row(10) });
    },
  }).enable();
  t.after(() => hook.disable());
  asks = true;
  const outer = model.infer({ x: row(1) });
  assert.ok(nested);
  assert.deepEqual(floats(await outer), [...row(2)]);
  assert.deepEqual(floats(await nested), [...row(11)]);
});

test('a result may be the next input', async (t) => {
  const server = await serve(t, { add: onnx() });
  const { outputs } = await server.infer('add', { x: row(0) });
  const again = await server.infer('add', { x: outputs['y'] });
  assert.deepEqual(floats(again), [...row(2)]);
});

void suite('options that are wrong reject:', () => {
  const cases: readonly (readonly [string, unknown, RegExp])[] = [
    ['an unknown key', { ouputs: [] }, /unknown key 'ouputs' in infer options \(did you mean outputs\?\)/],
    ['a time without its unit', { timeout: 5 }, /\(did you mean timeoutUs or timeoutMs\?\)/],
    [
      'a sequence',
      { sequenceId: 5 },
      /unknown key 'sequenceId' in infer options: write sequence: \{ id, start, end \} instead$/,
    ],
    ['no object', 7, /expected an object for infer options but received 7/],
    [
      'an array with the prototype of objects',
      Object.setPrototypeOf([], Object.prototype),
      /expected an object for infer options but received an array/,
    ],
    [
      'a function without a prototype',
      Object.setPrototypeOf(() => 1, null),
      /expected an object for infer options but received a function/,
    ],
    [
      'an id that is a number',
      { id: 5 },
      /model 'both': expected a string of at most 4096 characters for options\.id/,
    ],
    ['an id that is too long', { id: 'x'.repeat(4097) }, /at most 4096 characters/],
    ['a signal of another class', { signal: {} }, /expected an AbortSignal for options\.signal/],
    ['outputs that are no array', { outputs: 'sum' }, /expected an array of output names/],
    [
      'an unknown output',
      { outputs: ['summ'] },
      /unknown output 'summ' \(did you mean sum\?\); it has sum, difference/,
    ],
    ['an output twice', { outputs: ['sum', 'sum'] }, /output 'sum' is requested twice/],
    [
      'an output that is no name',
      { outputs: [5] },
      /expected a name for options\.outputs\[0\] but received 5 of type number/,
    ],
  ];
  for (const [title, options, message] of cases) {
    test(title, async (t) => {
      const server = await serve(t, { both: sumAndDifference });
      const inputs = { a: row(), b: row() };
      const error = await rejection(server.model('both').infer(inputs, options as InferOptions));
      assert.equal(error.code, 'INVALID_ARG');
      assert.match(error.message, message);
      assert.equal((await server.infer('both', inputs)).model.name, 'both');
    });
  }
});
