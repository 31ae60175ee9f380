/** Checks the results of a batch, and sends them to the engine as words and bytes. */

import type { NativeInstance } from '../../addon/native/instance.js';
import type { ModelConfig } from '../../config/index.js';
import { TritonError } from '../../errors.js';
import { datatypeNumber } from '../../tensor/datatype.js';
import type { EncodedInputs } from '../../tensor/encoded.js';
import { elementTypes } from '../../tensor/elements.js';
import { InputEncoder } from '../../tensor/input.js';
import { formatShape } from '../../tensor/shape.js';
import type { Inputs } from '../../tensor/inputs.js';
import { copyInto } from '../../tensor/views.js';
import type { Batch } from '../batches/batch.js';
import type { InstanceMemory } from '../threads/instance-memory.js';
import { failureOf, type Failure } from '../batches/failures.js';
import { largeBytes, ResultWords, type ResultOutput, type Together } from './result-words.js';
import { Again } from '../batches/rescheduled.js';
import { iterates, iteratorOf, type OpenedStream } from '../batches/iterators.js';
import { describeResult, leftOutOf, missingOutput } from '../batches/left-out.js';
import { resultOf, silence } from './settle-results.js';
import { WithParameters } from './with-parameters.js';
import { tensorsOf } from '../versions/version-spec.js';

/** Batches with more bytes of outputs are sent to the engine request by request. */
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

/** See the head of this file. Each instance has its own. */
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
   * Sends the results of a batch, and ends it.
   *
   * @returns The streams among the results of a decoupled model. If there are any, the batch goes on with them.
   */
  send(batch: Batch, results: unknown): readonly OpenedStream[] {
    const wrong = notResults(this.#model, batch.requests.length, results);
    if (wrong !== undefined) {
      silence(results);
      this.fail(batch, failureOf(this.#model, wrong));
      return [];
    }
    this.words.flush();
    // `notResults` has checked that it is an array.
    let list = results as readonly unknown[];
    if (this.#decoupled) list = list.map((one) => this.#readable(one));
    const hasStreams = this.#decoupled && list.some(iterates);
    if (!hasStreams && this.#batching && this.#sendTogether(batch, list)) return [];
    this.words.begin();
    const streams = hasStreams ? this.#open(batch, list) : [];
    for (let i = 0; i < list.length; i++) {
      if (!hasStreams || !iterates(list[i])) this.#giveOne(batch, i, list[i]);
    }
    this.words.send(batch, streams.length === 0);
    return streams;
  }

  /** The result itself, or its error if reading its properties throws. */
  #readable(result: unknown): unknown {
    try {
      iterates(result);
      return result;
    } catch (error) {
      return resultOf(this.#model, error);
    }
  }

  /** Encodes a result. If that fails, encodes it again without the outputs that are null. */
  #encode(result: unknown, rows: number, wanted: readonly string[]): EncodedInputs {
    try {
      return this.#encodeAll(result, rows, wanted);
    } catch (error) {
      const left = leftOutOf(result);
      if (left === undefined) throw error;
      return this.#encodeAll(
        left.rest,
        rows,
        wanted.filter((name) => !left.names.has(name)),
      );
    }
  }

  #encodeAll(result: unknown, rows: number, wanted: readonly string[]): EncodedInputs {
    // A result may be any value of the model. It is checked like the inputs of a caller's request.
    const encoded = this.#encoder.encode(result as Inputs, rows);
    for (let i = 0; i < this.#outputs.length; i++) {
      const shape = encoded.shapes[i];
      if (shape === undefined) {
        const name = this.#outputs[i]?.name ?? '';
        if (wanted.includes(name)) throw missingOutput(this.#model, name, result);
        continue;
      }
      if (!this.#batching || shape[0] === rows) continue;
      throw new TritonError(
        'INTERNAL',
        `model '${this.#model}', output '${this.#outputs[i]?.name ?? ''}': expected ${rows} rows, as the request has, but got shape ${formatShape(shape)}`,
      );
    }
    return encoded;
  }

  /** Writes the outputs of all requests as one record. Returns false if their outputs differ in form. */
  #sendTogether(batch: Batch, results: readonly unknown[]): boolean {
    const { rows } = batch;
    let all = 0;
    for (const count of rows) all += count;
    let plan: Together | undefined;
    let before = 0;
    try {
      for (let i = 0; i < results.length; i++) {
        const result = results[i];
        const count = rows[i] ?? 1;
        if (result instanceof Error || result instanceof Again || result instanceof WithParameters)
          return false;
        const encoded = this.#encode(result, count, batch.requests[i]?.wanted ?? []);
        plan ??= this.#plan(encoded, count, all);
        if (plan === undefined || !this.#copy(plan, encoded, count, before)) return false;
        before += count;
      }
    } catch {
      // The general path finds the faulty request and its error again.
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

  /** The layout for the outputs of all requests, if all have the form of the first request's. */
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
    // Growing discards the memory's contents. It is empty here.
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

  /** Writes a response; see {@link ResultWords.putResponse}. Throws if the response is invalid. */
  #respond(batch: Batch, position: number, result: unknown, isFinal: boolean): boolean {
    try {
      const wanted = batch.requests[position]?.wanted ?? [];
      const has = result instanceof WithParameters;
      const encoded = this.#encode(has ? result.outputs : result, batch.rows[position] ?? 1, wanted);
      const parameters = has && result.words.length > 0 ? result.words : undefined;
      return this.words.putResponse(batch, position, encoded, isFinal, parameters);
    } finally {
      this.#encoder.release();
    }
  }

  #giveOne(batch: Batch, position: number, result: unknown): void {
    try {
      if (result instanceof Error) {
        this.words.putFailure(batch, position, failureOf(this.#model, result));
        return;
      }
      if (this.giveAgain(batch, position, result)) return;
      if (!this.#decoupled && iterates(result)) throw this.#notDecoupled(result);
      this.#respond(batch, position, result, true);
    } catch (error) {
      silence(result);
      this.words.putFailure(batch, position, this.faultOf(error));
    }
  }

  /**
   * Queues a request again, if the result says so.
   *
   * @returns Whether it does.
   * @throws An Error if the result is of another request.
   */
  giveAgain(batch: Batch, position: number, result: unknown): boolean {
    if (!(result instanceof Again)) return false;
    if (result.request !== batch.requests[position]) {
      throw new Error(
        `model '${this.#model}': expected reschedule() of the request itself, but got that of another request`,
      );
    }
    this.words.putAgain(batch, position);
    return true;
  }

  #notDecoupled(result: object): Error {
    return new Error(
      `model '${this.#model}': expected outputs by name, but got ${describeResult(result)}, which is an iterable; only a model whose configuration says model_transaction_policy { decoupled: true } may give several responses to a request`,
    );
  }

  /** The failure for an invalid result: INTERNAL, because it is the model's fault and not the caller's. */
  faultOf(error: unknown): Failure {
    let message = 'an unreadable value';
    try {
      message = String(error instanceof Error ? error.message : error);
    } catch {
      // Reading the model's error must not throw.
    }
    return { code: 'INTERNAL', message };
  }

  /**
   * Writes a response that is not final.
   *
   * @returns Whether it must be sent before the model goes on.
   * @throws An error that describes an invalid response.
   */
  giveNext(batch: Batch, position: number, result: unknown): boolean {
    return this.#respond(batch, position, result, false);
  }

  /** Opens the streams among the results. A request whose stream cannot be opened fails. */
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

/** The error for a value that is not an array with one result for each request; undefined if it is. */
export function notResults(model: string, requests: number, results: unknown): TritonError | undefined {
  if (Array.isArray(results) && results.length === requests) return undefined;
  const got = Array.isArray(results) ? `an array of ${results.length}` : describeResult(results);
  return new TritonError(
    'INTERNAL',
    `model '${model}': expected execute to return one result for each of the batch's requests (${requests}), but it returned ${got}`,
    { model },
  );
}
