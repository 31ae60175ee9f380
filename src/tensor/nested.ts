/**
 * Nested arrays: checks their shape and encodes their elements, in one walk that reads each property once.
 */

import { types } from 'node:util';
import type { TritonError } from '../errors.js';
import type { Refuse } from './elements.js';
import { describe } from './describe.js';
import type { InputPlan } from './plan.js';
import {
  checkShape,
  cutShape,
  elementCount,
  expectedShape,
  maxDim,
  mismatch,
  refusal,
  shapeError,
} from './shape.js';
import { isBytesElement } from './bytes.js';
import { createSink, type ElementSink } from './sink.js';
import type { TypedArray } from './types.js';
import { isDetached, kindOf, lengthOf, type ViewKind, type WireArray } from './views.js';

/**
 * About the longest dense array in V8. A longer array consists almost entirely of holes, and no memory must be
 * allocated for the length that it claims.
 */
export const maxRow: number = 2 ** 27;

/** The place of an element, at the end of a message: ` at [0][2]`. */
function formatPath(path: readonly number[]): string {
  return path.length === 0 ? '' : ` at ${path.map((index) => `[${index}]`).join('')}`;
}

/** The length of a caller's array. Only a proxy can return an invalid length. */
export function readLength(plan: InputPlan, array: readonly unknown[]): number {
  const length: unknown = array.length;
  if (typeof length !== 'number' || !Number.isInteger(length) || length < 0 || length > maxRow) {
    throw mismatch(plan, `an array of length ${describe(length)}; pass a typed array for this many elements`);
  }
  return length;
}

/** The INVALID_ARG error for an element that the datatype does not take. */
export function elementError(plan: InputPlan, path: readonly number[], value: unknown): TritonError {
  const takes = plan.elements?.elements ?? 'well-formed strings or Uint8Arrays';
  const deep = Array.isArray(value) ? ` (nested deeper than ${expectedShape(plan)})` : '';
  return refusal(
    plan,
    `expected ${plan.datatype} (${takes}), but got ${describe(value)}${deep}${formatPath(path)}`,
  );
}

/** Whether a value would be an element of some datatype. */
function isElement(value: unknown): boolean {
  return ['number', 'bigint', 'boolean'].includes(typeof value) || isBytesElement(value);
}

/** The encoded contents of a caller's arrays. */
export interface Walked {
  /** Undefined for flat data whose batch may depend on the other inputs. */
  readonly shape: readonly number[] | undefined;
  /** The number of elements. */
  readonly count: number;
  readonly data: WireArray;
}

/** The shape of a flat array; undefined if it may depend on the batch of the other inputs. */
function flatShape(
  plan: InputPlan,
  array: readonly unknown[],
  length: number,
): readonly number[] | undefined {
  return plan.variableDims === 1 && plan.batchRank === 1 ? undefined : cutShape(plan, length, 0, array);
}

/** How many entries and how many levels are looked at for the reason of a wrong shape. */
const mostLooked = 4096;
const mostLevels = 32;

/** The value at an index, without code of the caller; undefined where that code would have to run. */
function plainAt(array: readonly unknown[], index: number): unknown {
  return Object.getOwnPropertyDescriptor(array, index)?.value;
}

/** Looks for the first place of nested arrays whose length or kind differs from that of its neighbours. */
class RaggedSearch {
  #looked = 0;

  /** The place; undefined if there is none among the entries that are looked at. */
  placeIn(array: readonly unknown[], path: readonly number[] = []): string | undefined {
    if (types.isProxy(array) || path.length >= mostLevels) return undefined;
    const first = plainAt(array, 0);
    for (let i = 0; i < array.length && this.#looked < mostLooked; i++) {
      this.#looked++;
      const child = plainAt(array, i);
      const here = [...path, i];
      if (Array.isArray(child) !== Array.isArray(first))
        return `${describe(child)}${formatPath(here)}, where others have ${Array.isArray(first) ? 'arrays' : 'an element'}`;
      if (!Array.isArray(child) || !Array.isArray(first) || types.isProxy(child)) continue;
      if (child.length !== first.length)
        return `length ${child.length}${formatPath(here)}, where others have ${first.length}`;
      const deeper = this.placeIn(child, here);
      if (deeper !== undefined) return deeper;
    }
    return undefined;
  }
}

class NestedWalk {
  readonly plan: InputPlan;
  /** Lengths along the first element of each level; complete when the first row is reached. */
  readonly shape: number[] = [];
  readonly #path: number[] = [];
  readonly #lastLevel: number;
  #sink: ElementSink | undefined;
  /** How many elements flat data has; undefined for nested arrays. */
  #count: number | undefined;
  #flatShape: readonly number[] | undefined;
  readonly #refuse: Refuse;
  readonly #outermost: readonly unknown[];

  constructor(plan: InputPlan, outermost: readonly unknown[]) {
    this.plan = plan;
    this.#outermost = outermost;
    this.#lastLevel = plan.rank - 1;
    this.#refuse = (index, value) => elementError(plan, [...this.#path, index], value);
  }

  /** Walks an array of a level; the outermost level is 0. */
  walk(array: readonly unknown[], level: number): void {
    const length = readLength(this.plan, array);
    this.#checkLength(level, length);
    if (level === this.#lastLevel) {
      this.#openSink().appendRow(array, length, this.#refuse);
      return;
    }
    for (let i = 0; i < length; i++) {
      const child = array[i];
      if (i === 0 && level === 0 && this.#isElement(child)) {
        this.#walkFlat(array, length, child);
        return;
      }
      this.#path.push(i);
      if (Array.isArray(child)) this.walk(child, level + 1);
      else this.#walkLeaf(child, level + 1);
      this.#path.pop();
    }
  }

  /** Whether a value is an element of this input, and not a row in a typed array. */
  #isElement(value: unknown): boolean {
    return isElement(value) && (this.plan.elements === undefined || kindOf(value) === undefined);
  }

  /** Encodes an array of elements as flat data, like a typed array. */
  #walkFlat(array: readonly unknown[], length: number, first: unknown): void {
    this.#count = length;
    // Check the length before reading the other elements: there may be too many.
    this.#flatShape = this.#orRagged(() => flatShape(this.plan, array, length));
    const sink = (this.#sink = createSink(this.plan, length));
    const row = [first];
    for (let i = 1; i < length; i++) {
      const child = array[i];
      if (Array.isArray(child)) {
        this.#path.push(i);
        throw this.#ragged(describe(child), 'an element');
      }
      row.push(child);
    }
    sink.appendRow(row, length, this.#refuse);
  }

  finish(): Walked {
    const sink = this.#sink;
    // Without any row the nesting ended early, in empty arrays.
    if (sink === undefined) throw shapeError(this.plan, this.shape);
    const data = sink.finish();
    if (this.#count !== undefined) return { shape: this.#flatShape, count: this.#count, data };
    return { shape: this.shape, count: elementCount(this.shape), data };
  }

  /** Handles a value that is not an array where the rank needs an array: a typed row, or a wrong rank. */
  #walkLeaf(child: unknown, level: number): void {
    const kind = kindOf(child);
    if (kind !== undefined && this.plan.elements !== undefined) {
      // A value that has a kind is a typed array.
      this.#walkView(child as TypedArray, kind, level);
      return;
    }
    if (!isElement(child)) throw mismatch(this.plan, `${describe(child)}${formatPath(this.#path)}`);
    if (this.shape.length > level) throw this.#ragged(describe(child), 'arrays');
    throw shapeError(this.plan, this.shape);
  }

  #walkView(view: TypedArray, kind: ViewKind, level: number): void {
    const { plan } = this;
    if (isDetached(view, kind)) throw mismatch(plan, `${describe(view)}${formatPath(this.#path)}`);
    this.#checkLength(level, lengthOf(view));
    if (level < this.#lastLevel) {
      throw this.shape.length > level + 1
        ? this.#ragged(describe(view), 'arrays')
        : shapeError(plan, this.shape);
    }
    if (this.#openSink().appendView(view, kind, this.#refuse)) return;
    const got = `${describe(view)}${formatPath(this.#path)}`;
    throw refusal(plan, `expected rows of ${plan.datatype} (${plan.elements?.takes ?? ''}), but got ${got}`);
  }

  #checkLength(level: number, length: number): void {
    const { shape } = this;
    if (level === shape.length) {
      if (length > maxDim) throw mismatch(this.plan, `a row of length ${length}`);
      shape.push(length);
    } else if (shape[level] !== length) {
      throw this.#ragged(`length ${length}`, `${shape[level] ?? 0}`);
    }
  }

  #ragged(got: string, expected: string): TritonError {
    return refusal(
      this.plan,
      `ragged nesting: ${got}${formatPath(this.#path)}, where others have ${expected}`,
    );
  }

  /** Does a check of the shape. Where arrays of different lengths are the reason that it fails, the error says so. */
  #orRagged<T>(check: () => T): T {
    try {
      return check();
    } catch (error) {
      const place = new RaggedSearch().placeIn(this.#outermost);
      throw place === undefined ? error : refusal(this.plan, `ragged nesting: ${place}`);
    }
  }

  /** Creates the sink, as soon as the shape is known and valid. */
  #openSink(): ElementSink {
    if (this.#sink === undefined) {
      this.#orRagged(() => {
        checkShape(this.plan, this.shape);
      });
      this.#sink = createSink(this.plan, elementCount(this.shape));
    }
    return this.#sink;
  }
}

/** Encodes nested arrays, or a flat one. */
export function encodeNested(plan: InputPlan, array: readonly unknown[]): Walked {
  if (plan.rank === 0) throw mismatch(plan, 'an array; pass { data, shape: [] }');
  const walk = new NestedWalk(plan, array);
  walk.walk(array, 0);
  return walk.finish();
}
