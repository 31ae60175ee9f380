/** An environment's connection to the engine of a test server: what `native/engine/port` is to the addon's. */

import { headerClosed, headerEpoch, headerPages, slabBytes, submissionWords } from '../../addon/layout.js';
import { looksNoMore, type NativePort } from '../../addon/native/port.js';
import type { NativeStatus } from '../../addon/native/status.js';
import { longestTimerMs } from '../../time-limit.js';
import { clearInterval, setInterval } from '../../timers.js';
import { ResponsePages } from './pages.js';
import type { BatchTimes, EngineOutput, EngineRequest, Refusal, ResponseSink } from './request.js';
import { soon } from './soon.js';
import { SubmissionReader } from './submission.js';

const headerBytes = 4096;
/** How many pages the header lists at once. */
const mostPages = 64;
/** Words of a request to cancel: slot, generation, position of the first request, number of requests. */
const cancelWords = 4;

/** What a port needs of its engine. */
export interface PortEngine {
  /** Takes the requests to a version. */
  accept(uid: number, requests: readonly EngineRequest[]): void;
  cancel(request: EngineRequest): void;
  /** The caller of a stream has read of it. */
  hasRead(request: EngineRequest): void;
  isDecoupled(uid: number): boolean;
}

/** The requests in a slot. */
interface Slot {
  readonly generation: number;
  readonly requests: readonly EngineRequest[];
  readonly isDecoupled: boolean;
}

/** See the head of this file. */
export class TestPort implements NativePort, ResponseSink {
  readonly #engine: PortEngine;
  readonly #onPages: (count: number) => void;
  readonly #header: Int32Array<ArrayBuffer> = new Int32Array(headerBytes / 4);
  readonly #submission: ArrayBuffer = new ArrayBuffer(4 * submissionWords);
  readonly #words: Int32Array = new Int32Array(this.#submission);
  readonly #slabs: (ArrayBuffer | undefined)[] = [];
  readonly #blocks: Map<number, Uint8Array<ArrayBuffer>> = new Map();
  readonly #slots: Map<number, Slot> = new Map();
  readonly #pages: ResponsePages = new ResponsePages();
  readonly #reader: SubmissionReader;
  #blockId = 0;
  #publishes = false;
  #hold: NodeJS.Timeout | undefined;
  #detached = false;

  constructor(engine: PortEngine, epoch: number, onPages: (count: number) => void) {
    this.#engine = engine;
    this.#onPages = onPages;
    this.#header[headerEpoch] = epoch;
    this.#reader = new SubmissionReader(
      this.#submission,
      { slab: (number) => this.slab(number), block: (id) => this.#block(id) },
      this,
    );
  }

  /** The table of models has changed. */
  show(epoch: number): void {
    Atomics.store(this.#header, headerEpoch, epoch);
  }

  showClosed(): void {
    Atomics.store(this.#header, headerClosed, 1);
  }

  respond(
    request: EngineRequest,
    outputs: readonly EngineOutput[],
    isFinal: boolean,
    times: BatchTimes,
    parameters?: Int32Array,
  ): void {
    const isCounted = this.#slots.get(request.head.slot)?.isDecoupled ?? false;
    const bytes = this.#pages.write(request, outputs, isFinal, isCounted, times, parameters);
    if (isCounted) {
      request.unread++;
      request.unreadBytes += bytes;
    }
    this.#publishSoon();
  }

  fail(request: EngineRequest, refusal: Refusal): void {
    this.#pages.writeFailure(request, refusal);
    this.#publishSoon();
  }

  end(request: EngineRequest): void {
    this.#pages.writeEnd(request);
    this.#publishSoon();
  }

  external(): boolean {
    return true;
  }
  header(): ArrayBuffer {
    return this.#header.buffer;
  }
  submission(): ArrayBuffer {
    return this.#submission;
  }

  addSlab(): boolean {
    const free = this.#slabs.indexOf(undefined);
    this.#slabs[free < 0 ? this.#slabs.length : free] = new ArrayBuffer(slabBytes);
    return true;
  }
  slab(number: number): ArrayBuffer {
    const slab = this.#slabs[number];
    if (slab === undefined) throw new RangeError(`there is no slab ${number}`);
    return slab;
  }
  dropSlab(number: number): void {
    this.#slabs[number] = undefined;
  }

  stage(bytes: ArrayBufferView): number {
    const copy = new Uint8Array(bytes.byteLength);
    copy.set(new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength));
    this.#blocks.set(++this.#blockId, copy);
    return this.#blockId;
  }
  unstage(id: number): void {
    this.#blocks.delete(id);
  }
  #block(id: number): Uint8Array<ArrayBuffer> {
    const block = this.#blocks.get(id);
    if (block === undefined) throw new RangeError(`there is no block ${id}`);
    return block;
  }

  submit(words: number): NativeStatus | number {
    for (const { uid, slot, generation, requests } of this.#reader.read(words)) {
      this.#slots.set(slot, { generation, requests, isDecoupled: this.#engine.isDecoupled(uid) });
      this.#engine.accept(uid, requests);
      for (const { isUnserved, inputs } of requests) {
        // Blocks of requests that no version took are still staged: JavaScript sends these again, or unstages them.
        if (!isUnserved) for (const { block } of inputs) if (block !== undefined) this.#blocks.delete(block);
      }
    }
    return 0;
  }
  submitCopies(): number {
    throw new Error('the memory is shared');
  }

  look(): number {
    return looksNoMore;
  }

  cancel(slot: number, generation: number, first: number, count: number): void {
    const known = this.#slots.get(slot);
    if (known?.generation !== generation) return;
    for (const request of known.requests.slice(first, first + count)) this.#engine.cancel(request);
  }
  cancelMany(words: number): void {
    const list = [...this.#words.subarray(0, words)];
    for (let at = 0; at < words; at += cancelWords) {
      const [slot = 0, generation = 0, first = 0, count = 0] = list.slice(at, at + cancelWords);
      this.cancel(slot, generation, first, count);
    }
  }

  shrink(): void {
    // The pages stay as they are: a test does not run long.
  }
  page(id: number): ArrayBuffer {
    return this.#pages.page(id).memory;
  }
  copyPage(): void {
    throw new Error('the memory is shared');
  }
  takeLarge(page: number, number: number): ArrayBuffer | undefined {
    return this.#large(page, number).buffer;
  }
  largeBytes(page: number, number: number): number {
    return this.#large(page, number).length;
  }
  copyLarge(page: number, number: number, target: Uint8Array): void {
    target.set(this.#large(page, number));
  }
  #large(page: number, number: number): Uint8Array<ArrayBuffer> {
    const output = this.#pages.page(page).large[number];
    if (output === undefined) throw new RangeError(`page ${page} has no large output ${number}`);
    return output;
  }
  recycle(id: number): boolean {
    this.#pages.recycle(id);
    return true;
  }

  read(slot: number, generation: number, position: number, responses: number, bytes: number): void {
    const known = this.#slots.get(slot);
    const request = known?.generation === generation ? known.requests[position] : undefined;
    if (request === undefined) return;
    request.unread -= responses;
    request.unreadBytes -= bytes;
    this.#engine.hasRead(request);
  }

  acknowledge(): void {
    // There is one port, and a version is retired only after its requests came.
  }
  headerWord(index: number): number {
    return this.#header[index] ?? 0;
  }

  ref(): void {
    this.#hold ??= setInterval(() => undefined, longestTimerMs);
  }
  unref(): void {
    clearInterval(this.#hold);
    this.#hold = undefined;
  }
  detach(): void {
    this.#detached = true;
    this.unref();
    for (const { requests } of this.#slots.values())
      for (const request of requests) this.#engine.cancel(request);
    this.#slots.clear();
  }

  #publishSoon(): void {
    if (this.#publishes) return;
    this.#publishes = true;
    soon(() => {
      this.#publishes = false;
      this.#publish();
    });
  }

  #publish(): void {
    const pages = this.#pages.take();
    while (pages.length > 0 && !this.#detached) {
      const some = pages.splice(0, mostPages);
      this.#header.set(some.flat(), headerPages);
      this.#onPages(some.length);
    }
  }
}
