/** Values of initializers and tensor attributes: our datatypes and JavaScript values to ONNX's tensor message. */
import { datatypeSize, type Datatype } from '../../../src/tensor/datatype.js';
import type { TensorMessage } from './messages.js';

/** The forms of a tensor's values. FP16 and BF16 are a Uint16Array of bits. */
export type TensorValues = ArrayBufferView | readonly (number | bigint | boolean | string)[];

/** Number of each datatype in ONNX's `TensorProto.DataType`. */
export const elementType: Readonly<Record<Datatype, number>> = {
  FP32: 1,
  UINT8: 2,
  INT8: 3,
  UINT16: 4,
  INT16: 5,
  INT32: 6,
  INT64: 7,
  BYTES: 8,
  BOOL: 9,
  FP16: 10,
  FP64: 11,
  UINT32: 12,
  UINT64: 13,
  BF16: 16,
};

/**
 * The message for a tensor.
 * @throws {Error} if the number of values is not the product of `dims`.
 */
export function tensorMessage(
  name: string,
  datatype: Datatype,
  dims: readonly number[],
  values: TensorValues,
): TensorMessage {
  const count = dims.reduce((product, dim) => product * dim, 1);
  const head = { name, dims, dataType: elementType[datatype] };
  const given = (got: number): Error =>
    new Error(`tensor '${name}' of shape [${dims.join(',')}] needs ${count} values, got ${got}`);
  if (datatype === 'BYTES') {
    if (!Array.isArray(values)) throw new Error(`tensor '${name}': BYTES values are given as strings`);
    if (values.length !== count) throw given(values.length);
    return { ...head, stringData: values.map((value) => new TextEncoder().encode(String(value))) };
  }
  const view = ArrayBuffer.isView(values) ? values : typedArray(name, datatype, values);
  const size = datatypeSize[datatype];
  if (view.byteLength !== count * size) throw given(view.byteLength / size);
  return { ...head, rawData: new Uint8Array(view.buffer, view.byteOffset, view.byteLength) };
}

function typedArray(
  name: string,
  datatype: Exclude<Datatype, 'BYTES'>,
  values: readonly (number | bigint | boolean | string)[],
): ArrayBufferView {
  const numbers = (): number[] => values.map(Number);
  switch (datatype) {
    case 'BOOL':
    case 'UINT8':
      return Uint8Array.from(numbers());
    case 'UINT16':
      return Uint16Array.from(numbers());
    case 'UINT32':
      return Uint32Array.from(numbers());
    case 'INT8':
      return Int8Array.from(numbers());
    case 'INT16':
      return Int16Array.from(numbers());
    case 'INT32':
      return Int32Array.from(numbers());
    case 'FP32':
      return Float32Array.from(numbers());
    case 'FP64':
      return Float64Array.from(numbers());
    case 'INT64':
      return BigInt64Array.from(values.map(BigInt));
    case 'UINT64':
      return BigUint64Array.from(values.map(BigInt));
    case 'FP16':
    case 'BF16':
      throw new Error(`tensor '${name}': ${datatype} values are given as a Uint16Array of their bits`);
  }
}
