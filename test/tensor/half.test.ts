import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from '../support/fast-check.js';
import { bf16, fp16, type HalfFormat } from '../../src/tensor/half.js';

interface Reference {
  readonly name: string;
  readonly format: HalfFormat;
  /**
   * The value of each finite positive pattern, computed differently: exponent and fraction as decimal powers.
   */
  readonly values: readonly number[];
}

function reference(name: string, format: HalfFormat, fractionBits: number, bias: number): Reference {
  const values: number[] = [];
  for (let exponent = 0; exponent <= 2 * bias; exponent++) {
    for (let fraction = 0; fraction < 2 ** fractionBits; fraction++) {
      const share = fraction / 2 ** fractionBits;
      values.push(exponent === 0 ? share * 2 ** (1 - bias) : (1 + share) * 2 ** (exponent - bias));
    }
  }
  return { name, format, values };
}

const references = [reference('FP16', fp16, 10, 15), reference('BF16', bf16, 7, 127)];

const double = new Float64Array(1);
const bits = new BigInt64Array(double.buffer);
/** The double next to a positive one. */
function neighbour(value: number, step: 1n | -1n): number {
  double[0] = value;
  bits[0] = (bits[0] ?? 0n) + step;
  return double[0];
}

for (const { name, format, values } of references) {
  const infinity = values.length;

  describe(name, () => {
    it('decodes every finite pattern to the number it stands for', () => {
      for (const [pattern, value] of values.entries()) {
        assert.equal(format.decode(pattern), value);
        assert.ok(Object.is(format.decode(pattern | 0x8000), -value));
      }
    });

    it('decodes the patterns above as infinity and NaN', () => {
      assert.equal(format.decode(infinity), Infinity);
      assert.equal(format.decode(infinity | 0x8000), -Infinity);
      for (let pattern = infinity + 1; pattern < 0x8000; pattern++) {
        assert.ok(Number.isNaN(format.decode(pattern)) && Number.isNaN(format.decode(pattern | 0x8000)));
      }
    });

    it('encodes what it decoded to the same bits, for all 65,536 of them', () => {
      for (let pattern = 0; pattern < 0x10000; pattern++) {
        const value = format.decode(pattern);
        const encoded = format.encode(value);
        if (Number.isNaN(value)) assert.ok(Number.isNaN(format.decode(encoded)));
        else assert.equal(encoded, pattern);
      }
    });

    it('rounds to the nearest number, and to the even one half way between two', () => {
      for (let low = 0; low + 1 < infinity; low++) {
        const high = low + 1;
        const middle = ((values[low] ?? NaN) + (values[high] ?? NaN)) / 2;
        assert.equal(format.encode(middle), low % 2 === 0 ? low : high);
        assert.equal(format.encode(-middle), 0x8000 | (low % 2 === 0 ? low : high));
        assert.equal(format.encode(neighbour(middle, 1n)), high);
        assert.equal(format.encode(neighbour(middle, -1n)), low);
      }
    });

    it('rounds numbers from half a step above the largest one on to infinity', () => {
      const [beforeLargest, largest] = values.slice(-2);
      assert.ok(beforeLargest !== undefined && largest !== undefined);
      assert.equal(format.overflow, largest + (largest - beforeLargest) / 2);
      assert.equal(format.encode(format.overflow), infinity);
      assert.equal(format.encode(neighbour(format.overflow, -1n)), infinity - 1);
      assert.equal(format.encode(-Number.MAX_VALUE), infinity | 0x8000);
    });

    it('gives the nearest number for any double', () => {
      const range = { min: -format.overflow, max: format.overflow, minExcluded: true, maxExcluded: true };
      const finite = fc.double({ ...range, noNaN: true });
      fc.assert(
        fc.property(finite, (value) => {
          const encoded = format.encode(value);
          const magnitude = encoded & 0x7fff;
          const error = Math.abs(Math.abs(value) - format.decode(magnitude));
          for (const near of [magnitude - 1, magnitude + 1]) {
            const other = values[near];
            if (other !== undefined) assert.ok(error <= Math.abs(Math.abs(value) - other));
          }
          assert.equal((encoded & 0x8000) !== 0, Object.is(Math.sign(value), -0) || value < 0);
        }),
      );
    });
  });
}
