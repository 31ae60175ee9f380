/** Inputs that callers give as objects, such as `{ data, shape }`: each property read once. */

import { wireOf } from './output.js';

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
  const { shape, datatype }: { readonly shape?: unknown; readonly datatype?: unknown } = value;
  const wire = isBytes ? wireOf(value) : undefined;
  if (wire === undefined) {
    const { data }: { readonly data?: unknown } = value;
    return { value, shape, datatype, wire, data };
  }
  // Such code could ask the tensor for its data, and so get at the wire bytes.
  return { value, shape, datatype, wire: alone ? wire : wire.slice(), data: undefined };
}
