import assert from 'node:assert/strict';
import { test } from 'node:test';
import { difference, differences } from './compare.js';
import type { TensorValue } from './tensor-file.js';

const tolerance = { rtol: 1e-3, atol: 1e-7 };

function floats(...values: number[]): TensorValue {
  return { datatype: 'FP32', shape: [values.length], data: Float32Array.from(values) };
}

function compare(expected: TensorValue, actual: TensorValue): string | undefined {
  return difference(expected, actual, tolerance);
}

test('equal tensors do not differ', () => {
  assert.equal(compare(floats(1, -2, 0), floats(1, -2, 0)), undefined);
});

test('a float may be off by atol and rtol of the expected one', () => {
  assert.equal(compare(floats(1000), floats(1000.9)), undefined);
  assert.equal(compare(floats(0), floats(0.9e-7)), undefined);
});

test('a float beyond that differs, and the first one is told with how many there are', () => {
  assert.equal(
    compare(floats(1, 1000, 3), floats(1, 1002, 4)),
    'element 1 is 1002, expected 1000 (2 of 3 elements differ)',
  );
  assert.equal(compare(floats(0), floats(0.5)), 'element 0 is 0.5, expected 0');
});

test('the tolerance is relative to the expected value, not to the actual one', () => {
  const exact = { datatype: 'FP64', shape: [1] } as const;
  const small = { ...exact, data: Float64Array.of(1) };
  const large = { ...exact, data: Float64Array.of(1.0010005) };
  assert.notEqual(compare(small, large), undefined);
  assert.equal(compare(large, small), undefined);
});

test('NaN is NaN and nothing else', () => {
  assert.equal(compare(floats(NaN), floats(NaN)), undefined);
  assert.equal(compare(floats(NaN), floats(0)), 'element 0 is 0, expected NaN');
  assert.equal(compare(floats(0), floats(NaN)), 'element 0 is NaN, expected 0');
});

test('an infinity is only equal to itself', () => {
  assert.equal(compare(floats(Infinity, -Infinity), floats(Infinity, -Infinity)), undefined);
  assert.equal(compare(floats(Infinity), floats(-Infinity)), 'element 0 is -Infinity, expected Infinity');
  assert.equal(compare(floats(Infinity), floats(1024)), 'element 0 is 1024, expected Infinity');
  assert.equal(compare(floats(1), floats(Infinity)), 'element 0 is Infinity, expected 1');
});

test('half floats are compared as the numbers they stand for', () => {
  const fp16 = (bits: number): TensorValue => ({ datatype: 'FP16', shape: [1], data: Uint16Array.of(bits) });
  assert.equal(compare(fp16(0x3c00), fp16(0x3c01)), undefined);
  assert.equal(compare(fp16(0x3c00), fp16(0x3c02)), 'element 0 is 1.001953125, expected 1');
});

test('BF16 may be off by two units in the last place', () => {
  const bf16 = (bits: number): TensorValue => ({ datatype: 'BF16', shape: [1], data: Uint16Array.of(bits) });
  assert.equal(compare(bf16(0x3f80), bf16(0x3f82)), undefined);
  assert.equal(compare(bf16(0x3f80), bf16(0x3f83)), 'element 0 is 1.0234375, expected 1');
});

test('integers must be equal', () => {
  const data = Int32Array.of(1_000_000);
  const other = Int32Array.of(1_000_001);
  const shape = [1];
  assert.equal(compare({ datatype: 'INT32', shape, data }, { datatype: 'INT32', shape, data }), undefined);
  assert.equal(
    compare({ datatype: 'INT32', shape, data }, { datatype: 'INT32', shape, data: other }),
    'element 0 is 1000001, expected 1000000',
  );
});

test('64-bit integers are compared beyond what a number holds', () => {
  const int64 = (value: bigint): TensorValue => ({
    datatype: 'INT64',
    shape: [1],
    data: BigInt64Array.of(value),
  });
  assert.equal(compare(int64(2n ** 60n), int64(2n ** 60n)), undefined);
  assert.notEqual(compare(int64(2n ** 60n), int64(2n ** 60n + 1n)), undefined);
});

test('a UINT16 is not taken for half floats', () => {
  const uint16 = (value: number): TensorValue => ({
    datatype: 'UINT16',
    shape: [1],
    data: Uint16Array.of(value),
  });
  assert.equal(compare(uint16(0x3c00), uint16(0x3c01)), 'element 0 is 15361, expected 15360');
});

test('strings must have the same bytes', () => {
  const bytes = (...texts: string[]): TensorValue => ({
    datatype: 'BYTES',
    shape: [texts.length],
    data: texts.map((text) => Buffer.from(text)),
  });
  assert.equal(compare(bytes('a', 'ö\0'), bytes('a', 'ö\0')), undefined);
  assert.equal(compare(bytes('a', 'b'), bytes('a', 'B')), 'element 1 is "B", expected "b"');
});

test('another shape differs, even with as many elements', () => {
  const flat = floats(1, 2, 3, 4);
  assert.equal(compare(flat, { ...flat, shape: [2, 2] }), 'shape [2,2], expected [4]');
  assert.equal(compare(flat, { ...flat, shape: [4, 1] }), 'shape [4,1], expected [4]');
});

test('another datatype differs, even with the same elements', () => {
  const data = Uint8Array.of(0, 1);
  assert.equal(
    compare({ datatype: 'BOOL', shape: [2], data }, { datatype: 'UINT8', shape: [2], data }),
    'datatype UINT8, expected BOOL',
  );
});

test('data that does not fill its shape differs', () => {
  assert.equal(
    compare(floats(1, 2), { datatype: 'FP32', shape: [2], data: Float32Array.of(1) }),
    '1 elements, expected 2',
  );
});

test('tensors without elements are equal', () => {
  const empty: TensorValue = { datatype: 'FP32', shape: [0, 3], data: new Float32Array(0) };
  assert.equal(compare(empty, empty), undefined);
});

test('sets of outputs differ if one output differs, is missing or is additional', () => {
  const x = { ...floats(1), name: 'x' };
  const y = { ...floats(2), name: 'y' };
  assert.equal(differences([x, y], { x, y }, tolerance), undefined);
  assert.equal(differences([x, y], { x, y: x }, tolerance), "output 'y': element 0 is 1, expected 2");
  assert.equal(differences([x, y], { x }, tolerance), "output 'y': missing");
  assert.equal(differences([x], { x, y }, tolerance), 'outputs that are not expected: y');
});
