import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { MessageChannel } from 'node:worker_threads';
import type { AnyTensor, InferResult, Tensor } from '../../src/index.js';
import { largeOutputModel } from '../support/models.js';
import { floats, identity, onnx, row, serve } from '../support/harness.js';

/** The FP32 output y. */
function y(result: InferResult | undefined): Tensor<'FP32'> {
  const tensor: AnyTensor | undefined = result?.outputs['y'];
  assert.ok(tensor);
  return tensor.as('FP32');
}

const large = onnx(largeOutputModel(), {
  maxBatchSize: 8,
  inputs: [{ name: 'x', dims: [1] }],
  outputs: [{ name: 'y', dims: [160_000] }],
});

test('an output is the whole of its buffer: nothing of other requests is behind it', async (t) => {
  const server = await serve(t, { add: onnx(), large });
  const small = [1, 2, 3].map((first) => server.infer('add', { x: row(first) }));
  const big = [1, 2].map((first) => server.infer('large', { x: Float32Array.of(first) }));
  const arrays = (await Promise.all([...small, ...big])).map((result) => y(result).data);
  for (const data of arrays) {
    assert.equal(data.byteOffset, 0);
    assert.equal(data.buffer.byteLength, data.byteLength);
  }
  assert.equal(new Set(arrays.map(({ buffer }) => buffer)).size, arrays.length);
});

test('to write to a result changes no other', async (t) => {
  const server = await serve(t, { echo: identity() });
  const [first, second] = await Promise.all([1, 2].map((value) => server.infer('echo', { x: row(value) })));
  y(first).data.fill(99);
  assert.deepEqual(y(second).data, row(2));
  assert.deepEqual(floats(await server.infer('echo', { x: row(3) })), [...row(3)]);
});

test('to transfer a result leaves the others alone', async (t) => {
  const server = await serve(t, { echo: identity() });
  const [first, second] = await Promise.all([1, 2].map((value) => server.infer('echo', { x: row(value) })));
  const { port1, port2 } = new MessageChannel();
  const { buffer } = y(first).data;
  port1.postMessage(buffer, [buffer]);
  port1.close();
  port2.close();
  assert.equal(buffer.byteLength, 0);
  assert.deepEqual(y(second).data, row(2));
  assert.deepEqual(floats(await server.infer('echo', { x: row(4) })), [...row(4)]);
});

test('a result passed on as an input is copied', async (t) => {
  const server = await serve(t, { echo: identity() });
  const { outputs } = await server.infer('echo', { x: row(1) });
  const tensor = y({ outputs } as InferResult);
  const pending = server.infer('echo', { x: tensor });
  tensor.data.fill(0);
  assert.deepEqual(floats(await pending), [...row(1)]);
});

void suite('an input that changes after infer() changes no result:', () => {
  for (const [title, length] of [
    ['a small one', 16],
    ['a large one', 100_000],
  ] as const) {
    test(title, async (t) => {
      const dims = [length];
      const echo = identity({
        inputs: [{ name: 'x', dims }],
        outputs: [{ name: 'y', dims }],
        batching: false,
        delayMs: 2,
      });
      const server = await serve(t, { echo });
      const inputs = [row(1, length), row(2, length)];
      const pending = inputs.map((x) => server.infer('echo', { x }));
      for (const x of inputs) x.fill(-1);
      const results = await Promise.all(pending);
      assert.deepEqual(y(results[0]).data, row(1, length));
      assert.deepEqual(y(results[1]).data, row(2, length));
    });
  }

  test('one that is transferred', async (t) => {
    const server = await serve(t, { echo: identity() });
    const x = row(5);
    const pending = server.infer('echo', { x });
    const { buffer } = x;
    structuredClone(buffer, { transfer: [buffer] });
    assert.equal(x.length, 0);
    assert.deepEqual(y(await pending).data, row(5));
  });
});

test('outputs of 64 KB and more are correct', async (t) => {
  const server = await serve(t, { large });
  const results = await Promise.all(
    [10, 20, 30].map((first) => server.infer('large', { x: Float32Array.of(first, -first) })),
  );
  for (const [i, result] of results.entries()) {
    const first = 10 * (i + 1);
    const expected = new Float32Array(320_000);
    expected.set(row(first, 160_000));
    expected.set(row(-first, 160_000), 160_000);
    assert.deepEqual(y(result).shape, [2, 160_000]);
    assert.deepEqual(y(result).data, expected);
  }
});

void suite('sizes on either side of the borders between small and large are right:', () => {
  // At 4 KiB an input leaves its slab, and at 64 KiB an output leaves its page.
  for (const length of [1, 15, 16, 17, 1023, 1024, 1025, 16_383, 16_384, 16_385]) {
    test(`${4 * length} bytes`, async (t) => {
      const dims = [length];
      const server = await serve(t, {
        echo: identity({ inputs: [{ name: 'x', dims }], outputs: [{ name: 'y', dims }] }),
      });
      const results = await Promise.all(
        [1, 2, 3].map((first) => server.infer('echo', { x: row(first, length) })),
      );
      for (const [i, result] of results.entries()) assert.deepEqual(y(result).data, row(i + 1, length));
    });
  }
});

test('an empty tensor is an output like any other', async (t) => {
  const dims = [-1];
  const server = await serve(t, {
    echo: identity({ inputs: [{ name: 'x', dims }], outputs: [{ name: 'y', dims }] }),
  });
  const result = await server.infer('echo', { x: { data: new Float32Array(0), shape: [2, 0] } });
  assert.deepEqual(y(result).shape, [2, 0]);
  assert.equal(y(result).data.length, 0);
});

test('the outputs object has nothing but the outputs', async (t) => {
  const server = await serve(t, { echo: identity() });
  const { outputs } = await server.infer('echo', { x: row() });
  assert.deepEqual(Object.keys(outputs), ['y']);
  assert.equal('toString' in outputs, false);
  assert.equal('constructor' in outputs, false);
});

test('names of object properties are names of tensors like any other', async (t) => {
  const names = ['__proto__', 'constructor', 'toString', 'hasOwnProperty'];
  const tensors = names.map((name) => ({ name, dims: [1] }));
  const server = await serve(t, { echo: identity({ inputs: tensors, outputs: tensors }) });
  const inputs: unknown = JSON.parse(
    '{ "__proto__": [[1]], "constructor": [[2]], "toString": [[3]], "hasOwnProperty": [[4]] }',
  );
  const { outputs } = await server.infer('echo', inputs as Record<string, number[][]>);
  assert.deepEqual(Object.keys(outputs), names);
  assert.deepEqual(
    names.map((name) => outputs[name]?.data[0]),
    [1, 2, 3, 4],
  );
});

test('model, parameters and timings are shared and frozen, the result is not', async (t) => {
  const server = await serve(t, { echo: identity() });
  const [first, second] = await Promise.all([
    server.infer('echo', { x: row(1) }),
    server.infer('echo', { x: row(2) }),
  ]);
  assert.ok(Object.isFrozen(first.model) && Object.isFrozen(first.parameters));
  assert.equal(first.model, second.model);
  assert.equal(Object.isFrozen(first) || Object.isFrozen(first.outputs), false);
});
