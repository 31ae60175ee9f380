/**
 * Inputs of a JSON file in perf_analyzer's form:
 *
 *     { "data": [ { "x": [1, 2] }, { "x": { "content": [1, 2], "shape": [2] } }, { "x": { "b64": "…" } } ],
 *       "validation_data": [ { "y": [2, 3] }, … ] }
 *
 * If an entry of `data` is a list, it has the steps of one sequence.
 */

import { invalidArgument, type TritonError } from '../../errors.js';
import { show } from '../../argument-checks.js';
import { Fraction, parseExactly } from '../../protocol/json-exact.js';
import { didYouMean } from '../../suggest.js';
import type { InputElement } from '../../tensor/inputs.js';
import { thrownText } from '../../thrown-text.js';
import { itemOfBytes, itemOfElements, type Item } from './item.js';
import { checkShape, type PlannedModel, type PlannedTensor } from './model-inputs.js';

/** The tensors of one step, by name. */
export type Row = ReadonlyMap<string, Item>;

/** The contents of a file. */
export interface DataFile {
  /** The steps of each stream, with the expected outputs of each. */
  readonly streams: readonly (readonly DataStep[])[];
}

/** A step. */
export interface DataStep {
  readonly inputs: Row;
  readonly expected: Row | undefined;
}

type Members = Readonly<Record<string, unknown>>;

function isObject(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Fraction);
}

/**
 * Reads the text of a file.
 *
 * @param file - Its name, for errors.
 * @throws {@link TritonError} INVALID_ARG with the place of what is wrong.
 */
export function readDataFile(file: string, text: string, model: PlannedModel): DataFile {
  let parsed: unknown;
  try {
    // JSON.parse is several times as fast, but loses large integers and rejects NaN and Infinity.
    parsed = /[0-9]{16}|NaN|Infinity/.test(text) ? parseExactly(text) : JSON.parse(text);
  } catch (error) {
    throw invalidArgument(`${file} is not JSON: ${thrownText(error)}`, { cause: error });
  }
  if (!isObject(parsed)) throw expectedIn(file, 'an object with "data"', parsed);
  const { data, validation_data: validation } = parsed;
  if (!Array.isArray(data) || data.length === 0) throw expectedIn(`${file}: data`, 'a list of steps', data);
  if (validation !== undefined && (!Array.isArray(validation) || validation.length !== data.length))
    throw expectedIn(`${file}: validation_data`, `a list of ${data.length} entries, as in data`, validation);
  const outputs: readonly unknown[] | undefined = validation;
  const isStreams = data.every((entry) => Array.isArray(entry));
  if (!isStreams && data.some((entry) => Array.isArray(entry)))
    throw invalidArgument(`${file}: data has both steps and lists of steps`);
  const step = (entry: unknown, wanted: unknown, place: string): DataStep => ({
    inputs: readRow(`${file}: data${place}`, entry, model.inputs, model),
    expected:
      wanted === undefined
        ? undefined
        : readRow(`${file}: validation_data${place}`, wanted, model.outputs, undefined),
  });
  if (!isStreams) return { streams: [data.map((entry, i) => step(entry, outputs?.[i], `[${i}]`))] };
  return {
    streams: data.map((entry: unknown, i) => {
      // Every entry is a list; see above.
      const steps = entry as readonly unknown[];
      const wanted = outputs?.[i];
      if (steps.length === 0) throw expectedIn(`${file}: data[${i}]`, 'at least one step', entry);
      if (wanted !== undefined && (!Array.isArray(wanted) || wanted.length !== steps.length))
        throw expectedIn(
          `${file}: validation_data[${i}]`,
          `a list of ${steps.length} steps, as in data`,
          wanted,
        );
      const list: readonly unknown[] | undefined = wanted;
      return steps.map((one, j) => step(one, list?.[j], `[${i}][${j}]`));
    }),
  };
}

function expectedIn(where: string, what: string, value: unknown): TritonError {
  return invalidArgument(`${where}: expected ${what} but received ${show(value)}`);
}

/** @param required - The model, if inputs that are not optional must be there. */
function readRow(
  where: string,
  entry: unknown,
  tensors: readonly PlannedTensor[],
  required: PlannedModel | undefined,
): Row {
  if (!isObject(entry)) throw expectedIn(where, 'an object of tensors', entry);
  const row = new Map<string, Item>();
  const names = tensors.map(({ name }) => name);
  for (const [name, value] of Object.entries(entry)) {
    const tensor = tensors.find((one) => one.name === name);
    if (tensor === undefined)
      throw invalidArgument(
        `${where}: the model has no tensor '${name}'${didYouMean(name, names)}; expected ${names.join(', ')}`,
      );
    row.set(name, readTensor(where, tensor, value));
  }
  const missing = required?.inputs.find(({ name, optional }) => !optional && !row.has(name));
  if (missing !== undefined) throw invalidArgument(`${where}: input '${missing.name}' is missing`);
  return row;
}

function readTensor(where: string, tensor: PlannedTensor, value: unknown): Item {
  const { name, datatype, dims } = tensor;
  let content = value;
  let shape = tensor.shape;
  if (isObject(value) && !('b64' in value)) {
    const { content: inner, shape: given } = value;
    if (inner === undefined) throw expectedIn(`${where}, '${name}'`, 'a list, "content" or "b64"', value);
    content = inner;
    if (given !== undefined) {
      if (!Array.isArray(given) || !given.every((dim) => Number.isSafeInteger(dim) && Number(dim) >= 0))
        throw expectedIn(`${where}, '${name}'`, 'a list of integers for "shape"', given);
      shape = given.map(Number);
      checkShape(name, dims, shape, where);
    }
  }
  if (isObject(content)) {
    const { b64 } = content;
    if (typeof b64 !== 'string') throw expectedIn(`${where}, '${name}'`, 'a text for "b64"', b64);
    return itemOfBytes(where, name, datatype, known(where, tensor, shape), Buffer.from(b64, 'base64'));
  }
  const elements = flatten(content).map((element) => readElement(where, tensor, element));
  // A single variable dim follows from the number of elements.
  return itemOfElements(where, name, datatype, shape ?? shapeOf(where, tensor, elements.length), elements);
}

function flatten(value: unknown): unknown[] {
  if (!Array.isArray(value)) return [value];
  return value.some((one) => Array.isArray(one)) ? value.flatMap(flatten) : value;
}

function readElement(where: string, { name, datatype }: PlannedTensor, value: unknown): InputElement {
  const element = value instanceof Fraction ? value.value : value;
  if (datatype === 'BOOL' && (element === 0 || element === 1)) return element === 1;
  // JSON may write floats as integers.
  if (typeof element === 'bigint' && /^B?FP?/.test(datatype) && datatype !== 'BYTES') return Number(element);
  if (
    typeof element === 'number' ||
    typeof element === 'bigint' ||
    typeof element === 'boolean' ||
    typeof element === 'string'
  )
    return element;
  throw expectedIn(`${where}, '${name}'`, `elements of ${datatype}`, element);
}

function known(
  where: string,
  { name, dims }: PlannedTensor,
  shape: readonly number[] | undefined,
): readonly number[] {
  if (shape !== undefined) return shape;
  throw invalidArgument(
    `${where}: '${name}' has the variable shape [${dims.join(',')}]; give "shape" beside "content", or --shape`,
  );
}

function shapeOf(where: string, tensor: PlannedTensor, count: number): readonly number[] {
  const { dims } = tensor;
  const fixed = dims.reduce((product, dim) => (dim < 0 ? product : product * dim), 1);
  const variable = dims.filter((dim) => dim < 0).length;
  if (variable !== 1 || fixed === 0 || count % fixed !== 0) return known(where, tensor, undefined);
  return dims.map((dim) => (dim < 0 ? count / fixed : dim));
}
