import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { bf16, fp16 } from '../../src/tensor/half.js';
import { decodeBf16, decodeFp16, encodeBf16, encodeFp16 } from '../../src/tensor/half-arrays.js';

const everyPattern = Uint16Array.from({ length: 0x10000 }, (_, pattern) => pattern);

const formats = [
  { name: 'FP16', format: fp16, encodeAll: encodeFp16, decodeAll: decodeFp16 },
  { name: 'BF16', format: bf16, encodeAll: encodeBf16, decodeAll: decodeBf16 },
];

for (const { name, format, encodeAll, decodeAll } of formats) {
  const encodeFloats = (floats: Float32Array): [at: number, halves: Uint16Array] => {
    const halves = new Uint16Array(floats.length);
    return [encodeAll(new Int32Array(floats.buffer), halves), halves];
  };

  describe(`arrays of ${name}`, () => {
    it('decode all 65,536 patterns like one at a time', () => {
      const decoded = decodeAll(everyPattern);
      for (const [pattern, value] of decoded.entries()) assert.ok(Object.is(value, format.decode(pattern)));
    });

    it('encode what they decoded to the same bits, NaNs to NaNs', () => {
      const decoded = decodeAll(everyPattern);
      const [at, halves] = encodeFloats(decoded);
      assert.equal(at, -1);
      for (const [pattern, half] of halves.entries()) {
        if (Number.isNaN(decoded[pattern])) assert.ok(Number.isNaN(format.decode(half)));
        else assert.equal(half, pattern);
      }
    });

    it('round FP32 numbers of every exponent like one at a time', () => {
      const words = new Int32Array(2 ** 17);
      // This step reaches all exponents, and makes the low bits, which decide the rounding, look random.
      for (let i = 0; i < words.length; i++) words[i] = Math.imul(i, 0x9e3779b1);
      const floats = new Float32Array(words.buffer).filter((value) => !(Math.abs(value) >= format.overflow));
      const [at, halves] = encodeFloats(floats);
      assert.equal(at, -1);
      for (const [i, value] of floats.entries()) assert.equal(halves[i], format.encode(value));
    });

    it('round to even half way between two numbers', () => {
      const middles = Float32Array.from(
        { length: 0x3000 },
        (_, i) => (format.decode(i) + format.decode(i + 1)) / 2,
      );
      const [, halves] = encodeFloats(middles);
      for (const [i, half] of halves.entries()) assert.equal(half, i + (i % 2));
    });

    it('stop at the first finite number that is too large, and let infinity pass', () => {
      const largest = Math.fround(format.overflow * (1 - 2 ** -20));
      assert.equal(encodeFloats(Float32Array.of(Infinity, -Infinity, largest, -largest))[0], -1);
      assert.equal(encodeFloats(Float32Array.of(1, -format.overflow, format.overflow))[0], 1);
    });
  });
}
