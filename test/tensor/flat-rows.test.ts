/** An array of elements for a tensor of dims [1] with a batch dimension: one row for each. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Datatype } from '../../src/tensor/datatype.js';
import { encode, encoderOf, refusal, wireBytes } from './encode.js';

/** Elements of each datatype. */
const elements: Readonly<Record<Datatype, readonly unknown[]>> = {
  BOOL: [true, false, true],
  UINT8: [1, 2, 255],
  UINT16: [1, 2, 65535],
  UINT32: [1, 2, 4294967295],
  UINT64: [1n, 2, 2n ** 64n - 1n],
  INT8: [1, -2, 127],
  INT16: [1, -2, 32767],
  INT32: [1, -2, 7],
  INT64: [1n, -2, 3n],
  FP16: [1, -2, 0.5],
  BF16: [1, -2, 0.5],
  FP32: [1, -2, 0.5],
  FP64: [1, -2, 0.1],
  BYTES: ['a', new Uint8Array([1, 2]), ''],
};

describe('an array of N elements for dims [1]', () => {
  for (const [datatype, list] of Object.entries(elements) as [Datatype, readonly unknown[]][]) {
    it(`is N rows of ${datatype}, as the nested form`, () => {
      for (const count of [1, 2, 3]) {
        const some = list.slice(0, count);
        const flat = encode(datatype, [1], some);
        const nested = encode(
          datatype,
          [1],
          some.map((one) => [one]),
        );
        assert.deepEqual([...flat.shape], [count, 1]);
        assert.deepEqual(wireBytes(flat), wireBytes(nested));
      }
    });
  }

  it('tells the batch to the other inputs', () => {
    const encoder = encoderOf(8, ['texts', 'BYTES', [1]], ['marks', 'FP32', [-1]]);
    const shapes = encoder({ texts: ['a', 'b'], marks: new Float32Array(6) }).map((one) => one?.shape);
    assert.deepEqual(shapes, [
      [2, 1],
      [2, 3],
    ]);
  });

  it('stays nested where rows are written', () => {
    assert.deepEqual([...encode('FP32', [1], [Float32Array.of(1), [2]]).shape], [2, 1]);
    assert.deepEqual([...encode('BYTES', [1], [['a'], ['b']]).shape], [2, 1]);
  });
});

describe('refused', () => {
  const cases: readonly (readonly [string, Datatype, readonly number[], number, unknown, RegExp])[] = [
    [
      'more rows than a batch',
      'BYTES',
      [1],
      2,
      ['a', 'b', 'c'],
      /shape \[3,1\]: a batch of 3 is over max_batch_size/,
    ],
    [
      'a value that is no element',
      'FP32',
      [1],
      8,
      [1, 'a'],
      /expected FP32 .*, but got the string 'a' at \[1\]/,
    ],
    ['a hole', 'BYTES', [1], 8, ['a', undefined], /but got undefined at \[1\]/],
    [
      'an array among elements',
      'FP32',
      [1],
      8,
      [1, [2]],
      /ragged nesting: an array at \[1\], where others have an element/,
    ],
    [
      'an element among arrays',
      'FP32',
      [1],
      8,
      [[1], 2],
      /ragged nesting: .* at \[1\], where others have arrays/,
    ],
    [
      'a typed row among elements',
      'FP32',
      [1],
      8,
      [1, Float32Array.of(2)],
      /but got Float32Array of length 1 at \[1\]/,
    ],
    ['no element at all', 'BYTES', [1], 8, [], /shape \[0\]/],
    // Where there are two readings, the nesting decides.
    ['dims that vary', 'FP32', [-1], 8, [1, 2], /for one item pass \[1,2\]/],
    ['other dims', 'FP32', [2], 8, [1, 2], /for one item pass \[1,2\]/],
    ['two dims of 1', 'FP32', [1, 1], 8, [1, 2], /shape \[2\]/],
    ['a model without a batch dimension', 'FP32', [1], 0, [1, 2], /shape \[2\]/],
  ];
  for (const [name, datatype, dims, most, value, says] of cases) {
    it(name, () => {
      assert.match(
        refusal(() => encode(datatype, dims, value, most)),
        says,
      );
    });
  }
});
