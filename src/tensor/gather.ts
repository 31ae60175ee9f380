/**
 * Encodes inputs of every accepted kind. This is the general path, for the inputs that the fast path in
 * input.ts does not handle.
 *
 * Reading arrays (which can be proxies) and objects (which have getters) may run code of the caller. So arrays
 * and objects are read first, and the caller's typed arrays last. After that no code can transfer or resize
 * the typed arrays before they are copied.
 */

import { types } from 'node:util';
import { suggest } from '../suggest.js';
import { BytesWriter, countElements, isBytesElement, wordsOfWire } from './bytes.js';
import { describe, quote } from './describe.js';
import type { ElementType } from './elements.js';
import type { EncodedInputs } from './encoded.js';
import type { Given } from './given.js';
import type { Nested } from './nested-path.js';
import { elementError, encodeNested, readLength } from './nested.js';
import type { InputPlan } from './plan.js';
import { RegionTensor, type RegionRange } from './region-tensor.js';
import { checkShape, cutShape, elementCount, formatShape, mismatch, readShape, wordsOf } from './shape.js';
import { createSink } from './sink.js';
import type { TypedArray } from './types.js';
import { byteLengthOf, isDetached, kindOf, lengthOf, stable, type WireArray } from './views.js';

/** The value that the caller passed for an input, and the parts of it that were read. */
export interface Passed {
  /** Undefined if the caller passed nothing. */
  readonly value: unknown;
  /** The properties that were read, if the value is an object. */
  readonly given: Given | undefined;
  /** The input's shape, if it was read and is valid; otherwise the shape is still to be read. */
  readonly shape: readonly number[] | undefined;
  /** The result for nested arrays on the fast path. */
  readonly nested: Nested | undefined;
}

/** An input that is being encoded. */
interface Draft {
  readonly plan: InputPlan;
  /** The typed array that holds the data, or another value for messages. */
  readonly value: unknown;
  /** The number of elements. */
  readonly count: number;
  /** The encoded data; undefined until it is taken from the typed array. */
  data: WireArray | undefined;
  /** Undefined until it is worked out. */
  shape: readonly number[] | undefined;
  /** Where the elements are, if they are in a region. */
  readonly range?: RegionRange;
}

function checkCount(plan: InputPlan, count: number, shape: readonly number[], words: () => string): void {
  const expected = elementCount(shape);
  if (count === expected) return;
  throw mismatch(plan, `${words()} for shape ${formatShape(shape)}, which has ${expected} elements`);
}

/**
 * A draft of flat data that is not a list: a typed array, or one element for BYTES. Undefined for any other
 * value.
 */
function draftFlat(plan: InputPlan, value: unknown, shape: readonly number[] | undefined): Draft | undefined {
  if (plan.elements === undefined) {
    if (!isBytesElement(value)) return undefined;
    const writer = new BytesWriter(1);
    if (!writer.append(value)) throw elementError(plan, [], value);
    return { plan, value, count: 1, data: writer.finish(), shape };
  }
  if (kindOf(value) === undefined) return undefined;
  // A value that has a kind is a typed array.
  return { plan, value, count: lengthOf(value as TypedArray), data: undefined, shape };
}

/** A draft of a JavaScript array that comes with a shape. */
function draftList(plan: InputPlan, list: readonly unknown[], shape: readonly number[]): Draft {
  const count = readLength(plan, list);
  checkCount(plan, count, shape, () => wordsOf(list, count));
  const sink = createSink(plan, count);
  sink.appendRow(list, count, (index, value) => elementError(plan, [index], value));
  return { plan, value: list, count, data: sink.finish(), shape };
}

/** The key that was probably meant to be `name`, at the end of a message. */
function misspelt(value: object, name: string): string {
  if (types.isProxy(value)) return '';
  const near = Object.keys(value).find((key) => suggest(key, [name]) !== undefined);
  return near === undefined ? '' : ` (did you mean '${name}' by ${quote(near)}?)`;
}

function checkDatatype(plan: InputPlan, datatype: unknown, shape: readonly number[]): void {
  if (datatype === undefined || datatype === plan.datatype) return;
  const got = typeof datatype === 'string' ? quote(datatype) : describe(datatype);
  throw mismatch(plan, `datatype ${got} of shape ${formatShape(shape)}`);
}

/**
 * A draft of a result, its structured clone, or `{ data, shape }`, which all have the same properties.
 *
 * @param known - The shape, if it was read already.
 */
function draftObject(plan: InputPlan, given: Given, known: readonly number[] | undefined): Draft {
  const { value, shape: givenShape, datatype, wire, data } = given;
  if (givenShape === undefined) {
    const got = describe(value);
    throw mismatch(plan, got === 'an object' ? `an object without 'shape'${misspelt(value, 'shape')}` : got);
  }
  const shape = known ?? readShape(plan, givenShape);
  checkDatatype(plan, datatype, shape);
  checkShape(plan, shape);

  if (value instanceof RegionTensor) {
    return { plan, value, count: elementCount(shape), data: undefined, shape, range: value.range };
  }
  if (wire !== undefined) {
    const count = countElements(wire);
    checkCount(plan, count, shape, () => wordsOfWire(wire));
    return { plan, value, count, data: wire, shape };
  }
  if (Array.isArray(data)) return draftList(plan, data, shape);
  const draft = draftFlat(plan, data, shape);
  if (draft === undefined) {
    const near = data === undefined ? misspelt(value, 'data') : '';
    throw mismatch(plan, `${describe(data)} for 'data'${near}`);
  }
  return draft;
}

function draftInput(plan: InputPlan, { value, given, shape: known, nested }: Passed): Draft {
  if (nested !== undefined) {
    return { plan, value, count: elementCount(nested.shape), data: nested.data, shape: nested.shape };
  }
  if (Array.isArray(value)) {
    return { plan, value, ...encodeNested(plan, value) };
  }
  const draft = draftFlat(plan, value, undefined);
  if (draft !== undefined) return draft;
  // A typed array that gets here was passed for BYTES, and is not a Uint8Array.
  if (given === undefined) throw mismatch(plan, describe(value));
  return draftObject(plan, given, known);
}

/**
 * Takes the elements of a draft from the caller's typed array. If that is safe, the array itself becomes the
 * data.
 */
function takeView(draft: Draft, elements: ElementType): WireArray {
  const { plan, value, count, shape } = draft;
  const kind = kindOf(value);
  // A draft without data holds a typed array.
  const view = value as TypedArray;
  if (kind === undefined || isDetached(view, kind)) throw mismatch(plan, describe(value));
  const data = elements.fromView(stable(view, kind), kind, (index, element) =>
    elementError(plan, [index], element),
  );
  if (data === undefined) {
    throw mismatch(plan, `${describe(value)}; ${plan.datatype} takes ${elements.takes}`);
  }
  // A getter of another input may have resized the array since its elements were counted.
  if (lengthOf(data) !== count) throw mismatch(plan, describe(value));
  if (shape !== undefined) checkCount(plan, count, shape, () => wordsOf(value, count));
  return data;
}

/** Works out the missing shapes, and checks that all inputs have the same batch. */
function settleShapes(drafts: readonly Draft[], rows: number): void {
  let first: { readonly plan: InputPlan; readonly batch: number } | undefined;
  for (const draft of drafts) {
    const { plan, count, value } = draft;
    if (draft.shape === undefined && plan.variableDims === 0) draft.shape = cutShape(plan, count, 0, value);
    if (draft.shape === undefined || plan.batchRank === 0) continue;
    const batch = draft.shape[0] ?? 0;
    first ??= { plan, batch };
    if (batch !== first.batch) {
      const others = `${plan.noun} ${quote(first.plan.name)} has a batch of ${first.batch}`;
      throw mismatch(plan, `a batch of ${batch}, where ${others}`);
    }
  }
  for (const draft of drafts) {
    const { plan, count, value } = draft;
    draft.shape ??= cutShape(plan, count, first?.batch ?? rows, value);
  }
}

/**
 * Encodes the inputs of a request.
 *
 * @param plans - The model's inputs.
 * @param inputs - The value that the caller passed for each input.
 * @param encoded - Receives the encoded inputs.
 * @param rows - The batch of an input, if neither its shape nor the other inputs give it.
 * @throws {@link TritonError} INVALID_ARG for a value that the configuration or the datatype does not allow.
 */
export function gatherInputs(
  plans: readonly InputPlan[],
  inputs: readonly Passed[],
  encoded: EncodedInputs,
  rows: number,
): void {
  const drafts = plans.map((plan, i) => {
    const input = inputs[i];
    return input?.value === undefined ? undefined : draftInput(plan, input);
  });
  const present = drafts.filter((draft) => draft !== undefined);
  for (const draft of present) {
    const { elements } = draft.plan;
    if (draft.data === undefined && draft.range === undefined && elements !== undefined)
      draft.data = takeView(draft, elements);
  }
  settleShapes(present, rows);
  for (const [i, draft] of drafts.entries()) {
    if (draft?.range !== undefined && draft.shape !== undefined)
      encoded.setElsewhere(i, draft.shape, draft.range);
    else if (draft?.data === undefined || draft.shape === undefined) encoded.leaveOut(i);
    else encoded.set(i, draft.shape, draft.data, byteLengthOf(draft.data));
  }
}
