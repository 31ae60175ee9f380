/**
 * Inputs of every accepted kind, worked into wire bytes: the general way, for what the short one in input.ts
 * leaves.
 *
 * What may run code of the caller (arrays can be proxies, objects have getters) is read first, and the
 * caller's typed arrays are looked at last: from then on nothing can transfer or resize them before they are
 * copied.
 */

import { BytesWriter, countElements, isBytesElement } from './bytes.js';
import { describe, quote } from './describe.js';
import type { ElementType } from './elements.js';
import { elementError, encodeNested, readLength } from './nested.js';
import { wireOf } from './output.js';
import type { InputPlan } from './plan.js';
import { checkShape, cutShape, elementCount, formatShape, mismatch, readShape } from './shape.js';
import { createSink } from './sink.js';
import type { TypedArray } from './types.js';
import { byteLengthOf, isDetached, kindOf, lengthOf, stable, type WireArray } from './views.js';

/** One input in wire layout. */
export interface EncodedInput {
  /** The full shape, with the batch dimension where the model has one. May be shared and frozen. */
  readonly shape: readonly number[];
  /**
   * The elements: a Uint8Array for BOOL and BYTES, a Uint16Array of bits for FP16 and BF16, else the array of
   * that name.
   *
   * To be copied at once, with `set` of an array of the same class, and not looked at after the caller's code
   * has run or the next request was encoded: it may be the caller's own array, and it may be reused.
   */
  readonly data: WireArray;
  /** Bytes of `data`, whatever its own properties say. */
  readonly byteLength: number;
}

/** An input on its way to being encoded. */
interface Draft {
  readonly plan: InputPlan;
  /** What holds the data: a typed array to be taken, or something else for messages. */
  readonly value: unknown;
  /** Elements. */
  readonly count: number;
  /** Undefined while they are still to be taken from a typed array. */
  data: WireArray | undefined;
  /** Undefined while it is still to be worked out. */
  shape: readonly number[] | undefined;
}

function checkCount(plan: InputPlan, count: number, shape: readonly number[], value: unknown): void {
  const expected = elementCount(shape);
  if (count === expected) return;
  const got = Array.isArray(value) ? `an array of length ${count}` : describe(value);
  throw mismatch(plan, `${got} for shape ${formatShape(shape)}, which has ${expected} elements`);
}

/** Flat data that is not a list: a typed array, or for BYTES one element. Undefined for anything else. */
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

/** A JavaScript array beside a shape. */
function draftList(plan: InputPlan, list: readonly unknown[], shape: readonly number[]): Draft {
  const count = readLength(plan, list);
  checkCount(plan, count, shape, list);
  const sink = createSink(plan, count);
  sink.appendRow(list, count, (index, value) => elementError(plan, [index], value));
  return { plan, value: list, count, data: sink.finish(), shape };
}

function checkDatatype(plan: InputPlan, datatype: unknown, shape: readonly number[]): void {
  if (datatype === undefined || datatype === plan.datatype) return;
  const got = typeof datatype === 'string' ? quote(datatype) : describe(datatype);
  throw mismatch(plan, `datatype ${got} of shape ${formatShape(shape)}`);
}

/**
 * A result, its structured clone, or `{ data, shape }`, which all look the same.
 * @param alone - No code of the caller runs for other inputs after this one.
 */
function draftObject(plan: InputPlan, value: object, alone: boolean): Draft {
  const given: { readonly shape?: unknown; readonly datatype?: unknown; readonly data?: unknown } = value;
  const { shape: givenShape, datatype } = given;
  if (givenShape === undefined) {
    const got = describe(value);
    throw mismatch(plan, got === 'an object' ? "an object without 'shape'" : got);
  }
  const shape = readShape(plan, givenShape);
  checkDatatype(plan, datatype, shape);
  checkShape(plan, shape);

  const wire = wireOf(value);
  if (wire !== undefined) {
    const count = countElements(wire);
    checkCount(plan, count, shape, value);
    // Such code could ask the tensor for its data, and so get at the wire bytes.
    return { plan, value, count, data: alone ? wire : wire.slice(), shape };
  }
  const { data } = given;
  if (Array.isArray(data)) return draftList(plan, data, shape);
  const draft = draftFlat(plan, data, shape);
  if (draft === undefined) throw mismatch(plan, `${describe(data)} for 'data'`);
  return draft;
}

function draftInput(plan: InputPlan, value: unknown, alone: boolean): Draft {
  if (Array.isArray(value)) {
    const { shape, data } = encodeNested(plan, value);
    return { plan, value, count: elementCount(shape), data, shape };
  }
  const draft = draftFlat(plan, value, undefined);
  if (draft !== undefined) return draft;
  // A typed array that is left is one for BYTES, of another class than bytes.
  if (typeof value !== 'object' || value === null || kindOf(value) !== undefined) {
    throw mismatch(plan, describe(value));
  }
  return draftObject(plan, value, alone);
}

/**
 * Takes the elements of a draft from the caller's typed array, which becomes the data itself where that is
 * safe.
 */
function takeView(draft: Draft, elements: ElementType): WireArray {
  const { plan, value, count, shape } = draft;
  const kind = kindOf(value);
  // Drafts without data hold typed arrays.
  const view = value as TypedArray;
  if (kind === undefined || isDetached(view, kind)) throw mismatch(plan, describe(value));
  const data = elements.fromView(stable(view, kind), kind, (index, element) =>
    elementError(plan, [index], element),
  );
  if (data === undefined) {
    throw mismatch(plan, `${describe(value)}; ${plan.datatype} takes ${elements.takes}`);
  }
  // Other inputs' getters may have resized it since it was counted.
  if (lengthOf(data) !== count) throw mismatch(plan, describe(value));
  if (shape !== undefined) checkCount(plan, count, shape, value);
  return data;
}

/** Gives each draft its shape, and makes sure that all have one batch. */
function settleShapes(drafts: readonly Draft[]): void {
  let first: { readonly plan: InputPlan; readonly batch: number } | undefined;
  for (const draft of drafts) {
    const { plan, count, value } = draft;
    if (draft.shape === undefined && plan.variableDims === 0) draft.shape = cutShape(plan, count, 0, value);
    if (draft.shape === undefined || plan.batchRank === 0) continue;
    const batch = draft.shape[0] ?? 0;
    first ??= { plan, batch };
    if (batch !== first.batch) {
      const others = `input ${quote(first.plan.name)} has a batch of ${first.batch}`;
      throw mismatch(plan, `a batch of ${batch}, where ${others}`);
    }
  }
  for (const draft of drafts) {
    draft.shape ??= cutShape(draft.plan, draft.count, first?.batch ?? 0, draft.value);
  }
}

/**
 * Encodes one value an input.
 *
 * @param plans - The model's inputs.
 * @param values - What the caller passed for each; undefined where it passed nothing.
 * @throws TritonError INVALID_ARG for everything that the configuration or the datatype does not allow
 */
export function gatherInputs(
  plans: readonly InputPlan[],
  values: readonly unknown[],
): (EncodedInput | undefined)[] {
  const alone = plans.length === 1;
  const drafts = plans.map((plan, i) =>
    values[i] === undefined ? undefined : draftInput(plan, values[i], alone),
  );
  const present = drafts.filter((draft) => draft !== undefined);
  for (const draft of present) {
    const { elements } = draft.plan;
    if (draft.data === undefined && elements !== undefined) draft.data = takeView(draft, elements);
  }
  settleShapes(present);
  return drafts.map((draft) => {
    if (draft?.data === undefined || draft.shape === undefined) return undefined;
    return { shape: draft.shape, data: draft.data, byteLength: byteLengthOf(draft.data) };
  });
}
