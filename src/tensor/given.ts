/** Inputs that callers pass as objects, such as `{ data, shape }`. Each property is read once. */

import { wireOf } from './bytes-tensor.js';
import type { Datatype } from './datatype.js';

/**
 * ONNX Runtime's JavaScript names of the datatypes. A name that is not listed appears in messages unchanged.
 */
const onnxRuntimeTypes: Readonly<Record<string, Datatype>> = {
  bool: 'BOOL',
  uint8: 'UINT8',
  uint16: 'UINT16',
  uint32: 'UINT32',
  uint64: 'UINT64',
  int8: 'INT8',
  int16: 'INT16',
  int32: 'INT32',
  int64: 'INT64',
  float16: 'FP16',
  float32: 'FP32',
  float64: 'FP64',
  string: 'BYTES',
};

/** The properties read from an input that is an object. */
export interface Given {
  /** The object itself. */
  readonly value: object;
  readonly shape: unknown;
  readonly datatype: unknown;
  /** The wire bytes of a BYTES tensor whose elements were never read. They replace its data. */
  readonly wire: Uint8Array<ArrayBuffer> | undefined;
  readonly data: unknown;
}

/**
 * Reads an object. This runs its getters.
 *
 * @param value - Anything but an array.
 * @param isBytes - Whether the input's datatype is BYTES.
 * @param alone - Whether no code of the caller runs for other inputs afterwards.
 */
export function readGiven(value: object, isBytes: boolean, alone: boolean): Given {
  const { shape, datatype } = readShape(value);
  const wire = isBytes ? wireOf(value) : undefined;
  if (wire === undefined) {
    const { data }: { readonly data?: unknown } = value;
    return { value, shape, datatype, wire, data };
  }
  // Code of the caller could read the tensor's `data`, whose Buffers are views of the wire bytes.
  return { value, shape, datatype, wire: alone ? wire : wire.slice(), data: undefined };
}

/** The shape and datatype, by this package's names or by ONNX Runtime's. */
function readShape(value: object): Pick<Given, 'shape' | 'datatype'> {
  const { shape, datatype }: { readonly shape?: unknown; readonly datatype?: unknown } = value;
  if (shape !== undefined) return { shape, datatype: datatype ?? undefined };
  const { dims, type }: { readonly dims?: unknown; readonly type?: unknown } = value;
  if (dims === undefined) return { shape, datatype };
  const known = typeof type === 'string' && Object.hasOwn(onnxRuntimeTypes, type);
  return { shape: dims, datatype: known ? onnxRuntimeTypes[type] : type };
}
