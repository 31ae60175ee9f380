/** An array of elements is flat data, as a typed array is. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Datatype } from '../../src/tensor/datatype.js';
import { elementTypes } from '../../src/tensor/elements.js';
import { InputEncoder } from '../../src/tensor/input.js';
import type { TensorSpec } from '../../src/tensor/plan.js';
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

/** Dims, max_batch_size, how many elements, and the shape that they have. */
const forms: readonly (readonly [readonly number[], number, number, readonly number[]])[] = [
  [[3], 8, 3, [1, 3]],
  [[3], 1, 3, [1, 3]],
  [[3], 8, 6, [2, 3]],
  [[-1], 8, 3, [1, 3]],
  [[-1], 8, 1, [1, 1]],
  [[1, 1], 8, 2, [2, 1, 1]],
  [[2, 3], 8, 6, [1, 2, 3]],
  [[2, 3], 8, 12, [2, 2, 3]],
  [[-1, 3], 8, 6, [1, 2, 3]],
  [[2, 3], 0, 6, [2, 3]],
  [[2, -1], 0, 6, [2, 3]],
  [[3], 0, 3, [3]],
];

describe('an array of elements', () => {
  for (const [datatype, list] of Object.entries(elements) as [Datatype, readonly unknown[]][]) {
    it(`of ${datatype} is what a typed array of them is`, () => {
      for (const [dims, most, count, shape] of forms) {
        const flat = Array.from({ length: count }, (_, i) => list[i % list.length]);
        const encoded = encode(datatype, dims, flat, most);
        assert.deepEqual([...encoded.shape], shape);
        const told = encode(datatype, dims, { data: flat, shape }, most);
        assert.deepEqual(wireBytes(encoded), wireBytes(told));
        if (datatype === 'BYTES') continue;
        const typed = elementTypes[datatype].create(count);
        assert.deepEqual([...encode(datatype, dims, typed, most).shape], shape);
      }
    });
  }

  it('has the batch of the other inputs where its dims vary', () => {
    const encoder = encoderOf(8, ['ids', 'INT64', [-1]], ['marks', 'FP32', [2]]);
    const nested = [
      [1, 2],
      [3, 4],
    ];
    for (const marks of [new Float32Array(4), [1, 2, 3, 4], nested]) {
      const shapes = encoder({ ids: [1n, 2, 3n, 4, 5, 6], marks }).map((one) => one?.shape);
      assert.deepEqual(shapes, [
        [2, 3],
        [2, 2],
      ]);
    }
    const message = refusal(() => encoder({ ids: [1, 2, 3], marks: new Float32Array(4) }), 'ids');
    assert.match(message, /but got an array of length 3, and the batch of other inputs is 2$/);
  });

  it('has the rows that an encoder is told of, where nothing else tells them', () => {
    for (const names of [['x'], ['x', 'y']]) {
      const inputs = names.map((name): TensorSpec => ({
        name,
        datatype: 'FP32',
        dims: [-1],
        optional: true,
      }));
      const encoder = new InputEncoder({ model: 'm', maxBatchSize: 8, inputs });
      for (const x of [[1, 2, 3, 4], Float32Array.of(1, 2, 3, 4)])
        assert.deepEqual([...(encoder.encode({ x }, 2).shapes[0] ?? [])], [2, 2]);
    }
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
      /an array of length 3: a batch of 3 is over max_batch_size/,
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
    ['part of an item', 'FP32', [2], 8, [1, 2, 3], /but got an array of length 3$/],
    ['less than an item', 'BYTES', [2, 2], 8, ['a'], /but got an array of length 1$/],
    ['part of a row where dims vary', 'INT64', [-1, 2], 8, [1n, 2n, 3n], /but got an array of length 3$/],
    ['two dims that vary', 'FP32', [-1, -1], 8, [1, 2], /array of length 2: for 2 variable dims pass/],
    ['too many for one item', 'FP32', [2, 1], 0, [1, 2, 3], /but got an array of length 3$/],
    ['a model without a batch dimension', 'FP32', [1], 0, [1, 2], /shape \[2\]/],
    ['no element where dims vary', 'FP32', [-1], 8, [], /shape \[0\]/],
    ['no element in an array', 'FP32', [2], 8, [null], /but got null at \[0\]/],
    ['a number beyond the datatype', 'UINT8', [2], 8, [1, 256], /but got 256 at \[1\]/],
    ['text for numbers', 'FP32', [2], 8, ['1', '2'], /but got the string '1' at \[0\]/],
    ['a hole at the end', 'FP32', [3], 8, [1, 2, undefined], /but got undefined at \[2\]/],
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
