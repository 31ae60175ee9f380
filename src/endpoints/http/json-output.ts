/** Outputs as JSON text, as Triton writes them: flat, floats with a point, NaN and Infinity as bare words. */

import { isUtf8 } from 'node:buffer';
import { invalidArgument } from '../../errors.js';
import type { Sliced } from '../../slices.js';
import { elementCount } from '../../tensor/shape.js';
import type { AnyTensor, Tensor } from '../../tensor/tensor.js';

/** A float: `1.0`, `0.25`, `1e21`, `NaN`. FP32 is written with all digits of the equal FP64. */
function float(value: number): string {
  const text = String(value);
  if (Number.isInteger(value) && !text.includes('e')) return Object.is(value, -0) ? '-0.0' : `${text}.0`;
  return text;
}

/** Elements written between two yields, which take about 0.1 ms. */
const portion = 1024;

/** Joins elements with commas. Array.from and map are much slower for typed arrays. */
function* joined<T>(data: ArrayLike<T>, text: (value: T) => string): Sliced<string> {
  const { length } = data;
  let whole = '';
  for (let i = 0; i < length;) {
    const list = new Array<string>(Math.min(portion, length - i));
    for (let k = 0; k < list.length; k++, i++) {
      const value = data[i];
      if (value !== undefined) list[k] = text(value);
    }
    whole += whole === '' ? list.join(',') : `,${list.join(',')}`;
    if (i < length) yield;
  }
  return whole;
}

/** A text as a JSON string. Most texts need only quotes. */
export function quoted(text: string): string {
  return /^[\w. -]*$/.test(text) ? `"${text}"` : JSON.stringify(text);
}

/** The elements of a BYTES tensor as strings, without a Buffer for each if `data` was never read. */
function stringsOf(model: string, name: string, tensor: Tensor<'BYTES'>): string[] {
  try {
    return tensor.strings();
  } catch (error) {
    const index = tensor.data.findIndex((element) => !isUtf8(element));
    if (index < 0) throw error;
    throw invalidArgument(
      `model '${model}', output '${name}': element ${index} is not UTF-8, as JSON needs; ask for the output as binary data`,
      { model, tensor: name },
    );
  }
}

/** The most elements of a tensor in JSON. Each becomes a string for a moment. */
const mostElements = 1 << 22;

/**
 * The elements, in row-major order, joined with commas.
 *
 * @throws {@link TritonError} INVALID_ARG for a tensor that is too large for JSON, for FP16 and BF16, as in Triton,
 *   and for BYTES that are not UTF-8. Clients can ask for such outputs as binary data.
 */
export function elementsText(model: string, name: string, tensor: AnyTensor): Sliced<string> {
  const count = elementCount(tensor.shape);
  if (count > mostElements) {
    throw invalidArgument(
      `model '${model}', output '${name}': JSON takes at most ${mostElements} elements, but the output has ${count}; ask for it as binary data`,
      { model, tensor: name },
    );
  }
  switch (tensor.datatype) {
    case 'FP32':
    case 'FP64':
      return joined(tensor.data, float);
    case 'BOOL':
      return joined(tensor.data, (byte) => (byte === 0 ? 'false' : 'true'));
    case 'INT64':
    case 'UINT64':
      return joined<bigint | number>(tensor.data, String);
    case 'INT8':
    case 'INT16':
    case 'INT32':
    case 'UINT8':
    case 'UINT16':
    case 'UINT32':
      return joined<bigint | number>(tensor.data, String);
    case 'BYTES':
      return joined(stringsOf(model, name, tensor), quoted);
    case 'FP16':
    case 'BF16':
      throw invalidArgument(
        `model '${model}', output '${name}': ${tensor.datatype} cannot be sent as JSON; ask for it as binary data`,
        { model, tensor: name },
      );
  }
}
