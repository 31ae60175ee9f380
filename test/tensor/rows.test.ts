/** row, rows, topK and argMax of tensors. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { BytesWriter } from '../../src/tensor/bytes.js';
import { atOnce } from '../../src/slices.js';
import { classify } from '../../src/tensor/classification.js';
import { datatypeNumber, datatypeSize, type Datatype } from '../../src/tensor/datatype.js';
import { bf16, fp16 } from '../../src/tensor/half.js';
import { tensorInto } from '../../src/tensor/into-check.js';
import { tensorFactory } from '../../src/tensor/output.js';
import type { AnyTensor } from '../../src/tensor/tensor.js';
import { detach } from './encode.js';

const datatypes = Object.keys(datatypeNumber) as Datatype[];

/** A tensor of any numeric datatype from its array. */
function tensor(datatype: Datatype, shape: readonly number[], data: ArrayBufferView): AnyTensor {
  return tensorFactory(datatype)(shape, data.buffer as ArrayBuffer) as AnyTensor;
}

function strings(shape: readonly number[], ...elements: readonly string[]): AnyTensor {
  const writer = new BytesWriter(elements.length);
  for (const element of elements) writer.append(element);
  return tensorFactory('BYTES')(shape, writer.finishOwned());
}

/** A tensor of shape [2,3] of each datatype, and its elements as `toArray` returns them. */
const samples: readonly (readonly [AnyTensor, readonly unknown[][]])[] = [
  [
    tensor('BOOL', [2, 3], Uint8Array.of(0, 1, 1, 0, 0, 0)),
    [
      [false, true, true],
      [false, false, false],
    ],
  ],
  ...(
    [
      ['UINT8', Uint8Array],
      ['UINT16', Uint16Array],
      ['UINT32', Uint32Array],
      ['INT8', Int8Array],
      ['INT16', Int16Array],
      ['INT32', Int32Array],
      ['FP32', Float32Array],
      ['FP64', Float64Array],
    ] as const
  ).map(([datatype, array]): [AnyTensor, unknown[][]] => [
    tensor(datatype, [2, 3], array.of(1, 7, 7, 9, 2, 0)),
    [
      [1, 7, 7],
      [9, 2, 0],
    ],
  ]),
  [
    // As doubles, the first two and the last two would be equal.
    tensor('INT64', [2, 3], BigInt64Array.of(2n ** 62n, 2n ** 62n + 1n, -1n, -(2n ** 63n), 5n, 5n)),
    [
      [2n ** 62n, 2n ** 62n + 1n, -1n],
      [-(2n ** 63n), 5n, 5n],
    ],
  ],
  [
    tensor('UINT64', [2, 3], BigUint64Array.of(2n ** 64n - 2n, 2n ** 64n - 1n, 0n, 1n, 1n, 0n)),
    [
      [2n ** 64n - 2n, 2n ** 64n - 1n, 0n],
      [1n, 1n, 0n],
    ],
  ],
  // As bits, negative numbers would be the largest.
  ...(['FP16', 'BF16'] as const).map((datatype): [AnyTensor, unknown[][]] => {
    const format = datatype === 'FP16' ? fp16 : bf16;
    return [
      tensor(
        datatype,
        [2, 3],
        Uint16Array.from([-4, 0.5, 2, -1, -Infinity, -2], (value) => format.encode(value)),
      ),
      [
        [-4, 0.5, 2],
        [-1, -Infinity, -2],
      ],
    ];
  }),
  [
    strings([2, 3], 'a', 'b', '', 'c', 'd', 'é'),
    [['a', 'b', ''].map((text) => Buffer.from(text)), ['c', 'd', 'é'].map((text) => Buffer.from(text))],
  ],
];

/** The expected result of `topK`: a sort in the documented order. */
function sorted(row: readonly unknown[]): { index: number; value: unknown }[] {
  const isNaN = Number.isNaN;
  const list = row.map((value, index) => ({ index, value: value as number | bigint | boolean }));
  return list.sort((a, b) => {
    if (isNaN(a.value) || isNaN(b.value))
      return Number(isNaN(a.value)) - Number(isNaN(b.value)) || a.index - b.index;
    return a.value > b.value ? -1 : a.value < b.value ? 1 : a.index - b.index;
  });
}

describe('rows of a tensor', () => {
  it('are tried for every datatype', () => {
    assert.deepEqual(new Set(samples.map(([{ datatype }]) => datatype)), new Set(datatypes));
  });

  for (const [one, expected] of samples) {
    const { datatype } = one;
    it(`of ${datatype} have their elements`, () => {
      const plain = (row: ArrayLike<unknown>): unknown[] =>
        Array.from(row, (value) => (datatype === 'BOOL' ? value === 1 : value));
      assert.deepEqual(one.rows().map(plain), expected);
      assert.deepEqual([plain(one.row(0)), plain(one.row(1))], expected);
    });

    it(`of ${datatype} ${datatypeSize[datatype] === 2 && datatype.includes('F') ? 'are copies' : 'are views'}`, () => {
      const { data } = one;
      const row = one.row(1);
      if (datatype === 'BYTES') {
        assert.equal(row[0], data[3]);
        assert.ok(Array.isArray(row));
        return;
      }
      assert.ok(ArrayBuffer.isView(row) && ArrayBuffer.isView(data));
      const isCopy = datatype === 'FP16' || datatype === 'BF16';
      assert.equal(row.buffer === data.buffer, !isCopy);
      assert.equal(row.constructor, isCopy ? Float32Array : data.constructor);
    });

    if (datatype === 'BYTES') continue;
    it(`of ${datatype} have largest elements in their order`, () => {
      const order = expected.map(sorted);
      for (const k of [1, 2, 3, 4, 1000]) {
        assert.deepEqual(
          one.topK(k),
          order.map((row) => row.slice(0, k)),
        );
      }
      assert.deepEqual(
        one.argMax(),
        order.map((row) => row[0]?.index),
      );
    });
  }

  it('put NaN last, and equal elements by index, however many are asked for', () => {
    const row = Array.from({ length: 100 }, (_, i) => [NaN, 0, -0, 1, Infinity, -Infinity][(i * 7) % 6] ?? 0);
    const one = tensor('FP32', [1, 100], Float32Array.from(row));
    for (const k of [1, 31, 32, 33, 34, 99, 100]) assert.deepEqual(one.topK(k), [sorted(row).slice(0, k)]);
    assert.deepEqual(one.argMax(), [sorted(row)[0]?.index]);
    const nothing = tensor('FP64', [2, 2], Float64Array.of(NaN, NaN, NaN, -1));
    assert.deepEqual(nothing.argMax(), [0, 1]);
  });

  it('are ordered as in a classification', () => {
    for (const [one] of samples) {
      if (['BOOL', 'FP16', 'BF16', 'BYTES'].includes(one.datatype)) continue;
      const classes = atOnce(classify(one, { count: 3, batched: true, model: 'm', output: 'y' })).strings();
      assert.deepEqual(
        one.topK(3).flatMap((row) => row.map(({ index }) => index)),
        classes.map((text) => Number(text.split(':')[1])),
      );
    }
  });

  it('are what belongs to one index of the first dim', () => {
    const of = (...shape: number[]): AnyTensor => tensor('INT32', shape, Int32Array.of(0, 5, 2, 3, 4, 1));
    assert.deepEqual(of(6).argMax(), [1]);
    assert.deepEqual([...of(6).row(0)], [0, 5, 2, 3, 4, 1]);
    assert.deepEqual(of(2, 3).argMax(), [1, 1]);
    assert.deepEqual(of(3, 2).argMax(), [1, 1, 0]);
    assert.deepEqual(of(2, 1, 3).argMax(), [1, 1]);
    assert.deepEqual(of(1, 2, 3).argMax(), [1]);
    assert.deepEqual([...of(1, 2, 3).row(0)], [0, 5, 2, 3, 4, 1]);
    const scalar = tensor('FP32', [], Float32Array.of(3));
    assert.deepEqual([...scalar.row(0)], [3]);
    assert.deepEqual(scalar.topK(2), [[{ index: 0, value: 3 }]]);
  });

  it('may be none, or empty', () => {
    const of = (...shape: number[]): AnyTensor => tensor('FP32', shape, new Float32Array(0));
    assert.deepEqual(of(0, 3).rows(), []);
    assert.deepEqual(of(0, 3).topK(1), []);
    assert.deepEqual(of(0, 3).argMax(), []);
    assert.deepEqual(of(2, 0).rows(), [new Float32Array(0), new Float32Array(0)]);
    assert.deepEqual(of(2, 0).topK(1), [[], []]);
    assert.deepEqual(of(0).rows(), [new Float32Array(0)]);
    assert.deepEqual(of(0).topK(1), [[]]);
    assert.deepEqual(of(2 ** 31 - 1, 2 ** 31 - 1, 0).row(2 ** 31 - 2), new Float32Array(0));
  });

  it('are methods of the class, which cost a result nothing', () => {
    assert.deepEqual(Object.keys(samples[1]?.[0] ?? {}), ['datatype', 'shape', 'data']);
  });

  it("are views of the caller's array where that has the output", () => {
    const own = new Float32Array(new SharedArrayBuffer(24));
    own.set([1, 2, 3, 4, 5, 6]);
    const one = tensorInto('FP32', [2, 3], own) as AnyTensor;
    const row = one.row(1) as Float32Array;
    own[3] = 9;
    assert.deepEqual([...row], [9, 5, 6]);
    assert.deepEqual(one.argMax(), [2, 0]);
  });
});

describe('refused', () => {
  const sample = (): AnyTensor => tensor('FP32', [2, 3], Float32Array.of(1, 2, 3, 4, 5, 6));
  const one = (): AnyTensor => tensor('FP32', [3], Float32Array.of(1, 2, 3));
  const none = (...shape: number[]): AnyTensor => tensor('FP32', shape, new Float32Array(0));
  const moved = (): AnyTensor => {
    const sent = sample();
    detach(sent.data as Float32Array<ArrayBuffer>);
    return sent;
  };
  const bad = (value: unknown): number => value as number;
  const cases: readonly (readonly [string, () => unknown, RegExp])[] = [
    ['a row too far', () => sample().row(2), /shape \[2,3\] has rows 0 to 1, but row\(\) got 2$/],
    ['a negative row', () => sample().row(-1), /but row\(\) got -1$/],
    ['half a row', () => sample().row(0.5), /but row\(\) got 0.5$/],
    ['no number', () => sample().row(bad('0')), /but row\(\) got the string '0'$/],
    ['nothing', () => sample().row(bad(undefined)), /but row\(\) got undefined$/],
    ['NaN', () => sample().row(NaN), /but row\(\) got NaN$/],
    ['a second row of rank 1', () => one().row(1), /has one row, 0, but row\(\) got 1$/],
    ['a row of none', () => none(0, 3).row(0), /has no rows, but row\(\) got 0$/],
    ['k of 0', () => sample().topK(0), /topK\(\) takes an integer of at least 1, but got 0$/],
    ['k of a half', () => sample().topK(1.5), /but got 1.5$/],
    ['k of no number', () => sample().topK(bad({})), /but got an object$/],
    ['no k', () => sample().topK(bad(undefined)), /but got undefined$/],
    ['topK of strings', () => strings([1, 1], 'a').topK(1), /has no largest elements: strings have no order/],
    [
      'argMax of strings',
      () => strings([1, 1], 'a').argMax(),
      /has no largest elements: strings have no order/,
    ],
    ['argMax of empty rows', () => none(2, 0).argMax(), /its rows are empty/],
    ['argMax of an empty row', () => none(0).argMax(), /its rows are empty/],
    ['row of a moved buffer', () => moved().row(0), /its buffer was transferred/],
    ['rows of a moved buffer', () => moved().rows(), /its buffer was transferred/],
    ['topK of a moved buffer', () => moved().topK(1), /its buffer was transferred/],
    ['argMax of a moved buffer', () => moved().argMax(), /its buffer was transferred/],
    ['rows without end', () => none(2 ** 31 - 1, 0).rows(), /has 2147483647 rows without elements/],
    ['topK without end', () => none(2 ** 31 - 1, 0).topK(1), /has 2147483647 rows without elements/],
    ['argMax without end', () => none(2 ** 31 - 1, 0).argMax(), /has 2147483647 rows without elements/],
  ];
  for (const [name, call, message] of cases) {
    it(name, () => {
      assert.throws(call, { name: 'TritonError', code: 'INVALID_ARG', message });
    });
  }
});
