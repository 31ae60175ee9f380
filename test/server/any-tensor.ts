/** Random tensors of every datatype, made of bits instead of values, for tests that compare bit by bit. */

import assert from 'node:assert/strict';
import fc from '../support/fast-check.js';
import type { AnyTensor, Datatype, ShapedInput, TypedArray } from '../../src/index.js';
import { datatypeNumber, datatypeSize } from '../../src/tensor/datatype.js';
import { random } from '../support/onnx/random.js';

/** All fourteen datatypes, in Triton's order. */
export const datatypes: readonly Datatype[] = Object.keys(datatypeNumber) as Datatype[];

/** A tensor to send. The answer must have the same `content`: the bytes of its data, or the elements of BYTES. */
export interface Sample {
  readonly input: ShapedInput;
  readonly content: Buffer | readonly Buffer[];
}

/** A typed array of a datatype over some bytes. */
function view(datatype: Exclude<Datatype, 'BYTES'>, { buffer }: Uint8Array): TypedArray {
  switch (datatype) {
    case 'BOOL':
    case 'UINT8':
      return new Uint8Array(buffer);
    case 'UINT16':
    case 'FP16':
    case 'BF16':
      return new Uint16Array(buffer);
    case 'UINT32':
      return new Uint32Array(buffer);
    case 'UINT64':
      return new BigUint64Array(buffer);
    case 'INT8':
      return new Int8Array(buffer);
    case 'INT16':
      return new Int16Array(buffer);
    case 'INT32':
      return new Int32Array(buffer);
    case 'INT64':
      return new BigInt64Array(buffer);
    case 'FP32':
      return new Float32Array(buffer);
    case 'FP64':
      return new Float64Array(buffer);
  }
}

/**
 * A tensor of random bits, with NaNs of every payload, NUL bytes, and invalid UTF-8 in BYTES.
 *
 * @param shape - The full shape.
 * @param seed - Equal seeds have equal results.
 */
export function sample(datatype: Datatype, shape: readonly number[], seed: number): Sample {
  const numbers = random(seed);
  const count = shape.reduce((product, dim) => product * dim, 1);
  const bytes = (length: number): Uint8Array => {
    const data = new Uint8Array(length);
    for (let i = 0; i < length; i++) {
      // A third of the bytes are zero, and a third 0xff, with which float NaNs begin.
      const number = numbers.integer(768);
      data[i] = number < 256 ? number : number < 512 ? 0 : 0xff;
    }
    return data;
  };
  if (datatype === 'BYTES') {
    const content = Array.from({ length: count }, () => Buffer.from(bytes(numbers.integer(7))));
    return { input: { data: content, shape }, content };
  }
  const data = bytes(count * datatypeSize[datatype]);
  if (datatype === 'BOOL') data.forEach((byte, i) => (data[i] = byte & 1));
  return { input: { data: view(datatype, data), shape, datatype }, content: Buffer.from(data) };
}

/** Fails unless a tensor equals the sent one, bit by bit. */
export function assertSame(tensor: AnyTensor | undefined, datatype: Datatype, sent: Sample): void {
  assert.ok(tensor, 'no such output');
  assert.equal(tensor.datatype, datatype);
  assert.deepEqual(tensor.shape, sent.input.shape);
  // Buffers are compared separately, because deepEqual is slow for large ones.
  const { content } = sent;
  if (tensor.datatype === 'BYTES') {
    assert.equal(tensor.data.length, content.length);
    tensor.data.forEach((element, i) => {
      const expected = content[i];
      assert.ok(Buffer.isBuffer(expected) && element.equals(expected), `another element ${i}`);
    });
  } else {
    const { buffer, byteOffset, byteLength } = tensor.data;
    const bytes = Buffer.from(buffer, byteOffset, byteLength);
    assert.ok(Buffer.isBuffer(content) && bytes.equals(content), 'other bytes');
  }
}

/** Up to four dims from 0 to 5, so at most 5 KiB of the widest datatype. */
export const anyDims: fc.Arbitrary<readonly number[]> = fc.array(fc.integer({ min: 0, max: 5 }), {
  maxLength: 4,
});

/** Seeds of {@link sample}. */
export const anySeed: fc.Arbitrary<number> = fc.integer({ min: 0, max: 2 ** 32 - 1 });
