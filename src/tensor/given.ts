/** Inputs that callers give as objects, such as `{ data, shape }`: each property read once. */

import { wireOf } from './bytes-tensor.js';
import type { Datatype } from './datatype.js';

/** What ONNX Runtime's JavaScript API calls the datatypes; a name that is not here is shown as it is. */
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

/** What such an object has. */
export interface Given {
  /** The object itself. */
  readonly value: object;
  readonly shape: unknown;
  readonly datatype: unknown;
  /** Of a tensor of strings that nobody has looked at: its wire bytes, in place of its data. */
  readonly wire: Uint8Array<ArrayBuffer> | undefined;
  readonly data: unknown;
}

/**
 * Reads an object; its getters run.
 *
 * @param value - No array of any kind.
 * @param isBytes - Whether it is for an input of strings.
 * @param alone - Whether no code of the caller runs for other inputs after this.
 */
export function readGiven(value: object, isBytes: boolean, alone: boolean): Given {
  const { shape, datatype } = readShape(value);
  const wire = isBytes ? wireOf(value) : undefined;
  if (wire === undefined) {
    const { data }: { readonly data?: unknown } = value;
    return { value, shape, datatype, wire, data };
  }
  // Such code could ask the tensor for its data, and so get at the wire bytes.
  return { value, shape, datatype, wire: alone ? wire : wire.slice(), data: undefined };
}

/** Shape and datatype, by our names of them or by ONNX Runtime's. */
function readShape(value: object): Pick<Given, 'shape' | 'datatype'> {
  const { shape, datatype }: { readonly shape?: unknown; readonly datatype?: unknown } = value;
  if (shape !== undefined) return { shape, datatype };
  const { dims, type }: { readonly dims?: unknown; readonly type?: unknown } = value;
  if (dims === undefined) return { shape, datatype };
  const known = typeof type === 'string' && Object.hasOwn(onnxRuntimeTypes, type);
  return { shape: dims, datatype: known ? onnxRuntimeTypes[type] : type };
}
