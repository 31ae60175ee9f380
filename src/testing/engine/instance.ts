/** An instance of a model, as its loop sees it; `native/binding/instance_wrap.h` documents the format of the words. */

import {
  instanceAsleep,
  instanceClosed,
  instanceNeedsMemory,
  type NativeInstance,
} from '../../addon/native/instance.js';
import type { ReceivedSequence } from '../../api/request-sequence.js';
import type { EngineBatch, Inbox } from './inbox.js';
import { now, type EngineOutput, type EngineRequest } from './request.js';
import { soon } from './soon.js';

/** An input of at least this size is passed in memory of its own. */
const largeInput = 64 << 10;
/** How many responses a stream may be ahead of its reader. */
const mostAhead = 16;
/** How many of them are unread when it goes on. */
const fewAhead = 8;
/** How many bytes of them. */
const mostBytes: number = 16 << 20;

/** See the head of this file. */
export class TestInstance implements NativeInstance {
  readonly #inbox: Inbox;
  readonly #wake: () => void;
  #words: Int32Array = new Int32Array(0);
  #bytes: Uint8Array = new Uint8Array(0);
  readonly #batches: Map<number, EngineBatch> = new Map();
  #slots = 0;
  /** Streams whose callers have to read first. */
  readonly #full: Map<EngineRequest, readonly [slot: number, position: number]> = new Map();
  #readers: (readonly [slot: number, position: number])[] = [];
  #wakes = false;
  #detached = false;
  /** The parameters of the response whose words come next. */
  #parameters: Int32Array | undefined;

  constructor(inbox: Inbox, wake: () => void) {
    this.#inbox = inbox;
    this.#wake = wake;
    inbox.onWake = (): void => {
      this.#wakeSoon();
    };
  }

  /** A caller has read of a stream, or has cancelled it. */
  listen(request: EngineRequest): void {
    const place = this.#full.get(request);
    if (place === undefined || (!request.cancelled && request.unread > fewAhead)) return;
    this.#full.delete(request);
    this.#readers.push(place);
    this.#wakeSoon();
  }

  setMemory(words: ArrayBuffer, bytes: ArrayBuffer): boolean {
    this.#words = new Int32Array(words);
    this.#bytes = new Uint8Array(bytes);
    return true;
  }

  up(): void {
    this.#inbox.isUp = true;
    this.#inbox.onUp();
  }

  next(objects: unknown[]): number {
    const batch = this.#inbox.waiting[0];
    if (batch === undefined) return this.#inbox.isClosed ? instanceClosed : instanceAsleep;
    const words = this.#write(batch, objects);
    if (words === instanceNeedsMemory) return words;
    this.#inbox.waiting.shift();
    batch.times.inputsReady = now();
    return words;
  }

  refuse(): void {
    // Memory for words and bytes is the process's own, so this does not come to pass before the process ends.
  }

  #write(batch: EngineBatch, objects: unknown[]): number {
    let words = 2;
    let bytes = 0;
    const all = batch.requests.map((request) => ({
      head: request.head,
      inputs: batch.owner.inputsOf(request),
    }));
    for (const { head, inputs } of all) {
      words += 7 + (head.wanted?.length ?? 0);
      for (const { shape, bytes: own } of inputs) {
        words += 4 + shape.length;
        if (own.length < largeInput) bytes += aligned(own.length);
      }
    }
    if (words > this.#words.length || bytes > this.#bytes.length) {
      this.#words.set([words, bytes]);
      return instanceNeedsMemory;
    }
    const slot = this.#slots++;
    this.#batches.set(slot, batch);
    let at = 0;
    let offset = 0;
    const put = (...some: readonly number[]): void => {
      for (const word of some) this.#words[at++] = word;
    };
    put(slot, all.length);
    for (const { head, inputs } of all) {
      const { wanted = [], id, priority, timeoutUs, parameters, sequence } = head;
      const isPlain = id === '' && priority === 0 && timeoutUs === 0 && parameters.length === 0;
      const extra = { id, priority, timeoutUs, parameters };
      put(1, isPlain ? 0 : ~(objects.push(extra) - 1), ...sequenceWords(sequence, objects));
      put(wanted.length, ...wanted, inputs.length);
      for (const { index, shape, bytes: own } of inputs) {
        put(index, shape.length, ...shape, own.length);
        if (own.length >= largeInput) {
          // A copy, because the batch's memory is detached when it has ended.
          put(~(objects.push(own.slice().buffer) - 1));
          continue;
        }
        put(offset);
        this.#bytes.set(own, offset);
        offset += aligned(own.length);
      }
    }
    return at;
  }

  answer(slot: number, words: number, objects: readonly unknown[], last: boolean): boolean {
    const batch = this.#batches.get(slot);
    if (this.#detached || batch === undefined) return true;
    batch.times.computed = now();
    const list = this.#words.subarray(0, words);
    for (let at = 0; at < words;) at = this.#answerOne(batch, list, at, objects);
    if (last) {
      this.#batches.delete(slot);
      this.#free(batch);
      batch.owner.done(batch);
    }
    return true;
  }

  /** Reads an item of results. Returns where the next one begins. */
  #answerOne(batch: EngineBatch, words: Int32Array, from: number, objects: readonly unknown[]): number {
    let at = from;
    const next = (): number => words[at++] ?? 0;
    const kind = next();
    if (kind === 0) {
      const outputs = Array.from({ length: next() }, () => {
        const [index, datatype, rank] = [next(), next(), next()];
        const tail = Array.from({ length: rank }, next);
        const size = next();
        return { index, datatype, tail, bytes: this.#copy(next(), size, objects) };
      });
      this.#together(batch, outputs);
      return at;
    }
    const position = next();
    const request = batch.requests[position];
    if (kind === 6) {
      const size = next();
      this.#parameters = words.slice(at, at + size);
      return at + size;
    }
    if (kind === 2) {
      const code = next();
      // Its message is among the objects, as it was written.
      const message = String(objects[~next()]);
      for (const one of position < 0 ? batch.requests : [request]) {
        if (one !== undefined) batch.owner.fail(one, { code, message });
      }
    } else if (kind === 1 || kind === 3) {
      const outputs = Array.from({ length: next() }, () => {
        const [index, datatype, rank] = [next(), next(), next()];
        const shape = Array.from({ length: rank }, next);
        const size = next();
        return { index, datatype, shape, bytes: this.#copy(next(), size, objects) };
      });
      const parameters = this.#parameters;
      this.#parameters = undefined;
      if (request !== undefined) batch.owner.respond(batch, request, outputs, kind === 1, parameters);
    } else if (request !== undefined) {
      if (kind === 4) batch.owner.end(batch, request);
      else batch.owner.again(request);
    }
    return at;
  }

  /** Gives each request of a batch its rows of outputs that were written together. */
  #together(
    batch: EngineBatch,
    outputs: readonly {
      index: number;
      datatype: number;
      tail: readonly number[];
      bytes: Uint8Array<ArrayBuffer>;
    }[],
  ): void {
    let before = 0;
    for (const request of batch.requests) {
      const { rows } = request.head;
      const own = outputs.map(({ index, datatype, tail, bytes }): EngineOutput => {
        if (rows === 0) return { index, datatype, shape: tail, bytes };
        const rowBytes = bytes.length / batch.times.rows;
        const shape = [rows, ...tail];
        return { index, datatype, shape, bytes: bytes.slice(before * rowBytes, (before + rows) * rowBytes) };
      });
      before += rows;
      batch.owner.respond(batch, request, own, true);
    }
  }

  #copy(place: number, size: number, objects: readonly unknown[]): Uint8Array<ArrayBuffer> {
    if (place >= 0) return new Uint8Array(this.#bytes.subarray(place, place + size));
    // What wrote the results put a typed array there.
    const { buffer, byteOffset } = objects[~place] as Uint8Array;
    return new Uint8Array(new Uint8Array(buffer, byteOffset, size));
  }

  cancelled(slot: number, position: number): boolean {
    const request = this.#batches.get(slot)?.requests[position];
    return request === undefined || request.isDone || request.cancelled;
  }

  part(slot: number): void {
    const batch = this.#batches.get(slot);
    if (batch !== undefined) this.#free(batch);
  }

  #free(batch: EngineBatch): void {
    if (!batch.isHolding) return;
    batch.isHolding = false;
    batch.owner.free(batch);
  }

  room(slot: number, position: number): number {
    const request = this.#batches.get(slot)?.requests[position];
    if (request === undefined || request.isDone || request.cancelled) return -1;
    if (request.unread < mostAhead && request.unreadBytes < mostBytes) return mostAhead - request.unread;
    this.#full.set(request, [slot, position]);
    return 0;
  }

  readers(): number {
    const some = this.#readers.splice(0, this.#words.length >> 1);
    this.#words.set(some.flat());
    return some.length;
  }

  caller(slot: number): number {
    // The engine reads no callers, as there is no thread that could wait for itself. But 0 says that the request has ended.
    return this.#batches.has(slot) ? slot + 1 : 0;
  }

  detachBuffers(buffers: readonly ArrayBuffer[]): void {
    for (const buffer of buffers) if (buffer.byteLength > 0) structuredClone(buffer, { transfer: [buffer] });
  }

  detach(): void {
    this.#detached = true;
    for (const batch of this.#batches.values()) {
      for (const request of batch.requests) batch.owner.end(batch, request);
    }
    this.#batches.clear();
  }

  #wakeSoon(): void {
    if (this.#wakes) return;
    this.#wakes = true;
    soon(() => {
      this.#wakes = false;
      if (!this.#detached) this.#wake();
    });
  }
}

/** The words of a request's sequence. A text goes to `objects`. */
function sequenceWords(sequence: ReceivedSequence | undefined, objects: unknown[]): readonly number[] {
  if (sequence === undefined) return [0];
  const { id, start, end } = sequence;
  const flags = 1 | (start ? 2 : 0) | (end ? 4 : 0);
  if (typeof id === 'string') return [flags | 8, ~(objects.push(id) - 1), 0];
  return [flags, ...new Int32Array(BigUint64Array.of(id).buffer)];
}

function aligned(bytes: number): number {
  return (bytes + 7) & ~7;
}
