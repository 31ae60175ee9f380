/** Checks the results of a batch, and gives them to the engine as words and bytes. */

import type { NativeInstance } from '../addon/native.js';
import type { ModelConfig } from '../config/index.js';
import { TritonError } from '../errors.js';
import { datatypeNumber } from '../tensor/datatype.js';
import type { EncodedInputs } from '../tensor/encoded.js';
import { elementTypes } from '../tensor/elements.js';
import { InputEncoder } from '../tensor/input.js';
import { formatShape } from '../tensor/shape.js';
import type { Inputs } from '../tensor/inputs.js';
import { copyInto, type ViewKind, type WireArray } from '../tensor/views.js';
import type { Batch } from './batch.js';
import type { InstanceMemory } from './instance-memory.js';
import { engineMessage, failureOf, type Failure } from './failures.js';
import { tensorsOf } from './version-spec.js';

/** First words of results; see `native/binding/instance_wrap.h`. */
const together = 0;
const one = 1;
const failed = 2;
/** An output that is at least so long is copied from its own array instead of the memory. */
const largeBytes = 64 << 10;

/** An output of the model. */
interface ResultOutput {
  readonly name: string;
  readonly datatype: number;
  readonly wire: ViewKind;
  readonly elementBytes: number;
  /** Whether its elements have different sizes. */
  readonly isBytes: boolean;
}

const shiftOf: Readonly<Record<string, number>> = {
  Int8Array: 1,
  Uint8Array: 1,
  Int16Array: 2,
  Uint16Array: 2,
  Int32Array: 4,
  Uint32Array: 4,
  Float32Array: 4,
  Float64Array: 8,
  BigInt64Array: 8,
  BigUint64Array: 8,
};

/** What the outputs of all requests have in common, while they are written together. */
interface Together {
  readonly outputs: readonly {
    readonly index: number;
    readonly tail: readonly number[];
    readonly rowBytes: number;
    readonly offset: number;
  }[];
}

/** See the head of this file. An instance has one. */
export class ResultWriter {
  readonly #native: NativeInstance;
  readonly #memory: InstanceMemory;
  readonly #model: string;
  readonly #batching: boolean;
  readonly #outputs: readonly ResultOutput[];
  readonly #encoder: InputEncoder;
  #words = 0;
  #bytes = 0;
  #objects: unknown[] = [];

  constructor(native: NativeInstance, memory: InstanceMemory, model: string, config: ModelConfig) {
    this.#native = native;
    this.#memory = memory;
    this.#model = model;
    this.#batching = config.max_batch_size > 0;
    const tensors = tensorsOf(config, 'output');
    this.#outputs = tensors.map(({ name, datatype }) => {
      const wire = datatype === 'BYTES' ? 'Uint8Array' : elementTypes[datatype].wire;
      return {
        name,
        datatype: datatypeNumber[datatype],
        wire,
        elementBytes: shiftOf[wire] ?? 1,
        isBytes: datatype === 'BYTES',
      };
    });
    this.#encoder = new InputEncoder({
      model,
      maxBatchSize: config.max_batch_size,
      noun: 'output',
      inputs: tensors.map((tensor) => ({ ...tensor, optional: true })),
    });
  }

  /** Fails all requests of a batch, and ends it. */
  fail(batch: Batch, failure: Failure): void {
    this.#begin();
    this.#putFailure(-1, failure);
    this.#send(batch, true);
  }

  /** Gives the results of a batch, and ends it. */
  give(batch: Batch, results: unknown): void {
    const { requests } = batch;
    if (!Array.isArray(results) || results.length !== requests.length) {
      const got = Array.isArray(results) ? `an array of ${results.length}` : typeof results;
      this.fail(batch, {
        code: 'INTERNAL',
        message: `model '${this.#model}': expected execute to return an array of ${requests.length} results, one for each request, but it returned ${got}`,
      });
      return;
    }
    const list: readonly unknown[] = results;
    if (this.#batching && this.#giveTogether(batch, list)) return;
    this.#begin();
    for (let i = 0; i < list.length; i++) this.#giveOne(batch, i, list[i]);
    this.#send(batch, true);
  }

  #encode(result: unknown, rows: number): EncodedInputs {
    // It is checked like the inputs of a request, which is any value of a caller.
    const encoded = this.#encoder.encode(result as Inputs, rows);
    if (!this.#batching) return encoded;
    for (let i = 0; i < this.#outputs.length; i++) {
      const shape = encoded.shapes[i];
      if (shape === undefined || shape[0] === rows) continue;
      throw new TritonError(
        'INTERNAL',
        `model '${this.#model}', output '${this.#outputs[i]?.name ?? ''}': expected ${rows} rows, as the request has, but got shape ${formatShape(shape)}`,
      );
    }
    return encoded;
  }

  /** Writes the outputs of all requests one after the other. Returns false if they are not alike. */
  #giveTogether(batch: Batch, results: readonly unknown[]): boolean {
    const { rows } = batch;
    let all = 0;
    for (const count of rows) all += count;
    let plan: Together | undefined;
    let before = 0;
    try {
      for (let i = 0; i < results.length; i++) {
        const result = results[i];
        const count = rows[i] ?? 1;
        if (result instanceof Error) return false;
        const encoded = this.#encode(result, count);
        plan ??= this.#plan(encoded, count, all);
        if (plan === undefined || !this.#copy(plan, encoded, count, before)) return false;
        before += count;
      }
    } catch {
      // The general way finds the request again, and its error.
      return false;
    } finally {
      this.#encoder.release();
    }
    if (plan === undefined) return false;
    this.#begin();
    this.#put(together, plan.outputs.length);
    for (const { index, tail, rowBytes, offset } of plan.outputs) {
      this.#put(index, this.#outputs[index]?.datatype ?? 0, tail.length, ...tail, rowBytes * all, offset);
    }
    this.#send(batch, true);
    return true;
  }

  /** Where the outputs of all requests go, if they are like those of the first one. */
  #plan(encoded: EncodedInputs, rows: number, all: number): Together | undefined {
    const outputs = [];
    let offset = 0;
    for (let index = 0; index < this.#outputs.length; index++) {
      const shape = encoded.shapes[index];
      if (shape === undefined) continue;
      const rowBytes = (encoded.byteLengths[index] ?? 0) / rows;
      if (this.#outputs[index]?.isBytes === true || rowBytes * rows >= largeBytes) return undefined;
      outputs.push({ index, tail: shape.slice(1), rowBytes, offset });
      offset += (rowBytes * all + 7) & ~7;
    }
    // Whoever grows the memory loses what is in it, and nothing is in it now.
    if (offset > this.#memory.bytes.buffer.byteLength) this.#memory.grow(0, offset);
    return { outputs };
  }

  #copy(plan: Together, encoded: EncodedInputs, rows: number, before: number): boolean {
    let present = 0;
    for (const shape of encoded.shapes) if (shape !== undefined) present++;
    if (present !== plan.outputs.length) return false;
    for (const { index, tail, rowBytes, offset } of plan.outputs) {
      const shape = encoded.shapes[index];
      const data = encoded.data[index];
      const output = this.#outputs[index];
      if (shape === undefined || data === undefined || output === undefined) return false;
      if (encoded.byteLengths[index] !== rowBytes * rows) return false;
      for (let dim = 0; dim < tail.length; dim++) if (shape[dim + 1] !== tail[dim]) return false;
      copyInto(this.#memory.bytes.of(output.wire), data, (offset + before * rowBytes) / output.elementBytes);
    }
    return true;
  }

  #giveOne(batch: Batch, position: number, result: unknown): void {
    if (result instanceof Error) {
      this.#putFailure(position, failureOf(this.#model, result), batch);
      return;
    }
    let encoded: EncodedInputs;
    try {
      encoded = this.#encode(result, batch.rows[position] ?? 1);
    } catch (error) {
      // What is wrong with it is the model's fault, not the caller's.
      const message = error instanceof Error ? error.message : String(error);
      this.#putFailure(position, { code: 'INTERNAL', message }, batch);
      return;
    }
    let words = 3;
    let bytes = 0;
    let count = 0;
    for (let i = 0; i < encoded.shapes.length; i++) {
      const shape = encoded.shapes[i];
      if (shape === undefined) continue;
      count++;
      words += 5 + shape.length;
      const size = encoded.byteLengths[i] ?? 0;
      if (size < largeBytes) bytes += (size + 7) & ~7;
    }
    this.#reserve(batch, words, bytes);
    this.#put(one, position, count);
    for (let i = 0; i < encoded.shapes.length; i++) {
      const shape = encoded.shapes[i];
      const data = encoded.data[i];
      const output = this.#outputs[i];
      if (shape === undefined || data === undefined || output === undefined) continue;
      const size = encoded.byteLengths[i] ?? 0;
      this.#put(i, output.datatype, shape.length, ...shape, size, this.#place(data, output, size));
    }
    this.#encoder.release();
  }

  #place(data: WireArray, { wire, elementBytes }: ResultOutput, size: number): number {
    if (size >= largeBytes) return ~(this.#objects.push(data) - 1);
    const offset = this.#bytes;
    copyInto(this.#memory.bytes.of(wire), data, offset / elementBytes);
    this.#bytes += (size + 7) & ~7;
    return offset;
  }

  #putFailure(position: number, failure: Failure, batch?: Batch): void {
    if (batch !== undefined) this.#reserve(batch, 4, 0);
    const message = engineMessage(failure);
    this.#put(failed, position, codeNumber[failure.code], ~(this.#objects.push(message) - 1));
  }

  #begin(): void {
    this.#words = this.#bytes = 0;
    this.#objects = [];
  }

  /** Makes room: what is written goes to the engine first, if there is too much of it. */
  #reserve(batch: Batch, words: number, bytes: number): void {
    const { words: list, bytes: memory } = this.#memory;
    if (this.#words + words <= list.length && this.#bytes + bytes <= memory.buffer.byteLength) return;
    this.#send(batch, false);
    this.#begin();
    if (words > list.length || bytes > memory.buffer.byteLength) this.#memory.grow(words, bytes);
  }

  #put(...words: readonly number[]): void {
    const list = this.#memory.words;
    for (const word of words) list[this.#words++] = word;
  }

  #send(batch: Batch, last: boolean): void {
    if (!this.#native.answer(batch.slot, this.#words, this.#objects, last)) {
      throw new Error(`model '${this.#model}': malformed results`);
    }
    this.#objects = [];
  }
}

/** Numbers of `native/engine/base/status.h`. */
const codeNumber: Readonly<Record<Failure['code'], number>> = {
  UNKNOWN: 1,
  INTERNAL: 2,
  NOT_FOUND: 3,
  INVALID_ARG: 4,
  UNAVAILABLE: 5,
  UNSUPPORTED: 6,
  ALREADY_EXISTS: 7,
  CANCELLED: 8,
};
