/** Results as words and bytes, on their way to the engine; see `native/binding/instance_wrap.h`. */

import type { NativeInstance } from '../../addon/native/instance.js';
import { statusNumber } from '../../addon/status.js';
import type { EncodedInputs } from '../../tensor/encoded.js';
import { maxTensorBytes } from '../../tensor/max-bytes.js';
import { copyInto, type ViewKind, type WireArray } from '../../tensor/views.js';
import type { Batch } from '../batches/batch.js';
import type { InstanceMemory } from '../threads/instance-memory.js';
import { engineMessage, type Failure } from '../batches/failures.js';

/** First words of results. */
const together = 0;
const one = 1;
const failed = 2;
const oneOfMany = 3;
const endOfMany = 4;
/** An output that is at least so long is copied from its own array instead of the memory. */
export const largeBytes: number = 64 << 10;

/** An output of the model. */
export interface ResultOutput {
  readonly name: string;
  readonly datatype: number;
  readonly wire: ViewKind;
  readonly elementBytes: number;
  /** Whether its elements have different sizes. */
  readonly isBytes: boolean;
}

/** What the outputs of all requests of a batch have in common, while they are written together. */
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

  /** Begins anew. What was not sent is dropped. */
  begin(): void {
    this.#words = this.#bytes = 0;
    this.#objects = [];
  }

  /** All requests of a batch get the outputs that lie in the memory, as planned. */
  putTogether({ outputs }: Together, rows: number): void {
    this.#put(together, outputs.length);
    for (const { index, tail, rowBytes, offset } of outputs) {
      this.#put(index, this.#outputs[index]?.datatype ?? 0, tail.length, ...tail, rowBytes * rows, offset);
    }
  }

  /**
   * A request gets a response.
   *
   * @param isFinal - Whether it is the last one.
   * @returns Whether an output of it is large: it has to be sent before the model may write to its array again.
   */
  putResponse(batch: Batch, position: number, encoded: EncodedInputs, isFinal: boolean): boolean {
    let words = 3;
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

  /** A request, or all (-1), ends with an error. */
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

  /** A request ends with the responses that it got. */
  putEnd(batch: Batch, position: number): void {
    this.#reserve(batch, 2, 0);
    this.#put(endOfMany, position);
  }

  /** Gives what was written to the engine. With `last` the batch has ended. */
  send(batch: Batch, last: boolean): void {
    if (!this.#native.answer(batch.slot, this.#words, this.#objects, last)) {
      throw new Error(`model '${this.#model}': malformed results`);
    }
    this.begin();
  }

  #place(data: WireArray, { wire, elementBytes }: ResultOutput, size: number): number {
    if (size >= largeBytes) return ~(this.#objects.push(data) - 1);
    const offset = this.#bytes;
    copyInto(this.#memory.bytes.of(wire), data, offset / elementBytes);
    this.#bytes += (size + 7) & ~7;
    return offset;
  }

  /** Makes room: what is written goes to the engine first, if there is too much of it. */
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
