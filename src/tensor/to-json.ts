/** Converts tensors to JSON. */

import { isUtf8 } from 'node:buffer';
import type { Datatype } from './datatype.js';
import { flatElements, type TensorData } from './to-array.js';

/**
 * A tensor as `JSON.stringify` writes it. Triton: an entry of `outputs` in a JSON response.
 *
 * | datatype | elements |
 * |---|---|
 * | INT64, UINT64 | numbers; strings of digits beyond ±(2^53 − 1), where JSON readers would round |
 * | FP16, BF16, FP32, FP64 | numbers; the strings `"NaN"`, `"Infinity"` and `"-Infinity"`, as JSON has no such numbers |
 * | BOOL | booleans |
 * | BYTES | strings; if one of them is not UTF-8, all of them as base64, with `encoding` |
 * | others | numbers |
 *
 * @example
 * const { shape, data }: TensorJSON = outputs.scores.toJSON();
 */
export interface TensorJSON {
  /** Protocol name of the datatype. */
  readonly datatype: Datatype;
  /** The shape, with the batch dimension if the model has one. */
  readonly shape: readonly number[];
  /** The elements in row-major order, flat. */
  readonly data: readonly (number | string | boolean)[];
  /** Set only if a BYTES element is not UTF-8. */
  readonly encoding?: 'base64';
}

const mostExact = BigInt(Number.MAX_SAFE_INTEGER);

function jsonElement(element: number | bigint | boolean): number | string | boolean {
  if (typeof element === 'number') return Number.isFinite(element) ? element : String(element);
  if (typeof element === 'boolean') return element;
  return element >= -mostExact && element <= mostExact ? Number(element) : String(element);
}

/** The part of a tensor's JSON that holds its elements. */
export function jsonElements(tensor: TensorData): Pick<TensorJSON, 'data' | 'encoding'> {
  if (tensor.datatype !== 'BYTES') {
    // Only BYTES has Buffers as elements.
    return { data: (flatElements(tensor) as (number | bigint | boolean)[]).map(jsonElement) };
  }
  if (tensor.data.every((element) => isUtf8(element))) {
    return { data: tensor.data.map((element) => element.toString('utf8')) };
  }
  return { data: tensor.data.map((element) => element.toString('base64')), encoding: 'base64' };
}
