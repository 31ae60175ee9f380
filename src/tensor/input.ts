/**
 * Checks and encodes the inputs of requests. This is the entry to the hot path.
 *
 * A model version's inputs are compiled once, and its encoder is called for every request. Typed arrays of
 * the right classes (alone or with a shape) and plain nested arrays take fast paths that allocate next to
 * nothing. gather.ts handles all other inputs.
 */

import { datatypeSize } from './datatype.js';
import { EncodedInputs } from './encoded.js';
import { gatherInputs } from './gather.js';
import { readGiven, type Given } from './given.js';
import { InputReader } from './names.js';
import { NestedPath, type Nested } from './nested-path.js';
import { planInputs, type InputPlan, type RequestSpec } from './plan.js';
import { ShortPath } from './short-path.js';
import type { Inputs } from './inputs.js';
import { byteLengthOf, kindOf, type WireArray } from './views.js';

/** An input whose objects and lists have been read. */
class Read {
  /** The value that the caller passed, or the data in it. */
  readonly value: unknown;
  /** Its shape, if it came with one. */
  readonly shape: readonly number[] | undefined;
  /** Its nested arrays, which are encoded already. */
  readonly nested: Nested | undefined;

  constructor(value: unknown, shape: readonly number[] | undefined, nested: Nested | undefined) {
    this.value = value;
    this.shape = shape;
    this.nested = nested;
  }
}

/** Encodes the inputs of one model version. */
export class InputEncoder {
  readonly #plans: readonly InputPlan[];
  readonly #reader: InputReader;
  readonly #paths: readonly ShortPath[];
  readonly #nested: readonly NestedPath[];
  /** The fast path of the input, if there is only one input. */
  readonly #only: ShortPath | undefined;
  readonly #onlyName: string;
  readonly #encoded: EncodedInputs;

  constructor(spec: RequestSpec) {
    this.#plans = planInputs(spec);
    this.#reader = new InputReader(spec.model, this.#plans);
    this.#paths = this.#plans.map((plan) => new ShortPath(plan));
    this.#nested = this.#plans.map((plan) => new NestedPath(plan));
    this.#only = this.#plans.length === 1 ? this.#paths[0] : undefined;
    this.#onlyName = this.#plans[0]?.name ?? '';
    this.#encoded = new EncodedInputs(this.#plans.length, datatypeSize[this.#plans[0]?.datatype ?? 'BYTES']);
  }

  /**
   * Checks and encodes the inputs of one request.
   *
   * @param rows - The batch of an input, if neither its shape nor the other inputs give it (default 1).
   * @returns The encoded inputs, to be copied before any code of the caller runs and before the next call;
   *   see {@link EncodedInputs}.
   * @throws {@link TritonError} INVALID_ARG, with model and tensor, for an input that the model does not take.
   */
  encode(inputs: Inputs, rows = 1): EncodedInputs {
    if (this.#only !== undefined) return this.encodeValue(this.readOnly(inputs), rows);
    return this.encodeValues(this.readAll(inputs), rows);
  }

  /**
   * The values that the caller passed, for {@link isAlike} and then {@link encodeValues} or {@link done}.
   *
   * @throws {@link TritonError} INVALID_ARG for unknown and missing names.
   */
  readAll(inputs: Inputs): unknown[] {
    return this.#reader.readAll(inputs);
  }

  /** Takes back an array of {@link readAll}. */
  done(values: unknown[]): void {
    this.#reader.done(values);
  }

  /**
   * Whether values are typed arrays of these lengths that can be copied unconverted. They then have the shapes of every request that
   * {@link EncodedInputs.byLength} says it of, and that has these lengths.
   *
   * @param lengths - By input, the number of elements.
   * @param present - By input: undefined if it is absent.
   */
  isAlike(
    values: readonly unknown[],
    lengths: readonly number[],
    present: readonly unknown[],
  ): values is readonly (WireArray | undefined)[] {
    for (let i = 0; i < values.length; i++) {
      const value = values[i];
      if (value === undefined || present[i] === undefined) {
        if (value !== present[i]) return false;
      } else if (this.#paths[i]?.hasCount(value, lengths[i] ?? 0) !== true) {
        return false;
      }
    }
    return true;
  }

  /** {@link encode} for values of {@link readAll}. */
  encodeValues(values: unknown[], rows = 1): EncodedInputs {
    const encoded = this.#encoded;
    const isShort = this.#encodeShort(values, rows);
    if (isShort) this.#reader.done(values);
    else this.#encodeRead(values, rows);
    // Set last: a getter of the caller may have encoded another request meanwhile.
    encoded.byLength = isShort;
    return encoded;
  }

  /** Whether the model has one input. Then the methods below, up to `encodeValue`, may encode its requests. */
  get hasOne(): boolean {
    return this.#only !== undefined;
  }

  /**
   * The value that the caller passed for the only input.
   *
   * @throws {@link TritonError} INVALID_ARG for unknown and missing names.
   */
  readOnly(inputs: Inputs): unknown {
    return this.#reader.readOnly(inputs, this.#onlyName);
  }

  /** The shape of a value from {@link readOnly}, if it is a typed array that can be copied unconverted. */
  shapeOf(value: unknown): readonly number[] | undefined {
    return this.#only?.shapeFor(value, 1);
  }

  /** What {@link encode} returns, with the last request's inputs. {@link EncodedInputs.setOnly} sets others. */
  get encoded(): EncodedInputs {
    return this.#encoded;
  }

  /** {@link encode} for a value that {@link readOnly} returned. */
  encodeValue(value: unknown, rows = 1): EncodedInputs {
    const encoded = this.#encoded;
    const only = this.#only;
    if (only !== undefined && !only.encode(value, rows, encoded, 0)) this.#encodeOnly(only, value, rows);
    return encoded;
  }

  /** Releases the last request's arrays. */
  release(): void {
    this.#encoded.release();
  }

  /** Encodes the only input, if it is not a typed array for the fast path. */
  #encodeOnly(only: ShortPath, value: unknown, rows: number): void {
    const encoded = this.#encoded;
    let given: Given | undefined;
    let shape: readonly number[] | undefined;
    let nested: Nested | undefined;
    if (Array.isArray(value)) {
      nested = this.#nested[0]?.encode(value, true);
      if (nested !== undefined) {
        encoded.set(0, nested.shape, nested.data, byteLengthOf(nested.data));
        return;
      }
    } else if (typeof value === 'object' && value !== null && kindOf(value) === undefined) {
      given = readGiven(value, this.#plans[0]?.elements === undefined, true);
      shape = only.shapeOf(given);
      if (shape !== undefined && only.encodeGiven(given.data, shape, encoded, 0)) return;
    }
    gatherInputs(this.#plans, [{ value, given, shape, nested }], encoded, rows);
  }

  /**
   * Encodes all inputs as typed arrays. Returns false if an input is not a typed array, or if batches differ.
   */
  #encodeShort(values: readonly unknown[], rowsUntold: number): boolean {
    const encoded = this.#encoded;
    let batch = 0;
    let open = false;
    for (let i = 0; i < values.length; i++) {
      const path = this.#paths[i];
      if (path === undefined || values[i] === undefined) {
        encoded.leaveOut(i);
      } else if (path.open) {
        open = true;
      } else {
        if (!path.encode(values[i], 0, encoded, i)) return false;
        if (!path.tellsRows) continue;
        const rows = encoded.shapes[i]?.[0] ?? 0;
        if (batch === 0) batch = rows;
        else if (batch !== rows) return false;
      }
    }
    if (!open) return true;
    for (let i = 0; i < values.length; i++) {
      const path = this.#paths[i];
      if (path?.open !== true || values[i] === undefined) continue;
      if (!path.encode(values[i], batch === 0 ? rowsUntold : batch, encoded, i)) return false;
    }
    return true;
  }

  /** Reads all objects and lists, which may run code of the caller, and then encodes. */
  #encodeRead(values: readonly unknown[], rows: number): void {
    const givens: (Given | undefined)[] = [];
    const reads: (Read | undefined)[] = [];
    let short = true;
    for (let i = 0; i < values.length; i++) {
      const value = values[i];
      givens.push(undefined);
      reads.push(undefined);
      if (value === undefined) continue;
      if (Array.isArray(value)) {
        const nested = this.#nested[i]?.encode(value, false);
        if (nested === undefined) short = false;
        else reads[i] = new Read(value, nested.shape, nested);
      } else if (typeof value !== 'object' || value === null || kindOf(value) !== undefined) {
        reads[i] = new Read(value, undefined, undefined);
      } else {
        const given = readGiven(value, this.#plans[i]?.elements === undefined, values.length === 1);
        givens[i] = given;
        const shape = this.#paths[i]?.shapeOf(given);
        if (shape === undefined) short = false;
        else reads[i] = new Read(given.data, shape, undefined);
      }
    }
    // From here on no code of the caller runs, except for inputs that the fast path does not handle.
    if (short && this.#encodeReads(reads, rows)) return;
    gatherInputs(
      this.#plans,
      values.map((value, i) => ({
        value,
        given: givens[i],
        shape: reads[i]?.shape,
        nested: reads[i]?.nested,
      })),
      this.#encoded,
      rows,
    );
  }

  #encodeReads(reads: readonly (Read | undefined)[], rowsUntold: number): boolean {
    const encoded = this.#encoded;
    let batch = 0;
    let open = false;
    for (let i = 0; i < reads.length; i++) {
      const read = reads[i];
      const path = this.#paths[i];
      if (read === undefined || path === undefined) {
        encoded.leaveOut(i);
        continue;
      }
      if (read.shape === undefined && path.open) {
        open = true;
        continue;
      }
      const { value, shape, nested } = read;
      if (nested !== undefined) encoded.set(i, nested.shape, nested.data, byteLengthOf(nested.data));
      else if (shape !== undefined) {
        if (!path.encodeGiven(value, shape, encoded, i)) return false;
      } else if (!path.encode(value, 0, encoded, i)) return false;
      if (!path.tellsRows) continue;
      const rows = encoded.shapes[i]?.[0] ?? 0;
      if (batch === 0) batch = rows;
      else if (batch !== rows) return false;
    }
    if (!open) return true;
    for (let i = 0; i < reads.length; i++) {
      const read = reads[i];
      const path = this.#paths[i];
      if (read?.shape !== undefined || read === undefined || path?.open !== true) continue;
      if (!path.encode(read.value, batch === 0 ? rowsUntold : batch, encoded, i)) return false;
    }
    return true;
  }
}
