import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compareOutputs, type ExpectedOutput } from '../../src/perf/inputs/expected.js';
import { itemOfElements, type Item } from '../../src/perf/inputs/item.js';
import { inputRows } from '../../src/perf/inputs/input-rows.js';
import { generateRow } from '../../src/perf/inputs/generated.js';
import { planModel } from '../../src/perf/inputs/model-inputs.js';
import { randomOf } from '../../src/perf/inputs/random.js';
import type { Datatype } from '../../src/tensor/datatype.js';
import { tensorFactory } from '../../src/tensor/output.js';
import type { AnyTensor } from '../../src/tensor/tensor.js';
import { thrown } from '../support/harness.js';

type Elements = readonly (number | bigint | string | boolean)[];

const item = (datatype: Datatype, shape: readonly number[], elements: Elements): Item =>
  itemOfElements('here', 'y', datatype, shape, elements);

const tensor = (datatype: Datatype, shape: readonly number[], elements: Elements): AnyTensor => {
  const { bytes } = item(datatype, shape, elements);
  return tensorFactory(datatype)(shape, bytes.buffer) as AnyTensor;
};

function difference(rows: ExpectedOutput['rows'], output: AnyTensor, batched = false): string | undefined {
  return compareOutputs('m', [{ name: 'y', rows, batched }], { y: output })?.message;
}

test('only finite floats may be apart', () => {
  const one = (datatype: Datatype, wanted: number | bigint, got: number | bigint): string | undefined =>
    difference([item(datatype, [1], [wanted])], tensor(datatype, [1], [got]));
  for (const datatype of ['FP32', 'FP64'] as const) {
    assert.equal(one(datatype, 1, 1.00005), undefined);
    assert.equal(one(datatype, Infinity, Infinity), undefined);
    assert.equal(one(datatype, NaN, NaN), undefined);
    for (const got of [0, -Infinity, NaN, 1e30])
      assert.match(one(datatype, Infinity, got) ?? '', /element 0/);
    assert.match(one(datatype, 1, Infinity) ?? '', /element 0/);
  }
  assert.match(one('INT32', 1_000_000, 1_000_001) ?? '', /element 0 is 1000001, not 1000000/);
  assert.match(one('INT64', 1_000_000n, 1_000_001n) ?? '', /element 0/);
});

test('shapes are compared, and rows without an expectation are left out', () => {
  const six = [1, 2, 3, 4, 5, 6];
  assert.match(
    difference([item('FP32', [2, 3], six)], tensor('FP32', [3, 2], six)) ?? '',
    /it has shape \[3,2\], not \[2,3\]/,
  );
  const second = item('FP32', [1], [7]);
  assert.equal(difference([undefined, second], tensor('FP32', [2, 1], [9, 7]), true), undefined);
  assert.match(
    difference([undefined, second], tensor('FP32', [2, 1], [7, 9]), true) ?? '',
    /element 1 is 9, not 7/,
  );
});

test('requests have views of the rows, one after the other, and the first after the last', () => {
  const rows = [1, 2, 3].map((value) => item('INT16', [2], [value, -value]));
  const of = inputRows('here', 'x', rows, 2, true);
  const data = [0, 1, 2].map((at) => of(at)?.data as Int16Array);
  assert.deepEqual(
    data.map((view) => [...view]),
    [
      [1, -1, 2, -2],
      [2, -2, 3, -3],
      [3, -3, 1, -1],
    ],
  );
  assert.equal(new Set(data.map(({ buffer }) => buffer)).size, 1, 'rows are not copied for each request');
  const words = ['a', 'bc'].map((word) => item('BYTES', [1], [word]));
  const texts = inputRows('here', 'x', words, 3, true)(1);
  assert.ok(texts);
  assert.deepEqual(
    (texts.data as readonly Uint8Array[]).map((word) => Buffer.from(word).toString()),
    ['bc', 'a', 'bc'],
  );
  assert.deepEqual(texts.shape, [3, 1]);
  const uneven = inputRows('here', 'x', [item('INT8', [1], [1]), item('INT8', [2], [1, 2])], 2, true);
  assert.match(thrown(() => uneven(0)).message, /have the shapes \[1\] and \[2\] of 'x'/);
  const lacking = inputRows('here', 'x', [item('INT8', [1], [1]), undefined], 2, true);
  assert.match(thrown(() => lacking(0)).message, /some rows of a request have input 'x'/);
});

test('inputs that are too large to be generated are refused by name; optional ones are made if all are', () => {
  const metadata = {
    name: 'm',
    versions: ['1'],
    platform: '',
    inputs: [{ name: 'n', datatype: 'FP32' as const, shape: [-1] }],
    outputs: [],
  };
  const generator = { random: randomOf(1), zero: false, stringLength: 1, stringData: undefined };
  const model = planModel(metadata, undefined, new Map([['n', [99_999_999_999]]]));
  assert.match(
    thrown(() => generateRow(model, generator)).message,
    /input 'n' of shape \[99999999999\] is too large/,
  );
  const small = planModel(metadata, undefined, new Map([['n', [2]]]));
  const optional = { ...small, inputs: small.inputs.map((input) => ({ ...input, optional: true })) };
  assert.deepEqual([...generateRow(optional, generator).keys()], ['n']);
});
