/** Writes results as words and bytes for the engine; see `native/binding/instance_wrap.h`. */

import type { NativeInstance } from '../../addon/native/instance.js';
import { statusNumber } from '../../addon/status.js';
import type { EncodedInputs } from '../../tensor/encoded.js';
import { maxTensorBytes } from '../../tensor/max-bytes.js';
import { copyInto, type ViewKind, type WireArray } from '../../tensor/views.js';
import type { Batch } from '../batches/batch.js';
import type { InstanceMemory } from '../threads/instance-memory.js';
import { engineMessage, type Failure } from '../batches/failures.js';

/** The first word of each record of results: its kind. */
const together = 0;
const one = 1;
const failed = 2;
const oneOfMany = 3;
const endOfMany = 4;
const again = 5;
const parametersOf = 6;
/** The engine copies an output of at least this size straight from its array, not through the shared memory. */
export const largeBytes: number = 64 << 10;

/** An output of the model. */
export interface ResultOutput {
  readonly name: string;
  readonly datatype: number;
  readonly wire: ViewKind;
  readonly elementBytes: number;
  /** Whether the elements have different sizes. */
  readonly isBytes: boolean;
}

/** The common layout of the outputs of all requests of a batch, while they are written together. */
export interface Together {
  readonly outputs: readonly {
    readonly index: number;
    readonly tail: readonly number[];
    readonly rowBytes: number;
    readonly offset: number;
  }[];
}

/** See the head of this file. */
export class ResultWords {
  readonly #native: NativeInstance;
  readonly #memory: InstanceMemory;
  readonly #model: string;
  readonly #outputs: readonly ResultOutput[];
  #words = 0;
  #bytes = 0;
  #objects: unknown[] = [];
  /** The batch of written records that {@link flush} sends; undefined: there are none. */
  #unsent: Batch | undefined;

  constructor(
    native: NativeInstance,
    memory: InstanceMemory,
    model: string,
    outputs: readonly ResultOutput[],
  ) {
    this.#native = native;
    this.#memory = memory;
    this.#model = model;
    this.#outputs = outputs;
  }

  /**
   * Starts over. Records that were not sent are dropped, except those of {@link sendLater}.
   *
   * @param batch - If records of this batch are to be sent later, the next ones are sent with them.
   */
  begin(batch?: Batch): void {
    if (this.#unsent !== undefined) {
      if (this.#unsent === batch) return;
      this.flush();
    }
    this.#clear();
  }

  #clear(): void {
    this.#unsent = undefined;
    this.#words = this.#bytes = 0;
    if (this.#objects.length > 0) this.#objects = [];
  }

  /** Keeps the written records, all of this batch, for {@link flush}. Nothing else may write to the memory before. */
  sendLater(batch: Batch): void {
    this.#unsent = batch;
  }

  /** Sends the records of {@link sendLater}. */
  flush(): void {
    if (this.#unsent !== undefined) this.send(this.#unsent, false);
  }

  /** Writes the record that gives all requests of a batch the outputs in the memory, as planned. */
  putTogether({ outputs }: Together, rows: number): void {
    this.#put(together, outputs.length);
    for (const { index, tail, rowBytes, offset } of outputs) {
      this.#put(index, this.#outputs[index]?.datatype ?? 0, tail.length, ...tail, rowBytes * rows, offset);
    }
  }

  /**
   * Writes a response to a request.
   *
   * @param isFinal - Whether this is the final response.
   * @param parameters - Its parameters as words (default: none).
   * @returns Whether an output is large. It must then be sent before the model may write to its array again.
   */
  putResponse(
    batch: Batch,
    position: number,
    encoded: EncodedInputs,
    isFinal: boolean,
    parameters?: Int32Array,
  ): boolean {
    let words = 3 + (parameters === undefined ? 0 : 3 + parameters.length);
    let bytes = 0;
    let count = 0;
    let isLarge = false;
    for (let i = 0; i < encoded.shapes.length; i++) {
      const shape = encoded.shapes[i];
      if (shape === undefined) continue;
      count++;
      words += 5 + shape.length;
      const size = encoded.byteLengths[i] ?? 0;
      if (size > maxTensorBytes) {
        const name = this.#outputs[i]?.name ?? '';
        throw new Error(
          `model '${this.#model}', output '${name}': expected at most ${maxTensorBytes} bytes (4 GiB), but got ${size}`,
        );
      }
      if (size < largeBytes) bytes += (size + 7) & ~7;
      else isLarge = true;
    }
    this.#reserve(batch, words, bytes);
    if (parameters !== undefined) this.#put(parametersOf, position, parameters.length, ...parameters);
    this.#put(isFinal ? one : oneOfMany, position, count);
    for (let i = 0; i < encoded.shapes.length; i++) {
      const shape = encoded.shapes[i];
      const data = encoded.data[i];
      const output = this.#outputs[i];
      if (shape === undefined || data === undefined || output === undefined) continue;
      const size = encoded.byteLengths[i] ?? 0;
      this.#put(i, output.datatype, shape.length, ...shape, size, this.#place(data, output, size));
    }
    return isLarge;
  }

  /** Writes the error that ends a request, or all requests (-1). */
  putFailure(batch: Batch, position: number, failure: Failure): void {
    this.#reserve(batch, 4, 0);
    const message = engineMessage(failure);
    this.#put(
      failed,
      position,
      statusNumber(failure.code, failure.reason),
      ~(this.#objects.push(message) - 1),
    );
  }

  /** Writes the end of a request without a further response. */
  putEnd(batch: Batch, position: number): void {
    this.#reserve(batch, 2, 0);
    this.#put(endOfMany, position);
  }

  /** Queues a request again, instead of its end. */
  putAgain(batch: Batch, position: number): void {
    this.#reserve(batch, 2, 0);
    this.#put(again, position);
  }

  /** Sends the written records to the engine. With `last` the batch ends. */
  send(batch: Batch, last: boolean): void {
    if (!this.#native.answer(batch.slot, this.#words, this.#objects, last)) {
      throw new Error(`model '${this.#model}': malformed results`);
    }
    this.#clear();
  }

  #place(data: WireArray, { wire, elementBytes }: ResultOutput, size: number): number {
    if (size >= largeBytes) return ~(this.#objects.push(data) - 1);
    const offset = this.#bytes;
    copyInto(this.#memory.bytes.of(wire), data, offset / elementBytes);
    this.#bytes += (size + 7) & ~7;
    return offset;
  }

  /** Makes room for a record. If the memory is full, the written records are sent first. */
  #reserve(batch: Batch, words: number, bytes: number): void {
    const { words: list, bytes: memory } = this.#memory;
    if (this.#words + words <= list.length && this.#bytes + bytes <= memory.buffer.byteLength) return;
    this.send(batch, false);
    if (words > list.length || bytes > memory.buffer.byteLength) this.#memory.grow(words, bytes);
  }

  #put(...words: readonly number[]): void {
    const list = this.#memory.words;
    for (const word of words) list[this.#words++] = word;
  }
}
