/**
 * The one input of a model whose dims are all fixed: a typed array of the right class is copied straight to where the
 * engine reads it. Most requests are like that.
 */

import { gatherInputs, type EncodedInput } from './gather.js';
import { InputReader } from './names.js';
import type { InputPlan } from './plan.js';
import type { ShortPath } from './short-path.js';
import type { WireArray } from './views.js';

/** See the head of this file. */
export class OnlyInput {
  readonly #plan: InputPlan;
  readonly #plans: readonly InputPlan[];
  readonly #reader: InputReader;
  readonly #path: ShortPath;

  constructor(model: string, plan: InputPlan, path: ShortPath) {
    this.#plan = plan;
    this.#plans = [plan];
    this.#reader = new InputReader(model, this.#plans);
    this.#path = path;
  }

  /**
   * What the caller passed for it.
   *
   * @throws TritonError INVALID_ARG for unknown and missing names
   */
  read(inputs: unknown): unknown {
    return this.#reader.readOnly(inputs, this.#plan.name);
  }

  /** The value in wire layout, whatever it is; see `InputEncoder`. */
  encode(value: unknown): readonly (EncodedInput | undefined)[] {
    const encoded = this.#path.encode(value, 1);
    return encoded === undefined ? gatherInputs(this.#plans, [value]) : [encoded];
  }

  /** Rows of a typed array that can be copied as it is; 0 for every other value. */
  rowsOf(value: unknown): number {
    return this.#path.rowsOf(value);
  }

  /** Bytes of so many rows. */
  bytesOf(rows: number): number {
    return this.#path.rowBytes * rows;
  }

  /** Shape of so many rows; not to be changed. */
  shapeOf(rows: number): readonly number[] {
    return this.#path.shapeOf(rows);
  }

  /** A view for so many rows at `offset` of some memory, a multiple of 8, to copy a value to. */
  viewOn(memory: ArrayBuffer, offset: number, rows: number): WireArray {
    return this.#path.viewOn(memory, offset, rows);
  }
}
