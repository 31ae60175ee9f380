import assert from 'node:assert/strict';
import { readFileSync, statSync } from 'node:fs';
import { test } from 'node:test';
import { bestClass, modelRepository, readHeldOutDigits } from '../../examples/digits/data.js';
import { decodeModel } from '../support/onnx/messages.js';
import { onnxRuntime } from '../support/onnx/run.js';

const { InferenceSession, Tensor } = onnxRuntime();

/** ONNX's number of FP32. */
const float = 1;

/** The smallest normal FP32 number. CPUs are slower with subnormal numbers. */
const leastNormal = 2 ** -126;

test('there are 360 held-out digits of 64 pixels, every class among them', () => {
  const digits = readHeldOutDigits();
  assert.equal(digits.length, 360);
  assert.deepEqual([...new Set(digits.map(({ label }) => label))].toSorted(), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
  for (const { pixels } of digits) {
    assert.equal(pixels.length, 64);
    assert.ok(pixels.every((pixel) => Number.isInteger(pixel) && pixel >= 0 && pixel <= 16));
  }
});

for (const name of ['digits', 'digits_conv']) {
  const file = new URL(`${name}/1/model.onnx`, modelRepository);

  test(`${name} stays below 300 kB`, () => {
    assert.ok(statSync(file).size < 300_000);
  });

  test(`${name} has no denormal numbers among its weights`, () => {
    const weights = decodeModel(readFileSync(file)).graph.initializer.filter(
      ({ dataType }) => dataType === float,
    );
    assert.ok(weights.length > 0);
    for (const { name, rawData = new Uint8Array() } of weights) {
      const values = new Float32Array(Uint8Array.from(rawData).buffer);
      assert.ok(values.length > 0, name);
      assert.ok(
        values.every((value) => value === 0 || Math.abs(value) >= leastNormal),
        name,
      );
    }
  });

  test(`${name} gets 97 % of the held-out digits right`, async () => {
    const digits = readHeldOutDigits();
    const images = Float32Array.from(digits.flatMap(({ pixels }) => [...pixels]));
    const session = await InferenceSession.create(readFileSync(file), { intraOpNumThreads: 1 });
    const { scores } = await session.run({ image: new Tensor('float32', images, [digits.length, 64]) });
    await session.release();
    assert.deepEqual(scores?.dims, [digits.length, 10]);
    assert.ok(scores.data instanceof Float32Array);
    const answers = scores.data;
    const right = digits.filter(({ label }, i) => bestClass(answers.subarray(10 * i, 10 * i + 10)) === label);
    assert.ok(right.length >= 0.97 * digits.length, `${right.length} right`);
  });
}
