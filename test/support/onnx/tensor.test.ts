import assert from 'node:assert/strict';
import { test } from 'node:test';
import { tensorMessage } from './tensor.js';

test('numbers become little-endian values of the datatype', () => {
  assert.deepEqual(tensorMessage('t', 'INT16', [2], [1, -2]).rawData, Uint8Array.of(1, 0, 0xfe, 0xff));
  assert.deepEqual(tensorMessage('t', 'INT64', [1], [-1]).rawData, new Uint8Array(8).fill(0xff));
  assert.deepEqual(tensorMessage('t', 'BOOL', [2], [true, false]).rawData, Uint8Array.of(1, 0));
});

test('a typed array is taken with its offset', () => {
  const part = Uint8Array.of(7, 8, 9).subarray(1);
  assert.deepEqual(tensorMessage('t', 'UINT8', [2], part).rawData, Uint8Array.of(8, 9));
});

test('strings are kept as UTF-8', () => {
  assert.deepEqual(tensorMessage('t', 'BYTES', [1], ['é']).stringData, [Uint8Array.of(0xc3, 0xa9)]);
});

test('a wrong number of values names the tensor and both counts', () => {
  assert.throws(
    () => tensorMessage('t', 'FP32', [2, 3], [1]),
    /tensor 't' of shape \[2,3\] needs 6 values, got 1/,
  );
  assert.throws(() => tensorMessage('t', 'BYTES', [2], ['a']), /needs 2 values, got 1/);
});

test('half floats are refused as numbers', () => {
  assert.throws(() => tensorMessage('t', 'FP16', [1], [1]), /Uint16Array of their bits/);
});
