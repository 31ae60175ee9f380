import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Datatype } from '../../src/tensor/datatype.js';
import {
  addModel,
  convNetModel,
  externalDataModel,
  externalWeights,
  failingModel,
  fixedBatchModel,
  identityModel,
  largeOutputModel,
  mlpLayers,
  mlpModel,
  optionalInputModel,
  rowSumModel,
  slowModel,
  sumAndDifferenceModel,
  textEncoderModel,
  unsupportedOperatorModel,
  type DenseLayer,
} from './models.js';
import { random } from './onnx/random.js';
import { onnxRuntime, runModel, type Fetched, type OrtTensor } from './onnx/run.js';
import { temporaryFolder } from './repository.js';

const { Tensor, InferenceSession } = onnxRuntime();

/** A tensor of each datatype with values 0, 1, 0, 1 …. BF16 has no type in the runtime's JavaScript API. */
const examples = {
  BOOL: () => new Tensor('bool', Uint8Array.of(0, 1, 0, 1), [2, 2]),
  UINT8: () => new Tensor('uint8', Uint8Array.of(0, 1, 0, 1), [2, 2]),
  UINT16: () => new Tensor('uint16', Uint16Array.of(0, 1, 0, 1), [2, 2]),
  UINT32: () => new Tensor('uint32', Uint32Array.of(0, 1, 0, 1), [2, 2]),
  UINT64: () => new Tensor('uint64', BigUint64Array.of(0n, 1n, 0n, 1n), [2, 2]),
  INT8: () => new Tensor('int8', Int8Array.of(0, 1, 0, 1), [2, 2]),
  INT16: () => new Tensor('int16', Int16Array.of(0, 1, 0, 1), [2, 2]),
  INT32: () => new Tensor('int32', Int32Array.of(0, 1, 0, 1), [2, 2]),
  INT64: () => new Tensor('int64', BigInt64Array.of(0n, 1n, 0n, 1n), [2, 2]),
  FP16: () => new Tensor('float16', Uint16Array.of(0, 0x3c00, 0, 0x3c00), [2, 2]),
  FP32: () => new Tensor('float32', Float32Array.of(0, 1, 0, 1), [2, 2]),
  FP64: () => new Tensor('float64', Float64Array.of(0, 1, 0, 1), [2, 2]),
  BYTES: () => new Tensor('string', ['0', '1', '0', '1'], [2, 2]),
} satisfies Partial<Record<Datatype, () => OrtTensor>>;

function floats(fetched: Fetched | undefined): Float32Array {
  assert.ok(fetched?.data instanceof Float32Array);
  return fetched.data;
}

function assertClose(actual: Float32Array, expected: ArrayLike<number>, tolerance: number): void {
  assert.equal(actual.length, expected.length);
  for (const [i, value] of actual.entries()) {
    const wanted = expected[i] ?? Number.NaN;
    assert.ok(
      Math.abs(value - wanted) <= tolerance * Math.max(1, Math.abs(wanted)),
      `[${i}]: ${value}, not ${wanted}`,
    );
  }
}

for (const [datatype, example] of Object.entries(examples) as [keyof typeof examples, () => OrtTensor][]) {
  test(`the identity model passes ${datatype} through`, async () => {
    const x = example();
    const { y } = await runModel(identityModel(datatype, ['N', 2]), { x });
    assert.deepEqual(y, { data: x.data, dims: [2, 2] });
  });

  if (datatype === 'BOOL' || datatype === 'BYTES') continue;
  test(`the add model adds one to ${datatype}`, async () => {
    const { y } = await runModel(addModel({ datatype, width: 2 }), { x: example() });
    const expected = { FP16: [0x3c00, 0x4000, 0x3c00, 0x4000], wide: [1n, 2n, 1n, 2n], other: [1, 2, 1, 2] };
    const kind = datatype === 'FP16' ? 'FP16' : datatype.endsWith('INT64') ? 'wide' : 'other';
    assert.deepEqual([...(y?.data ?? [])], expected[kind]);
  });
}

test('the identity model can have fixed dims', async () => {
  const session = await InferenceSession.create(identityModel('FP32', [3, 5]));
  const [input] = session.inputMetadata;
  await session.release();
  assert.deepEqual(input, { name: 'x', isTensor: true, type: 'float32', shape: [3, 5] });
});

test('the add model without a batch dimension takes one row', async () => {
  const { y } = await runModel(addModel({ batch: false, width: 3, addend: 0.5 }), {
    x: new Tensor('float32', [1, 2, 3], [3]),
  });
  assert.deepEqual(y, { data: Float32Array.of(1.5, 2.5, 3.5), dims: [3] });
});

test('the fixed-batch model refuses another batch', async () => {
  const { y } = await runModel(fixedBatchModel(2, 1), { x: new Tensor('float32', [1, 2], [2, 1]) });
  assert.deepEqual(y?.data, Float32Array.of(2, 3));
  await assert.rejects(
    runModel(fixedBatchModel(2, 1), { x: new Tensor('float32', [1], [1, 1]) }),
    /invalid dimensions/,
  );
});

test('the sum-and-difference model has two inputs and two outputs', async () => {
  const outputs = await runModel(sumAndDifferenceModel('INT32', 2), {
    a: new Tensor('int32', [10, 20], [1, 2]),
    b: new Tensor('int32', [1, 2], [1, 2]),
  });
  assert.deepEqual(outputs.sum?.data, Int32Array.of(11, 22));
  assert.deepEqual(outputs.difference?.data, Int32Array.of(9, 18));
});

test('the row-sum model takes rows of any length', async () => {
  const { total } = await runModel(rowSumModel(), {
    ids: new Tensor('int64', [1n, 2n, 3n, 4n, 5n, 6n], [2, 3]),
  });
  assert.deepEqual(total, { data: Float32Array.of(6, 15), dims: [2, 1] });
});

test('the optional input may be left out', async () => {
  // A given value is not tested here, because onnxruntime-node ignores values of optional inputs.
  const { y } = await runModel(optionalInputModel(), { x: new Tensor('float32', [1, 2, 3, 4], [1, 4]) });
  assert.deepEqual(y?.data, Float32Array.of(101, 102, 103, 104));
});

test('the failing model fails for an index outside its table', async () => {
  const { value } = await runModel(failingModel(), { index: new Tensor('int64', [0n, 7n], [2, 1]) });
  assert.deepEqual(value?.data, Float32Array.of(0, 70));
  const outside = new Tensor('int64', [0n, 8n], [2, 1]);
  await assert.rejects(runModel(failingModel(), { index: outside }), /out of data bounds/);
});

test('the slow model answers its input', async () => {
  const x = new Tensor('float32', random(5).floats(32, 1), [2, 16]);
  const { y } = await runModel(slowModel(100), { x });
  assert.deepEqual(y?.data, x.data);
});

test('the large output counts up from its input', async () => {
  const { y } = await runModel(largeOutputModel(), { x: new Tensor('float32', [10, -1], [2, 1]) });
  const values = floats(y);
  assert.deepEqual(y?.dims, [2, 160_000]);
  assert.ok(values.byteLength / 2 >= 600 * 1024);
  assert.deepEqual([values[0], values[159_999], values[160_000]], [10, 160_009, -1]);
});

test('the model with an unsupported operator does not load', async () => {
  await assert.rejects(runModel(unsupportedOperatorModel(), {}), /No Op registered for NoSuchOperator/);
});

test('the external-data model finds its weights in the file next to it', async (t) => {
  const folder = await temporaryFolder(t);
  const { model, data } = externalDataModel();
  await writeFile(join(folder, 'model.onnx'), model);
  await assert.rejects(runModel(join(folder, 'model.onnx'), {}), /model\.onnx\.data/);
  await writeFile(join(folder, 'model.onnx.data'), data);
  const x = new Tensor('float32', new Float32Array(512), [1, 512]);
  const { y } = await runModel(join(folder, 'model.onnx'), { x });
  assert.deepEqual(y?.data, externalWeights());
});

test('the perceptron agrees with plain arithmetic', async () => {
  const widths = [5, 9, 7, 3];
  const x = random(11).floats(2 * 5, 1);
  const { y } = await runModel(mlpModel(widths), { x: new Tensor('float32', x, [2, 5]) });
  const layers = mlpLayers(widths);
  const expected = [x.subarray(0, 5), x.subarray(5)].flatMap((row) => [...forward(layers, [...row])]);
  assert.deepEqual(y?.dims, [2, 3]);
  assertClose(floats(y), expected, 1e-5);
});

function forward(layers: readonly DenseLayer[], row: readonly number[]): readonly number[] {
  return layers.reduce((input, layer, index) => {
    const sums = Array.from(layer.bias, (bias, column) =>
      input.reduce((sum, value, i) => sum + value * (layer.weights[i * layer.outputs + column] ?? 0), bias),
    );
    return index === layers.length - 1 ? sums : sums.map((sum) => Math.max(0, sum));
  }, row);
}

test('the text encoder gives a row of a batch the answer it has alone', async () => {
  const model = textEncoderModel({ layers: 2, width: 16, heads: 4, vocabulary: 50, maxTokens: 12 });
  const encode = async (ids: bigint[], rows: number): Promise<Float32Array> => {
    const { embedding } = await runModel(model, {
      input_ids: new Tensor('int64', ids, [rows, ids.length / rows]),
    });
    assert.deepEqual(embedding?.dims, [rows, 16]);
    return floats(embedding);
  };
  const first = await encode([1n, 2n, 3n, 4n, 5n], 1);
  const both = await encode([1n, 2n, 3n, 4n, 5n, 9n, 8n, 7n, 6n, 5n], 2);
  assertClose(both.subarray(0, 16), first, 1e-4);
  // The order matters, so positions and attention have their effect.
  const turned = await encode([5n, 4n, 3n, 2n, 1n], 1);
  assert.ok(turned.some((value, i) => Math.abs(value - (first[i] ?? 0)) > 0.01));
});

test('the conv net gives a row of a batch the answer it has alone', async () => {
  const model = convNetModel({ width: 4, size: 32, classes: 6 });
  const image = random(13).floats(3 * 32 * 32, 1);
  const two = new Float32Array(2 * image.length);
  two.set(image, image.length);
  const one = await runModel(model, { image: new Tensor('float32', image, [1, 3, 32, 32]) });
  const both = await runModel(model, { image: new Tensor('float32', two, [2, 3, 32, 32]) });
  assert.deepEqual(both.logits?.dims, [2, 6]);
  assertClose(floats(both.logits).subarray(6), floats(one.logits), 1e-4);
  assert.ok(floats(one.logits).some((value, i) => Math.abs(value - (floats(both.logits)[i] ?? 0)) > 0.01));
});
