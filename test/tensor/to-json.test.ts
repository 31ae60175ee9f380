import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { BytesWriter } from '../../src/tensor/bytes.js';
import { tensorFactory } from '../../src/tensor/output.js';
import type { Tensor } from '../../src/tensor/tensor.js';
import { detach } from './encode.js';

function bytesTensor(...elements: readonly (string | Uint8Array)[]): Tensor<'BYTES'> {
  const writer = new BytesWriter(elements.length);
  for (const element of elements) writer.append(element);
  return tensorFactory('BYTES')([elements.length], writer.finishOwned());
}

/** A tensor as a reader of its JSON sees it. */
function read(tensor: Tensor): unknown {
  return JSON.parse(JSON.stringify(tensor));
}

describe('the JSON of a tensor', () => {
  it('has datatype, shape and flat data', () => {
    const tensor = tensorFactory('FP32')([2, 2], Float32Array.of(1, 2, 0.5, -4).buffer);
    assert.deepEqual(read(tensor), { datatype: 'FP32', shape: [2, 2], data: [1, 2, 0.5, -4] });
  });

  it('keeps shapes without elements, and of rank 0', () => {
    assert.deepEqual(read(tensorFactory('INT8')([0, 3], new ArrayBuffer(0))), {
      datatype: 'INT8',
      shape: [0, 3],
      data: [],
    });
    assert.deepEqual(read(tensorFactory('INT8')([], Int8Array.of(7).buffer)), {
      datatype: 'INT8',
      shape: [],
      data: [7],
    });
  });

  it('has integers beyond 2^53 as their digits', () => {
    const most = BigInt(Number.MAX_SAFE_INTEGER);
    const tensor = tensorFactory('INT64')(
      [5],
      BigInt64Array.of(most, most + 1n, -most, -most - 1n, 0n).buffer,
    );
    assert.deepEqual(read(tensor), {
      datatype: 'INT64',
      shape: [5],
      data: [9007199254740991, '9007199254740992', -9007199254740991, '-9007199254740992', 0],
    });
    const unsigned = tensorFactory('UINT64')([1], BigUint64Array.of(2n ** 64n - 1n).buffer);
    assert.deepEqual(read(unsigned), { datatype: 'UINT64', shape: [1], data: ['18446744073709551615'] });
  });

  it('names the numbers that JSON does not have', () => {
    const tensor = tensorFactory('FP64')([4], Float64Array.of(NaN, Infinity, -Infinity, 1e300).buffer);
    assert.deepEqual(tensor.toJSON().data, ['NaN', 'Infinity', '-Infinity', 1e300]);
    const half = tensorFactory('FP16')([2], Uint16Array.of(0x7c00, 0x3c00).buffer);
    assert.deepEqual(half.toJSON().data, ['Infinity', 1]);
  });

  it('has booleans', () => {
    assert.deepEqual(tensorFactory('BOOL')([2], Uint8Array.of(1, 0).buffer).toJSON().data, [true, false]);
  });

  it('has BYTES as text, and as base64 where one of them is none', () => {
    assert.deepEqual(read(bytesTensor('ä', '')), { datatype: 'BYTES', shape: [2], data: ['ä', ''] });
    assert.deepEqual(read(bytesTensor('a', Uint8Array.of(255))), {
      datatype: 'BYTES',
      shape: [2],
      data: ['YQ==', '/w=='],
      encoding: 'base64',
    });
  });

  it('is refused where the data was transferred away', () => {
    const tensor = tensorFactory('FP32')([1], Float32Array.of(1).buffer);
    detach(tensor.data);
    assert.throws(() => JSON.stringify(tensor), { code: 'INVALID_ARG', message: /was transferred/ });
  });
});
