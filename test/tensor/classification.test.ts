import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from '../support/fast-check.js';
import { atOnce } from '../../src/slices.js';
import { classify, type ClassificationOptions } from '../../src/tensor/classification.js';
import { tensorFactory } from '../../src/tensor/output.js';
import type { AnyTensor } from '../../src/tensor/tensor.js';
import { refusal } from './encode.js';

function floats(shape: number[], ...values: number[]): AnyTensor {
  return tensorFactory('FP64')(shape, Float64Array.from(values).buffer);
}

function classesOf(tensor: AnyTensor, options: Partial<ClassificationOptions> = {}): string[] {
  return atOnce(
    classify(tensor, { count: 3, batched: false, model: 'm', output: 'y', ...options }),
  ).strings();
}

describe('classification', () => {
  it('lists the largest elements with their indexes, largest first', () => {
    assert.deepEqual(classesOf(floats([4], 0.1, 0.7, -2, 0.2)), ['0.700000:1', '0.200000:3', '0.100000:0']);
  });

  it('adds the label of an index that has one', () => {
    const labels = ['cat', '', 'a dog: big\r'];
    const expected = ['4.000000:3', '3.000000:2:a dog: big\r', '2.000000:1', '1.000000:0:cat'];
    assert.deepEqual(classesOf(floats([4], 1, 2, 3, 4), { count: 4, labels }), expected);
  });

  it('counts for each item of a batch and takes all further dims as one', () => {
    const tensor = floats([2, 2, 2], 1, 2, 3, 4, 8, 7, 6, 5);
    const classes = atOnce(classify(tensor, { count: 2, batched: true, model: 'm', output: 'y' }));
    assert.deepEqual(classes.shape, [2, 2]);
    assert.deepEqual(classes.strings(), ['4.000000:3', '3.000000:2', '8.000000:0', '7.000000:1']);
  });

  it('takes all dims as one for a model without a batch', () => {
    const tensor = floats([2, 2], 1, 2, 3, 4);
    const classes = atOnce(classify(tensor, { count: 1, batched: false, model: 'm', output: 'y' }));
    assert.deepEqual([classes.shape, classes.strings()], [[1], ['4.000000:3']]);
  });

  it('gives no more classes than there are elements', () => {
    for (const [shape, batched, expected] of [
      [[2], false, [2]],
      [[1, 2], true, [1, 2]],
      [[2, 1], true, [2, 1]],
      [[0], false, [0]],
      [[2, 0], true, [2, 0]],
      [[2 ** 31 - 1, 0], true, [2 ** 31 - 1, 0]],
    ] as const) {
      const values = new Array<number>(shape.reduce<number>((a, b) => a * b, 1)).fill(1);
      const tensor = floats([...shape], ...values);
      const classes = atOnce(classify(tensor, { count: 9, batched, model: 'm', output: 'y' }));
      assert.deepEqual(classes.shape, expected);
      assert.equal(classes.strings().length, values.length);
    }
  });

  it('orders equal values by index and puts NaN last', () => {
    const values = [NaN, 1, 2, 1, NaN, 2, -Infinity];
    for (const padding of [0, 100]) {
      const tensor = floats([7 + padding], ...values, ...new Array<number>(padding).fill(NaN));
      assert.deepEqual(classesOf(tensor, { count: 7 + padding }).slice(0, 7), [
        '2.000000:2',
        '2.000000:5',
        '1.000000:1',
        '1.000000:3',
        '-inf:6',
        'nan:0',
        'nan:4',
      ]);
    }
  });

  it('finds the same classes whether it picks a few or sorts all', () => {
    const value = fc.oneof(fc.constantFrom(0, 1, NaN, Infinity), fc.double());
    fc.assert(
      fc.property(fc.array(value, { maxLength: 80 }), fc.integer({ min: 1, max: 80 }), (values, count) => {
        const indexes = (classes: string[]): number[] => classes.map((text) => Number(text.split(':')[1]));
        const sorted = values
          .map((_, index) => index)
          .sort((a, b) => {
            const [x, y] = [values[a] ?? 0, values[b] ?? 0];
            return (
              Number(Number.isNaN(x)) - Number(Number.isNaN(y)) || Number(y > x) - Number(y < x) || a - b
            );
          });
        assert.deepEqual(
          indexes(classesOf(floats([values.length], ...values), { count })),
          sorted.slice(0, count),
        );
      }),
    );
  });

  it('prints integers plainly', () => {
    const integers = tensorFactory('INT32')([2], Int32Array.of(-5, 7).buffer);
    assert.deepEqual(classesOf(integers), ['7:1', '-5:0']);
    const large = tensorFactory('UINT64')([2], BigUint64Array.of(2n ** 64n - 1n, 0n).buffer);
    assert.deepEqual(classesOf(large), ['18446744073709551615:0', '0:1']);
  });

  it('prints floats with six decimals as C does', () => {
    for (const [value, text] of [
      [0.7, '0.700000'],
      [Math.fround(0.7), '0.700000'],
      [-0, '-0.000000'],
      [-1e-9, '-0.000000'],
      [1e-7, '0.000000'],
      [5e-7, '0.000000'],
      [1 / 128, '0.007812'],
      [3 / 128, '0.023438'],
      [-5 / 128, '-0.039062'],
      [123456.7890625, '123456.789062'],
      [1e20, '100000000000000000000.000000'],
      [1e21, '1000000000000000000000.000000'],
      [-1.5e300, `-${BigInt(1.5e300)}.000000`],
      [Infinity, 'inf'],
    ] as const) {
      assert.deepEqual(classesOf(floats([1], value)), [`${text}:0`]);
    }
  });

  it('is refused for booleans, 16-bit floats and bytes', () => {
    for (const datatype of ['BOOL', 'FP16', 'BF16', 'BYTES'] as const) {
      const tensor = tensorFactory(datatype)([0], new ArrayBuffer(0)) as AnyTensor;
      assert.equal(
        refusal(() => classesOf(tensor), 'y'),
        `model 'm', output 'y': classification takes integers, FP32 and FP64, but the output is ${datatype}`,
      );
    }
  });

  it('is refused for a count that is no positive integer', () => {
    for (const count of [0, -1, 1.5, NaN]) {
      assert.match(
        refusal(() => classesOf(floats([1], 1), { count }), 'y'),
        /must be a positive integer, but got/,
      );
    }
  });

  it('pauses often, whatever is asked for', () => {
    const size = 2 ** 20;
    for (const [what, valueAt, shape, count] of [
      ['few of one item', () => 1, [size], 1],
      ['each value above all before', (i: number) => i, [size], 1000],
      ['many of one item', (i: number) => -i, [size], 2 ** 16],
      ['one of many items', (i: number) => i, [2 ** 16, 16], 1],
    ] as const) {
      const values = Float64Array.from({ length: size }, (_, i) => valueAt(i));
      const work = classify(tensorFactory('FP64')([...shape], values.buffer), {
        count,
        batched: shape.length > 1,
        model: 'm',
        output: 'y',
      });
      let pauses = 0;
      while (work.next().done !== true) pauses++;
      assert.ok(pauses >= 128, `${what}: ${pauses} pauses`);
    }
  });

  it('is refused beyond its limits before any work', () => {
    for (const [shape, count, message] of [
      [
        [2 ** 20 + 1],
        1,
        /takes outputs of at most 1048576 elements, but this one has 1048577: ask for its values/,
      ],
      [[2, 2 ** 19 + 1], 1, /at most 1048576 elements/],
      [[2 ** 17, 2], 1, /returns at most 65536 classes, but 131072 items with 1 classes each were requested/],
      [[2 ** 16 + 1], 2 ** 16 + 1, /returns at most 65536 classes, but 1 items with 65537 classes/],
    ] as const) {
      const values = new Float64Array(shape.reduce<number>((a, b) => a * b, 1));
      const tensor = tensorFactory('FP64')([...shape], values.buffer);
      const options = { count, batched: shape.length > 1, model: 'm', output: 'y' };
      // The first step of the work has not paused.
      assert.match(
        refusal(() => classify(tensor, options).next(), 'y'),
        message,
      );
    }
  });
});
