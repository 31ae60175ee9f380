import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { onnxRuntime } from '../support/onnx/run.js';
import { encode, refusal } from './encode.js';

const { Tensor } = onnxRuntime();

describe("a tensor of onnxruntime's", () => {
  it('is taken with its shape', () => {
    const tensor = new Tensor('float32', Float32Array.of(1, 2, 3, 4), [2, 2]);
    const encoded = encode('FP32', [2], tensor);
    assert.deepEqual(encoded.shape, [2, 2]);
    assert.deepEqual([...encoded.data], [1, 2, 3, 4]);
  });

  it('is taken for each datatype of the same meaning', () => {
    const { data: int64 } = encode('INT64', [1], new Tensor('int64', BigInt64Array.of(7n), [1, 1]));
    assert.deepEqual([...int64], [7n]);
    const { data: bool } = encode('BOOL', [2], new Tensor('bool', Uint8Array.of(1, 0), [1, 2]));
    assert.deepEqual([...bool], [1, 0]);
    const { data: half } = encode('FP16', [1], new Tensor('float16', Uint16Array.of(0x3c00), [1, 1]));
    assert.deepEqual([...half], [0x3c00]);
    const { data: text } = encode('BYTES', [2], new Tensor('string', ['a', 'bc'], [1, 2]));
    assert.deepEqual([...text], [1, 0, 0, 0, 97, 2, 0, 0, 0, 98, 99]);
  });

  it('is refused where its type is another one', () => {
    const int32 = new Tensor('int32', Int32Array.of(1, 2), [1, 2]);
    assert.match(
      refusal(() => encode('FP32', [2], int32)),
      /datatype 'INT32' of shape \[1,2\]/,
    );
    const odd = { data: Float32Array.of(1, 2), dims: [1, 2], type: 'toString' };
    assert.match(
      refusal(() => encode('FP32', [2], odd)),
      /datatype 'toString' of shape/,
    );
  });

  it('is refused where its dims are not those of the model', () => {
    const flat = new Tensor('float32', Float32Array.of(1, 2), [2]);
    assert.match(
      refusal(() => encode('FP32', [2], flat)),
      /shape \[2\]: expected \[N,2\]/,
    );
  });
});
