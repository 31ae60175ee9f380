import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { temporaryFolder } from '../repository.js';
import { float } from './attribute.js';
import { graph } from './graph.js';
import { onnxRuntime, runModel } from './run.js';

const { Tensor } = onnxRuntime();

test('a graph encodes to the same bytes each time', () => {
  const model = graph('g').input('x', 'FP32', [1]).node('Identity', ['x'], ['y']).output('y', 'FP32', [1]);
  assert.deepEqual(model.encode(), model.encode());
});

test('inputs and outputs keep their names, types and dims', async () => {
  const bytes = graph('g')
    .input('ids', 'INT64', ['N', 3])
    .node('Identity', ['ids'], ['same'])
    .output('same', 'INT64', ['N', 3])
    .encode();
  const session = await onnxRuntime().InferenceSession.create(bytes);
  const [input, output] = [session.inputMetadata[0], session.outputMetadata[0]];
  await session.release();
  assert.deepEqual(input, { name: 'ids', isTensor: true, type: 'int64', shape: ['N', 3] });
  assert.deepEqual(output, { name: 'same', isTensor: true, type: 'int64', shape: ['N', 3] });
});

test('integer, float, string and list attributes reach the operator', async () => {
  const bytes = graph('g')
    .input('x', 'FP32', [1, 1, 2, 2])
    .node('LeakyRelu', ['x'], ['leaky'], { alpha: float(0.5) })
    .node('Pad', ['leaky', 'pads', 'value'], ['padded'], { mode: 'constant' })
    .node('Transpose', ['padded'], ['turned'], { perm: [0, 1, 3, 2] })
    .node('Flatten', ['turned'], ['y'], { axis: 1 })
    .initializer('pads', 'INT64', [8], [0, 0, 0, 0, 0, 0, 0, 1])
    .initializer('value', 'FP32', [], [9])
    .output('y', 'FP32', [1, 6])
    .encode();
  const { y } = await runModel(bytes, { x: new Tensor('float32', [-2, 4, 6, 8], [1, 1, 2, 2]) });
  assert.deepEqual(y?.data, Float32Array.of(-1, 6, 4, 8, 9, 9));
});

test('float() keeps a whole number a float', async () => {
  const bytes = graph('g')
    .input('x', 'FP32', [1])
    .node('LeakyRelu', ['x'], ['y'], { alpha: float(1) })
    .output('y', 'FP32', [1])
    .encode();
  const { y } = await runModel(bytes, { x: new Tensor('float32', [-3], [1]) });
  assert.deepEqual(y?.data, Float32Array.of(-3));
});

test('a fraction without float() is refused', () => {
  assert.throws(
    () => graph('g').node('LeakyRelu', ['x'], ['y'], { alpha: 0.5 }),
    /attribute 'alpha'.*float\(0\.5\)/,
  );
});

test('large initializers go to the data file and small ones stay', async (t) => {
  const folder = await temporaryFolder(t);
  const values = Float32Array.from({ length: 300 }, (_, i) => i / 8);
  const { model, data } = graph('g')
    .input('x', 'FP32', [300])
    .initializer('small', 'FP32', [1], [2])
    .initializer('odd', 'UINT8', [1025], new Uint8Array(1025))
    .initializer('large', 'FP32', [300], values)
    .node('Mul', ['x', 'small'], ['doubled'])
    .node('Add', ['doubled', 'large'], ['y'])
    .output('y', 'FP32', [300])
    .encodeExternal('weights.bin');
  await writeFile(join(folder, 'model.onnx'), model);
  await writeFile(join(folder, 'weights.bin'), data);

  const x = new Tensor('float32', new Float32Array(300).fill(1), [300]);
  const { y } = await runModel(join(folder, 'model.onnx'), { x });

  assert.deepEqual(
    y?.data,
    values.map((value) => value + 2),
  );
  // 1,025 bytes, padding to the next multiple of 64, 1,200 bytes.
  assert.equal(data.byteLength, 1088 + 1200);
});
