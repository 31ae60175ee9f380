/** Triton's classification extension: the largest elements of an output as strings `value:index[:label]`. */

import { invalidArgument, type TritonError } from '../errors.js';
import { Pace, type Sliced } from '../slices.js';
import { BytesWriter } from './bytes.js';
import type { Datatype } from './datatype.js';
import { describe, quote } from './describe.js';
import { seekLargest, type Ordered } from './largest.js';
import { tensorFactory } from './output.js';
import { elementCount } from './shape.js';
import type { AnyTensor, Tensor } from './tensor.js';

/** Options of a classification. */
export interface ClassificationOptions {
  /**
   * How many classes of each item to return, at least 1. More than there are elements means all. Triton:
   * `classification`.
   */
  readonly count: number;
  /**
   * Whether the first dim is the batch, so that classes are counted for each item. Triton: `max_batch_size`
   * above 0.
   */
  readonly batched: boolean;
  /** The label of each index; an empty one means none. Triton: the lines of `output.label_filename`. */
  readonly labels?: readonly string[] | undefined;
  /** Name of the model, for messages. */
  readonly model: string;
  /** Name of the output, for messages. */
  readonly output: string;
}

/** The most elements of an output to classify. All of them are read on the event loop's thread. */
const mostElements = 1 << 20;
/** The most classes of all items together. Each class becomes a string. */
const mostClasses = 1 << 16;
/** The cost of printing one class, in elements read. */
const printSteps = 256;

/**
 * The `count` largest elements of each item, largest first. Equal elements are ordered by index, and NaN comes
 * last. All checks happen before the first pause.
 *
 * @param tensor - The output, of any integer datatype, FP32 or FP64. The dims after the batch are treated as
 *   one dim.
 * @returns A BYTES tensor of shape [batch, min(count, elements)], or [min(count, elements)] without a
 *   batch.
 * @throws {@link TritonError} INVALID_ARG for another datatype, for a count that is no positive integer, for an
 *   output of more than 2^20 elements, and for more than 2^16 classes, all items together.
 */
export function* classify(tensor: AnyTensor, options: ClassificationOptions): Sliced<Tensor<'BYTES'>> {
  const { count, batched, labels = [], model, output } = options;
  const { datatype, shape } = tensor;
  const fail = (text: string): TritonError =>
    invalidArgument(`model ${quote(model)}, output ${quote(output)}: ${text}`, { model, tensor: output });
  if (isUnclassifiable(tensor)) throw fail(`${taken}, but the output is ${datatype}`);
  const values: Ordered = tensor.data;
  if (!Number.isInteger(count) || count < 1) {
    throw fail(`classification must be a positive integer, but got ${describe(count)}`);
  }

  const items = batched ? (shape[0] ?? 0) : 1;
  const perItem = elementCount(batched ? shape.slice(1) : shape);
  const classes = Math.min(count, perItem);
  if (items * perItem > mostElements)
    throw fail(
      `classification takes outputs of at most ${mostElements} elements, but this one has ${items * perItem}: ask for its values`,
    );
  if (items * classes > mostClasses)
    throw fail(
      `classification returns at most ${mostClasses} classes, but ${items} items with ${classes} classes each were requested`,
    );
  const print = datatype === 'FP32' || datatype === 'FP64' ? formatFloat : String;
  const pace = new Pace();
  const writer = new BytesWriter(items * classes);
  // For items without elements the checks above do not bound the number of items.
  for (let item = 0; classes > 0 && item < items; item++) {
    const start = item * perItem;
    for (const index of yield* seekLargest(values, start, perItem, classes, pace)) {
      const label = labels[index] ?? '';
      const value = print(values[start + index] ?? 0);
      writer.append(label === '' ? `${value}:${index}` : `${value}:${index}:${label}`);
      if (pace.spent(printSteps)) yield;
    }
  }
  return tensorFactory('BYTES')(batched ? [items, classes] : [classes], writer.finishOwned());
}

const taken = 'classification takes integers, FP32 and FP64';

/** Datatypes without classes. The rules are Triton's. */
type Unclassifiable = 'BOOL' | 'FP16' | 'BF16' | 'BYTES';

function isUnclassifiable<T extends { readonly datatype: Datatype }>(
  tensor: T,
): tensor is Extract<T, { readonly datatype: Unclassifiable }> {
  const { datatype } = tensor;
  return datatype === 'BOOL' || datatype === 'FP16' || datatype === 'BF16' || datatype === 'BYTES';
}

/** Why outputs of a datatype cannot be classified; undefined if they can. */
export function whyUnclassifiable(datatype: Datatype): string | undefined {
  return isUnclassifiable({ datatype }) ? `${taken}, but the output is ${datatype}` : undefined;
}

/** A float as C's `%f` prints it, which Triton's clients parse. */
function formatFloat(value: number | bigint): string {
  const float = Number(value);
  if (Number.isNaN(float)) return 'nan';
  const sign = float < 0 || Object.is(float, -0) ? '-' : '';
  const magnitude = Math.abs(float);
  if (magnitude === Infinity) return `${sign}inf`;
  // From 1e21 on, toFixed returns exponents. Such numbers are integers.
  if (magnitude >= 1e21) return `${sign}${BigInt(magnitude)}.000000`;
  // Only odd multiples of 1/128 lie exactly between two results. C rounds them to the even digit, and toFixed
  // to the larger.
  if ((magnitude * 128) % 2 === 1) {
    const digits = magnitude.toFixed(7).slice(0, -1);
    if (Number(digits.at(-1)) % 2 === 0) return sign + digits;
  }
  return sign + magnitude.toFixed(6);
}
