/** Assertions about tensors, whose messages say where two differ. */

import { AssertionError } from 'node:assert';
import { checkKeys, checkObject, expected as expectedValue } from '../argument-checks.js';
import { invalidArgument } from '../errors.js';
import type { AnyTensor, Datatype } from '../index.js';
import { bf16, fp16 } from '../tensor/half.js';
import { elementCount, formatShape } from '../tensor/shape.js';
import { flatElements, type TensorData } from '../tensor/to-array.js';

/**
 * A tensor as an assertion takes it: a {@link Tensor}, or its parts.
 *
 * @example
 * const expected: ExpectedTensor = { datatype: 'FP32', shape: [1, 3], data: [0.1, 0.2, 0.7] };
 */
export interface ExpectedTensor {
  /** The protocol name of the datatype. */
  readonly datatype: Datatype;
  /** The dims, with the batch. */
  readonly shape: readonly number[];
  /**
   * The elements in row-major order: numbers, bigints for integers of 64 bits, booleans for BOOL, texts or bytes for BYTES. A
   * Uint16Array for FP16 and BF16 has their bits, as the `data` of a tensor.
   */
  readonly data: ArrayLike<number | bigint | boolean | string | Uint8Array>;
}

/**
 * How far elements may differ: by `absolute + relative * |expected|`, as in `numpy.allclose`.
 *
 * @example
 * assertClose(outputs.scores, expected, { relative: 1e-3 });
 */
export interface Tolerance {
  /** Default 1e-8. */
  readonly absolute?: number | undefined;
  /** Default 1e-5. */
  readonly relative?: number | undefined;
}

type Element = number | bigint | boolean | Uint8Array;

/** The datatypes whose elements may differ a little. */
const floats: readonly Datatype[] = ['FP16', 'BF16', 'FP32', 'FP64'];

/**
 * Asserts that a tensor has the datatype, the shape and exactly the elements of another. NaN equals NaN.
 *
 * @param actual - The tensor; undefined fails, so that `outputs.name` needs no check.
 * @param expected - What it should be.
 * @param name - What the message calls it (default: 'the tensor').
 * @throws An `AssertionError` of Node, which says what differs, and where first.
 *
 * @example
 * assertTensor(outputs.label, { datatype: 'INT64', shape: [1, 1], data: [7n] });
 */
export function assertTensor(
  actual: AnyTensor | undefined,
  expected: AnyTensor | ExpectedTensor,
  name = 'the tensor',
): void {
  compare(actual, expected, name, isEqual, '');
}

/**
 * Asserts that a tensor has the datatype and the shape of another, and about its elements. Elements that are no floating-point
 * numbers must be equal. NaN equals NaN.
 *
 * @param actual - The tensor; undefined fails, so that `outputs.name` needs no check.
 * @param expected - What it should be.
 * @param tolerance - See {@link Tolerance}.
 * @param name - What the message calls it (default: 'the tensor').
 * @throws An `AssertionError` of Node, which says what differs, and where first. {@link TritonError} INVALID_ARG for a tolerance
 *   that is not a number of at least 0.
 *
 * @example
 * assertClose(outputs.scores, { datatype: 'FP32', shape: [1, 3], data: [0.1, 0.2, 0.7] }, { absolute: 1e-4 });
 */
export function assertClose(
  actual: AnyTensor | undefined,
  expected: AnyTensor | ExpectedTensor,
  tolerance: Tolerance = {},
  name = 'the tensor',
): void {
  checkObject(tolerance, 'tolerance');
  checkKeys(tolerance, ['absolute', 'relative'], 'tolerance');
  const { absolute = 1e-8, relative = 1e-5 } = tolerance;
  for (const [key, value] of Object.entries({ absolute, relative })) {
    if (!(value >= 0)) throw expectedValue('a number of at least 0', `tolerance.${key}`, value);
  }
  const isClose = (one: Element | undefined, other: Element | undefined): boolean => {
    if (typeof one !== 'number' || typeof other !== 'number') return isEqual(one, other);
    if (isEqual(one, other)) return true;
    // A part of an infinite number is infinite, too: each number would be within it.
    const isFinite = Number.isFinite(one) && Number.isFinite(other);
    return isFinite && Math.abs(one - other) <= absolute + relative * Math.abs(other);
  };
  const within = ` within ${absolute} + ${relative} * |expected|`;
  const isFloat = floats.includes(expected.datatype);
  compare(actual, expected, name, isFloat ? isClose : isEqual, isFloat ? within : '');
}

function compare(
  actual: AnyTensor | undefined,
  expected: AnyTensor | ExpectedTensor,
  name: string,
  matches: (one: Element | undefined, other: Element | undefined) => boolean,
  within: string,
): void {
  const fail = (text: string): never => {
    // Its frames begin at the assertion's caller.
    throw new AssertionError({ message: `${name}: ${text}`, actual, expected, stackStartFn: compare });
  };
  if (actual === undefined) fail(`expected a tensor of ${expected.datatype}, but there is none`);
  else if (actual.datatype !== expected.datatype)
    fail(`expected the datatype ${expected.datatype}, but got ${actual.datatype}`);
  else if (formatShape(actual.shape) !== formatShape(expected.shape))
    fail(`expected the shape ${formatShape(expected.shape)}, but got ${formatShape(actual.shape)}`);
  else {
    const should = elementsOf(expected);
    const count = elementCount(expected.shape);
    if (should.length !== count)
      throw invalidArgument(
        `${name}: the expected tensor of shape ${formatShape(expected.shape)} needs ${count} elements, but has ${should.length}`,
      );
    const elements = elementsOf(actual);
    const differ = should.flatMap((one, i) => (matches(elements[i], one) ? [] : [i]));
    const [first] = differ;
    if (first === undefined) return;
    const others = differ.length === 1 ? '' : `; ${differ.length} of ${count} elements differ`;
    const at = formatShape(placeOf(first, expected.shape));
    fail(`expected ${shown(should[first])}${within} at ${at}, but got ${shown(elements[first])}${others}`);
  }
}

/** The elements as values: decoded halves, booleans, bytes. */
function elementsOf(tensor: AnyTensor | ExpectedTensor): readonly Element[] {
  const { datatype, data } = tensor;
  const isHalf = datatype === 'FP16' || datatype === 'BF16';
  // A tensor has its elements as memory; of the parts of one only halves may be given so.
  if (isTensor(tensor) || (isHalf && data instanceof Uint16Array)) return flatElements(tensor as TensorData);
  return Array.from(tensor.data, (element): Element => {
    if (typeof element === 'string') return Buffer.from(element);
    if (datatype === 'BOOL' && typeof element === 'number') return element !== 0;
    return typeof element === 'number' ? rounded(datatype, element) : element;
  });
}

/** The number of a datatype that is nearest to another. */
function rounded(datatype: Datatype, element: number): number {
  if (datatype === 'FP32') return Math.fround(element);
  if (datatype === 'FP16') return fp16.decode(fp16.encode(element));
  return datatype === 'BF16' ? bf16.decode(bf16.encode(element)) : element;
}

function isTensor(tensor: AnyTensor | ExpectedTensor): tensor is AnyTensor {
  return 'toArray' in tensor;
}

function isEqual(one: Element | undefined, other: Element | undefined): boolean {
  if (one instanceof Uint8Array && other instanceof Uint8Array) return Buffer.compare(one, other) === 0;
  return one === other || (Number.isNaN(one) && Number.isNaN(other));
}

/** The indices of an element. */
function placeOf(index: number, shape: readonly number[]): number[] {
  const place: number[] = [];
  let rest = index;
  for (const dim of [...shape].reverse()) {
    place.unshift(rest % dim);
    rest = Math.floor(rest / dim);
  }
  return place;
}

function shown(element: Element | undefined): string {
  if (element instanceof Uint8Array) return JSON.stringify(Buffer.from(element).toString());
  return typeof element === 'bigint' ? `${element}n` : String(element);
}
