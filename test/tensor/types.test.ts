import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Datatype } from '../../src/tensor/datatype.js';
import { tensorFactory } from '../../src/tensor/output.js';
import type { AnyTensor, Tensor } from '../../src/tensor/tensor.js';
import type { Inputs, TensorInput } from '../../src/tensor/inputs.js';
import type { DataOf, NestedArray } from '../../src/tensor/types.js';

type Same<A, B> = [A] extends [B] ? ([B] extends [A] ? true : false) : false;

/** Compiles only if both types are equal. */
function same<A, B>(proof: Same<A, B>): void {
  assert.ok(proof);
}

const tensor: AnyTensor = tensorFactory('FP32')([2], Float32Array.of(1, 2).buffer);

describe('the types of tensors', () => {
  it('narrow data by datatype', () => {
    const check = (any: AnyTensor): void => {
      if (any.datatype === 'BYTES') same<typeof any.data, Buffer[]>(true);
      if (any.datatype === 'FP16') same<typeof any.data, Uint16Array<ArrayBuffer>>(true);
      if (any.datatype === 'INT64') same<typeof any.data, BigInt64Array<ArrayBuffer>>(true);
      assert.ok(any.datatype === 'FP32');
      same<typeof any.data, Float32Array<ArrayBuffer>>(true);
      assert.equal(any.data[0], 1);
    };
    check(tensor);
  });

  it('give data its class after as()', () => {
    const { data } = tensor.as('FP32');
    same<typeof data, Float32Array<ArrayBuffer>>(true);
    const elements = tensorFactory('BYTES')([0], new ArrayBuffer(0)).as('BYTES').data;
    same<typeof elements, Buffer[]>(true);
    assert.equal(data.length - elements.length, 2);
  });

  it('give the elements of toArray() by datatype', () => {
    same<ReturnType<Tensor<'BOOL'>['toArray']>, NestedArray<boolean>>(true);
    same<ReturnType<Tensor<'UINT64'>['toArray']>, NestedArray<bigint>>(true);
    same<ReturnType<Tensor<'BF16'>['toArray']>, NestedArray<number>>(true);
    same<ReturnType<Tensor<'BYTES'>['toArray']>, NestedArray<Buffer>>(true);
    // Every datatype's array can be iterated and indexed without a cast.
    for (const row of tensor.toArray()) assert.equal(typeof row, 'number');
    const rows: readonly unknown[] = tensorFactory('FP32')([1, 2], Float32Array.of(1, 2).buffer).toArray();
    assert.deepEqual(rows[0], [1, 2]);
  });

  it('let every tensor be a Tensor and one of AnyTensor', () => {
    const all: readonly Tensor[] = [tensor];
    const any: readonly AnyTensor[] = [tensorFactory('BYTES')([0], new ArrayBuffer(0)), tensor];
    same<DataOf<Datatype>, Tensor['data']>(true);
    assert.equal(all.length + any.length, 3);
  });

  it('take as inputs what is taken at run time', () => {
    const inputs: Inputs = {
      floats: new Float32Array(1),
      shared: new Uint8Array(new SharedArrayBuffer(1)),
      nested: [
        [1, 2],
        [3n, true],
      ],
      rows: [new Float32Array(1)],
      texts: [['a', Uint8Array.of(1)]],
      text: 'a',
      shaped: { data: [1], shape: [1] as const, datatype: 'FP32' },
      tensor,
      clone: structuredClone(tensorFactory('BYTES')([0], new ArrayBuffer(0))),
      absent: undefined,
    };
    // @ts-expect-error A number is no tensor.
    const number: TensorInput = 1;
    // @ts-expect-error Neither is a shape on its own.
    const shape: TensorInput = { shape: [1] };
    assert.ok(Object.keys(inputs).length > 0 && number !== shape);
  });
});
