/** Helpers of this folder's tests, to encode inputs and to check results and refusals. */

import assert from 'node:assert/strict';
import { TritonError } from '../../src/errors.js';
import type { Datatype } from '../../src/tensor/datatype.js';
import { InputEncoder } from '../../src/tensor/input.js';
import type { Inputs, TensorInput } from '../../src/tensor/inputs.js';
import { tensorFactory } from '../../src/tensor/output.js';
import type { AnyTensor } from '../../src/tensor/tensor.js';
import type { WireArray } from '../../src/tensor/views.js';

/** An input in wire layout. */
export interface EncodedInput {
  readonly shape: readonly number[];
  readonly data: WireArray;
  readonly byteLength: number;
}

/** An input as the tests write it: name, datatype, dims, and whether it is optional. */
export type InputRow = readonly [
  name: string,
  datatype: Datatype,
  dims: readonly number[],
  optional?: boolean,
];

/** The encoder of a model named 'm'. */
export function encoderOf(
  maxBatchSize: number,
  ...rows: readonly InputRow[]
): (inputs: Inputs) => (EncodedInput | undefined)[] {
  const encoder = new InputEncoder({
    model: 'm',
    maxBatchSize,
    inputs: rows.map(([name, datatype, dims, optional = false]) => ({ name, datatype, dims, optional })),
  });
  return (inputs) => {
    const { shapes, data, byteLengths } = encoder.encode(inputs);
    return rows.map((_, i) => {
      const shape = shapes[i];
      const bytes = data[i];
      return shape && bytes && { shape, data: bytes, byteLength: byteLengths[i] ?? 0 };
    });
  };
}

/** Encodes a value of any type as the only input 'x' of a model. */
export function encode(
  datatype: Datatype,
  dims: readonly number[],
  value: unknown,
  maxBatchSize = 8,
): EncodedInput {
  const [encoded] = encoderOf(maxBatchSize, ['x', datatype, dims])({ x: value as TensorInput });
  assert.ok(encoded);
  return encoded;
}

/** A copy of the wire bytes, which the caller of an encoder has to make. */
export function wireBytes(encoded: EncodedInput): ArrayBuffer {
  const { buffer, byteOffset } = encoded.data;
  const bytes = new Uint8Array(encoded.byteLength);
  bytes.set(new Uint8Array(buffer, byteOffset, encoded.byteLength));
  return bytes.buffer;
}

/** The answer of a model that returns its input. */
export function echo(datatype: Datatype, encoded: EncodedInput): AnyTensor {
  return tensorFactory(datatype)([...encoded.shape], wireBytes(encoded)) as AnyTensor;
}

/** The elements that were encoded, as flat JavaScript values. */
export function elementsOf(datatype: Datatype, encoded: EncodedInput): unknown[] {
  const flat = tensorFactory(datatype)([encoded.shape.reduce((a, b) => a * b, 1)], wireBytes(encoded));
  return flat.toArray() as unknown[];
}

/**
 * Checks that a call is refused with INVALID_ARG about model 'm' and the tensor (null: no tensor). Returns
 * the message.
 */
export function refusal(call: () => unknown, tensor: string | null = 'x'): string {
  let thrown: unknown;
  try {
    call();
  } catch (error) {
    thrown = error;
  }
  assert.ok(thrown instanceof TritonError, `expected a TritonError, got ${String(thrown)}`);
  assert.equal(thrown.code, 'INVALID_ARG');
  assert.equal(thrown.model, 'm');
  assert.equal(thrown.tensor ?? null, tensor);
  return thrown.message;
}

/** Transfers an array's buffer away. Returns the array. */
export function detach<T extends ArrayBufferView<ArrayBuffer>>(view: T): T {
  structuredClone(view.buffer, { transfer: [view.buffer] });
  return view;
}
