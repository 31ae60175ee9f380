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
import { copyInto } from '../tensor/views.js';
import type { Batch } from './batch.js';
import type { InstanceMemory } from './instance-memory.js';
import { failureOf, type Failure } from './failures.js';
import { largeBytes, ResultWords, type ResultOutput, type Together } from './result-words.js';
import { iterates, iteratorOf, type OpenedStream } from './iterators.js';
import { tensorsOf } from './version-spec.js';

/** Batches with more bytes of outputs are given to the engine in pieces, request by request. */
const mostTogether = 64 << 20;

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

/** See the head of this file. An instance has one. */
export class ResultWriter {
  /** Where the results are written. */
  readonly words: ResultWords;
  readonly #memory: InstanceMemory;
  readonly #model: string;
  readonly #decoupled: boolean;
  readonly #batching: boolean;
  readonly #outputs: readonly ResultOutput[];
  readonly #encoder: InputEncoder;

  constructor(native: NativeInstance, memory: InstanceMemory, model: string, config: ModelConfig) {
    this.#memory = memory;
    this.#model = model;
    this.#batching = config.max_batch_size > 0;
    this.#decoupled = config.model_transaction_policy?.decoupled ?? false;
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
    this.words = new ResultWords(native, memory, model, this.#outputs);
    this.#encoder = new InputEncoder({
      model,
      maxBatchSize: config.max_batch_size,
      noun: 'output',
      inputs: tensors.map((tensor) => ({ ...tensor, optional: true })),
    });
  }

  /** Fails all requests of a batch, and ends it. */
  fail(batch: Batch, failure: Failure): void {
    this.words.begin();
    this.words.putFailure(batch, -1, failure);
    this.words.send(batch, true);
  }

  /**
   * Gives the results of a batch, and ends it.
   *
   * @returns The streams among the results of a decoupled model. If there are some, the batch goes on with them.
   */
  give(batch: Batch, results: unknown): readonly OpenedStream[] {
    const { requests } = batch;
    if (!Array.isArray(results) || results.length !== requests.length) {
      const got = Array.isArray(results) ? `an array of ${results.length}` : typeof results;
      this.fail(batch, {
        code: 'INTERNAL',
        message: `model '${this.#model}': expected execute to return an array of ${requests.length} results, one for each request, but it returned ${got}`,
      });
      return [];
    }
    const list: readonly unknown[] = results;
    const hasStreams = this.#decoupled && list.some(iterates);
    if (!hasStreams && this.#batching && this.#giveTogether(batch, list)) return [];
    this.words.begin();
    const streams = hasStreams ? this.#open(batch, list) : [];
    for (let i = 0; i < list.length; i++) {
      if (!hasStreams || !iterates(list[i])) this.#giveOne(batch, i, list[i]);
    }
    this.words.send(batch, streams.length === 0);
    return streams;
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
    this.words.begin();
    this.words.putTogether(plan, all);
    this.words.send(batch, true);
    return true;
  }

  /** Where the outputs of all requests go, if they are like those of the first one. */
  #plan(encoded: EncodedInputs, rows: number, all: number): Together | undefined {
    const outputs = [];
    let offset = 0;
    let words = 2;
    for (let index = 0; index < this.#outputs.length; index++) {
      const shape = encoded.shapes[index];
      if (shape === undefined) continue;
      const rowBytes = (encoded.byteLengths[index] ?? 0) / rows;
      if (this.#outputs[index]?.isBytes === true || rowBytes * rows >= largeBytes) return undefined;
      if (offset + rowBytes * all > mostTogether) return undefined;
      outputs.push({ index, tail: shape.slice(1), rowBytes, offset });
      offset += (rowBytes * all + 7) & ~7;
      words += 4 + shape.length;
    }
    // Whoever grows the memory loses what is in it, and nothing is in it now.
    if (words > this.#memory.words.length || offset > this.#memory.bytes.buffer.byteLength) {
      this.#memory.grow(words, offset);
    }
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

  /** Writes a response; see {@link ResultWords.putResponse}. What is wrong with it is thrown. */
  #respond(batch: Batch, position: number, result: unknown, isFinal: boolean): boolean {
    try {
      const encoded = this.#encode(result, batch.rows[position] ?? 1);
      return this.words.putResponse(batch, position, encoded, isFinal);
    } finally {
      this.#encoder.release();
    }
  }

  #giveOne(batch: Batch, position: number, result: unknown): void {
    if (result instanceof Error) {
      this.words.putFailure(batch, position, failureOf(this.#model, result));
      return;
    }
    try {
      if (!this.#decoupled && iterates(result)) throw this.#notDecoupled();
      this.#respond(batch, position, result, true);
    } catch (error) {
      this.words.putFailure(batch, position, this.faultOf(error));
    }
  }

  #notDecoupled(): Error {
    return new Error(
      `model '${this.#model}': expected outputs by name, but got an iterable; only a model whose configuration says model_transaction_policy { decoupled: true } may give several responses to a request`,
    );
  }

  /** What is wrong with a result is the model's fault, not the caller's. */
  faultOf(error: unknown): Failure {
    let message = 'something that cannot be read';
    try {
      message = String(error instanceof Error ? error.message : error);
    } catch {
      // Nothing that a model throws may leave this.
    }
    return { code: 'INTERNAL', message };
  }

  /**
   * Writes a response that others follow.
   *
   * @returns Whether it is to be sent before the model goes on.
   * @throws An error that says what is wrong with it.
   */
  giveNext(batch: Batch, position: number, result: unknown): boolean {
    return this.#respond(batch, position, result, false);
  }

  /** Opens the streams among the results. One that cannot be opened has failed. */
  #open(batch: Batch, results: readonly unknown[]): readonly OpenedStream[] {
    const opened: OpenedStream[] = [];
    for (let position = 0; position < results.length; position++) {
      const result = results[position];
      if (!iterates(result)) continue;
      try {
        opened.push({ position, iterator: iteratorOf(result) });
      } catch (error) {
        this.words.putFailure(batch, position, failureOf(this.#model, error));
      }
    }
    return opened;
  }
}
