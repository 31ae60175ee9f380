/**
 * Compares a tensor with the expected one, by the rules of ONNX's own test runner, but exactly for integers.
 */
import { decodeBf16, decodeFp16 } from '../../src/tensor/half-arrays.js';
import type { NamedTensor, TensorValue } from './tensor-file.js';

/** How far a number may be from the expected one: `atol + rtol * |expected|`. */
export interface Tolerance {
  readonly rtol: number;
  readonly atol: number;
}

/** Two units in the last place of BF16, which ONNX's runner grants that type. */
const bf16Rtol = 2 ** -6;

/** The elements as numbers to be compared with a tolerance; undefined for datatypes that are compared exactly. */
function floatsOf({ datatype, data }: TensorValue): ArrayLike<number> | undefined {
  if (data instanceof Float32Array || data instanceof Float64Array) return data;
  if (!(data instanceof Uint16Array)) return undefined;
  if (datatype === 'FP16') return decodeFp16(data);
  return datatype === 'BF16' ? decodeBf16(data) : undefined;
}

function isClose(expected: number, actual: number, { rtol, atol }: Tolerance): boolean {
  if (Number.isNaN(expected)) return Number.isNaN(actual);
  // The difference of infinities is NaN, so equal infinities are handled here.
  if (expected === actual) return true;
  if (!Number.isFinite(expected)) return false;
  return Math.abs(actual - expected) <= atol + rtol * Math.abs(expected);
}

type Element = number | bigint | Buffer;

function isEqual(expected: Element | undefined, actual: Element | undefined): boolean {
  if (Buffer.isBuffer(expected) && Buffer.isBuffer(actual)) return expected.equals(actual);
  return expected === actual;
}

function show(element: Element | undefined): string {
  return Buffer.isBuffer(element) ? JSON.stringify(element.toString()) : String(element);
}

function compareElements(
  expected: ArrayLike<Element>,
  actual: ArrayLike<Element>,
  equal: (index: number) => boolean,
): string | undefined {
  if (expected.length !== actual.length) {
    return `${actual.length} elements, expected ${expected.length}`;
  }
  let count = 0;
  let first = -1;
  for (let i = 0; i < expected.length; i++) {
    if (equal(i)) continue;
    if (count === 0) first = i;
    count++;
  }
  if (count === 0) return undefined;
  const text = `element ${first} is ${show(actual[first])}, expected ${show(expected[first])}`;
  return count === 1 ? text : `${text} (${count} of ${expected.length} elements differ)`;
}

/**
 * Compares a tensor with the expected one. Datatype and shape must be equal, floating-point elements within
 * the tolerance, and other elements equal. NaN equals NaN.
 *
 * @returns The first difference, or undefined if there is none.
 */
export function difference(
  expected: TensorValue,
  actual: TensorValue,
  tolerance: Tolerance,
): string | undefined {
  if (expected.datatype !== actual.datatype) {
    return `datatype ${actual.datatype}, expected ${expected.datatype}`;
  }
  const shape = `[${expected.shape.join(',')}]`;
  if (shape !== `[${actual.shape.join(',')}]`) return `shape [${actual.shape.join(',')}], expected ${shape}`;
  const floats = floatsOf(expected);
  const actualFloats = floatsOf(actual);
  if (floats === undefined || actualFloats === undefined) {
    const { data } = expected;
    const { data: actualData } = actual;
    return compareElements(data, actualData, (i) => isEqual(data[i], actualData[i]));
  }
  const rtol = expected.datatype === 'BF16' ? Math.max(tolerance.rtol, bf16Rtol) : tolerance.rtol;
  const granted = { rtol, atol: tolerance.atol };
  return compareElements(floats, actualFloats, (i) =>
    isClose(floats[i] ?? Number.NaN, actualFloats[i] ?? Number.NaN, granted),
  );
}

/** Tensors by name. */
export type NamedValues = Readonly<Record<string, TensorValue>>;

/** The {@link difference} of the first output that differs. There must be as many outputs as expected. */
export function differences(
  expected: readonly NamedTensor[],
  actual: NamedValues,
  tolerance: Tolerance,
): string | undefined {
  for (const tensor of expected) {
    const output = actual[tensor.name];
    const text = output === undefined ? 'missing' : difference(tensor, output, tolerance);
    if (text !== undefined) return `output '${tensor.name}': ${text}`;
  }
  const surplus = Object.keys(actual).filter((name) => expected.every((tensor) => tensor.name !== name));
  return surplus.length === 0 ? undefined : `outputs that are not expected: ${surplus.join(', ')}`;
}
