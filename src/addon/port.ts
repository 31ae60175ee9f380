/**
 * This environment's door to a server's engine: slots, the flush of a tick, and the delivery of what finished.
 *
 * A request is a slot and its generation. Its inputs are copied here, once; the first request of a tick schedules one
 * native call for all of that tick. Finished requests come in pages, at most 1,024 of them or 200 µs before the event
 * loop gets a turn.
 */

import { performance } from 'node:perf_hooks';
import { nextTick } from 'node:process';
import { TritonError } from '../errors.js';
import { MemoryViews } from '../tensor/memory.js';
import type { NativePort, NativeServer } from './native.js';
import {
  finalBit,
  headerClosed,
  headerEpoch,
  headerPages,
  limitedBit,
  pageBytes,
  ranBit,
  recordTimings,
  slabBytes,
  slabRangeBytes,
  slabUnit,
  sourceBlock,
  sourceSlab,
  submissionWords,
} from './layout.js';
import { SlabAllocator } from './slab.js';
import { nativeError, statusError } from './status.js';
import {
  allocate,
  cancelled,
  framesBelow,
  limitError,
  noMemory,
  unusable,
  withFrames,
} from './port-errors.js';
import type { Origin, PortInput, PortOptions, PortRequest, PortTarget, Timings } from './port-types.js';
import { Slot, type Listened } from './slot.js';
import { turnIsYoung } from './turn.js';

const slabUnits = slabBytes / slabUnit;

/** Deliveries between two turns of the event loop. */
const deliveriesATurn = 1024;
/** How long deliveries may hold the event loop, in milliseconds. */
const deliveryMs = 0.2;

const noTimings: Timings = Object.freeze({
  batchSize: 0,
  queueNs: 0,
  computeInputNs: 0,
  computeInferNs: 0,
  computeOutputNs: 0,
  cacheHit: false,
});

/** A page of finished requests and how far it is read. */
interface OpenPage {
  readonly id: number;
  readonly words: number;
  position: number;
}

const utf8 = new TextDecoder();

/** See the head of this file. Create with `Port.attach`. */
export class Port {
  readonly #native: NativePort;
  readonly #external: boolean;
  /** Whether failures after queueing carry the line that made the request. */
  readonly captureStacks: boolean;
  readonly #header: Int32Array | undefined;
  readonly #submission: Int32Array;
  readonly #slabs: MemoryViews[] = [];
  readonly #ranges: SlabAllocator;
  readonly #slots: Slot[] = [];
  readonly #free: Slot[] = [];
  readonly #signals: Map<AbortSignal, Listened> = new Map();
  readonly #pages: (MemoryViews | undefined)[] = [];
  #open: OpenPage[] = [];
  #words = 0;
  #flushScheduled = false;
  #delivering = false;
  /** Requests that the engine has not ended, and how many of them somebody waits for. */
  #inFlight = 0;
  #awaited = 0;
  #timings: Timings = noTimings;
  /** Whether the event loop is kept alive. */
  #held = false;
  #detached = false;
  #refusing = false;
  /** Called when the last request in flight has ended. */
  #idle: (() => void)[] = [];

  private constructor(native: NativePort, { maxInFlightBytes, captureStacks }: PortOptions) {
    this.captureStacks = captureStacks;
    this.#native = native;
    this.#external = native.external();
    this.#header = this.#external ? new Int32Array(native.header()) : undefined;
    this.#submission = this.#external ? new Int32Array(native.submission()) : new Int32Array(submissionWords);
    this.#ranges = new SlabAllocator(() => {
      this.#addSlab();
    }, maxInFlightBytes);
  }

  /**
   * Connects this environment to a server.
   *
   * @throws {TritonError} UNAVAILABLE when there is no memory for it.
   */
  static attach(server: NativeServer, options: PortOptions): Port {
    const external = process.env['TRITONTS_NO_EXTERNAL_BUFFERS'] !== '1';
    // Nothing is delivered before the first request.
    const holder: { port?: Port } = {};
    const native = server.attach((count) => holder.port?.deliver(count), external);
    if (!native) throw new TritonError('UNAVAILABLE', 'no memory for a connection to the server');
    const port = new Port(native, options);
    holder.port = port;
    return port;
  }

  /** Counts changes of the table of models; differs from the value seen before when something changed. */
  get epoch(): number {
    return this.#headerWord(headerEpoch);
  }

  /** Whether the server closes or is closed. */
  get closed(): boolean {
    if (this.#detached || this.#refusing) return true;
    return this.#headerWord(headerClosed) === 1;
  }

  #headerWord(index: number): number {
    return this.#header ? (this.#header[index] ?? 0) : this.#native.headerWord(index);
  }

  /** From now on `closed` is true; what is in flight goes on. */
  refuse(): void {
    this.#refusing = true;
  }

  /** Requests that have not ended. */
  get inFlight(): number {
    return this.#inFlight;
  }

  /**
   * Sends a request with the tick's others; later, exactly one of `resolve` and `reject` is called.
   *
   * @param inputs - By position; absent ones undefined. Copied before this returns.
   * @param rows - Its batch size; 0 for models without a batch dimension.
   * @param origin - Looked at with `captureStacks` only.
   * @returns The error that keeps it from being sent; then neither is called.
   */
  send(
    target: PortTarget,
    inputs: readonly (PortInput | undefined)[],
    rows: number,
    request: PortRequest,
    resolve: (result: unknown) => void,
    reject: (error: unknown) => void,
    origin: Origin,
  ): TritonError | undefined {
    const { signal } = request;
    if (signal?.aborted) return cancelled(target.name, signal);
    const slot = this.#free.pop() ?? this.#newSlot();
    let written = false;
    try {
      const error = this.#write(slot, target, inputs, rows, request.wanted);
      if (error) return error;
      written = true;
    } finally {
      if (!written) this.#release(slot);
    }
    slot.target = target;
    slot.id = request.id;
    slot.ownOutputs = request.ownOutputs;
    if (this.captureStacks) slot.stack = typeof origin === 'string' ? origin : framesBelow(origin);
    slot.resolve = resolve;
    slot.reject = reject;
    this.#inFlight++;
    this.#awaited++;
    if (signal) this.#listen(slot, signal);
    if (!this.#flushScheduled) this.#scheduleFlush();
    return undefined;
  }

  /**
   * Hands the tick's requests to the engine now.
   *
   * @param run - Whether batches that are known to be short may run here and now; then some may have ended when this
   *   returns.
   */
  flush(run = false): void {
    this.#flushScheduled = false;
    const words = this.#words;
    if (words === 0 || this.#detached) return;
    this.#words = 0;
    const outcome = this.#external
      ? this.#native.submit(words, run)
      : this.#native.submitCopies(
          words,
          run,
          this.#submission,
          this.#slabs.map(({ Uint8Array }) => Uint8Array),
        );
    // Only a fault of our own can bring this about; the requests could never end.
    if (typeof outcome !== 'number') throw statusError(outcome);
    if (outcome > 0) this.#takePages(outcome);
    this.#holdLoop();
  }

  /** Delivers what a submission ran itself: now, or after others had their turn of the event loop. */
  #takePages(count: number): void {
    this.#openPages(count);
    if (this.#delivering) return;
    if (turnIsYoung()) this.#drain();
    else this.#drainSoon();
  }

  /** Reads which pages the header names. */
  #openPages(count: number): void {
    for (let word = headerPages; word < headerPages + count * 2; word += 2) {
      this.#open.push({ id: this.#headerWord(word), words: this.#headerWord(word + 1), position: 0 });
    }
  }

  /** Resolves when no request is in flight. */
  async idle(): Promise<void> {
    if (this.#inFlight === 0) return;
    await new Promise<void>((resolve) => {
      this.#idle.push(resolve);
      this.#holdLoop();
    });
  }

  /** Cuts this environment off: every request in flight rejects with `error`. Idempotent. */
  detach(error: TritonError): void {
    if (this.#detached) return;
    this.flush();
    this.#detached = true;
    for (const slot of this.#slots) {
      const reject = slot.reject;
      if (!reject) continue;
      this.#settled(slot);
      reject(error);
    }
    this.#inFlight = 0;
    this.#notifyIdle();
    this.#awaited = 0;
    this.#releaseLoop();
    this.#native.detach();
  }

  #newSlot(): Slot {
    const slot = new Slot(this.#slots.length);
    this.#slots.push(slot);
    return slot;
  }

  /** Gives back what a request had here. */
  #release(slot: Slot): void {
    if (slot.rangeBytes > 0) this.#ranges.free(slot.range, slot.rangeBytes);
    slot.rangeBytes = 0;
    this.#free.push(slot);
  }

  /** @throws {TritonError} UNAVAILABLE without memory. */
  #addSlab(): void {
    const copy = this.#external ? undefined : allocate(slabBytes);
    if (!this.#native.addSlab()) throw noMemory(slabBytes);
    this.#slabs.push(new MemoryViews(copy ?? this.#native.slab(this.#slabs.length)));
  }

  /** Copies the inputs and writes the record; an error where there is no memory, and then nothing is kept. */
  #write(
    slot: Slot,
    target: PortTarget,
    inputs: readonly (PortInput | undefined)[],
    rows: number,
    wanted: readonly number[] | undefined,
  ): TritonError | undefined {
    let bytes = 0;
    let room = 6 + (wanted?.length ?? 0);
    let present = 0;
    for (const input of inputs) {
      if (!input) continue;
      // Each input begins at a multiple of 64.
      bytes = ((bytes + 63) & ~63) + input.byteLength;
      room += 5 + input.shape.length;
      present++;
    }
    if (room > submissionWords) {
      return new TritonError(
        'INVALID_ARG',
        `model '${target.name}': a request of so many inputs and dims is too big`,
        {
          model: target.name,
        },
      );
    }
    if (this.#words + room > submissionWords) this.flush();
    // Empty inputs have a place too. Where the slabs are used up, or all cut up for requests of other sizes, a small
    // request goes to blocks like a large one: how much may be in flight is for the engine to say.
    const reserved = bytes <= slabRangeBytes && present > 0 ? Math.max(bytes, 1) : 0;
    slot.range = reserved > 0 ? this.#ranges.take(reserved) : -1;
    const small = slot.range >= 0;
    slot.rangeBytes = small ? reserved : 0;
    slot.generation = (slot.generation + 1) & 0x3fffffff;
    const words = this.#submission;
    let position = this.#words;
    words[position++] = target.uid;
    words[position++] = slot.index;
    words[position++] = slot.generation;
    words[position++] = present;
    words[position++] = wanted?.length ?? 0;
    words[position++] = rows;
    const slab = small ? (slot.range / slabUnits) | 0 : 0;
    let offset = (slot.range % slabUnits) * slabUnit;
    for (let index = 0; index < inputs.length; index++) {
      const input = inputs[index];
      if (!input) continue;
      if (small) {
        offset = (offset + 63) & ~63;
        words[position++] = index | (sourceSlab << 16);
        words[position++] = slab;
        words[position++] = offset;
        words[position++] = input.byteLength;
        if (input.byteLength > 0) this.#slabs[slab]?.write(input.data, offset);
        offset += input.byteLength;
      } else {
        const block = this.#native.stage(input.data);
        if (block < 0) {
          this.#unstage(this.#words, position);
          return new TritonError(
            'UNAVAILABLE',
            `model '${target.name}': no memory for an input of ${input.byteLength} bytes`,
            { model: target.name },
          );
        }
        words[position++] = index | (sourceBlock << 16);
        words[position++] = block;
        words[position++] = Math.floor(input.byteLength / 0x1_0000_0000);
        words[position++] = input.byteLength | 0;
      }
      const { shape } = input;
      words[position++] = shape.length;
      for (let i = 0; i < shape.length; i++) words[position++] = shape[i] ?? 0;
    }
    if (wanted) for (const index of wanted) words[position++] = index;
    this.#words = position;
    return undefined;
  }

  /** Gives back the blocks of a record that is not complete. */
  #unstage(begin: number, end: number): void {
    let position = begin + 6;
    while (position < end) {
      this.#native.unstage(this.#submission[position + 1] ?? 0);
      position += 5 + (this.#submission[position + 4] ?? 0);
    }
  }

  #scheduleFlush(): void {
    this.#flushScheduled = true;
    // After the promise jobs of this turn, so that callers behind async layers are in. From synchronous code a tick
    // runs before those jobs: the microtask between lets them go first there, too.
    nextTick(flushSoon, this);
  }

  #listen(slot: Slot, signal: AbortSignal): void {
    slot.signal = signal;
    let known = this.#signals.get(signal);
    if (!known) {
      const listener = (): void => {
        this.#abort(signal);
      };
      known = { first: undefined, listener };
      this.#signals.set(signal, known);
      signal.addEventListener('abort', listener, { once: true });
    }
    slot.previous = undefined;
    slot.next = known.first;
    if (known.first) known.first.previous = slot;
    known.first = slot;
  }

  #abort(signal: AbortSignal): void {
    const known = this.#signals.get(signal);
    if (!known || this.#detached) return;
    this.#signals.delete(signal);
    this.flush();
    for (let slot = known.first; slot;) {
      const { target, reject, next } = slot;
      slot.signal = slot.next = slot.previous = undefined;
      // The slot stays taken until the engine has ended the request.
      slot.resolve = slot.reject = undefined;
      this.#awaited--;
      this.#native.cancel(slot.index, slot.generation);
      reject?.(cancelled(target?.name ?? '', signal));
      slot = next;
    }
    this.#releaseLoop();
  }

  /** The slot's promise is about to settle. */
  #settled(slot: Slot): void {
    if (!slot.target) return;
    if (slot.resolve) this.#awaited--;
    slot.resolve = slot.reject = undefined;
    slot.target = undefined;
    slot.stack = undefined;
    const { signal } = slot;
    if (!signal) return;
    slot.signal = undefined;
    const known = this.#signals.get(signal);
    if (!known) return;
    const { next, previous } = slot;
    if (next) next.previous = previous;
    if (previous) previous.next = next;
    else known.first = next;
    slot.next = slot.previous = undefined;
    if (!known.first) {
      signal.removeEventListener('abort', known.listener);
      this.#signals.delete(signal);
    }
  }

  /** Called by the addon when it was signalled; the header names `count` pages. */
  private deliver(count: number): void {
    if (this.#detached) return;
    this.#openPages(count);
    const epoch = this.epoch;
    // What this environment asked of versions that may be retired now is known to the engine from here on.
    this.flush();
    this.#native.acknowledge(epoch);
    if (!this.#delivering) this.#drain();
  }

  #drain(): void {
    this.#delivering = false;
    if (this.#detached) return;
    const end = performance.now() + deliveryMs;
    let budget = deliveriesATurn;
    let first = 0;
    for (; first < this.#open.length; first++) {
      const page = this.#open[first];
      if (!page) break;
      const view = this.#page(page);
      // A page is looked at in portions, so that the clock is read rarely.
      while (page.position < page.words && budget > 0) {
        budget -= this.#read(view, page, Math.min(budget, 64));
        if (performance.now() > end) budget = 0;
      }
      if (page.position < page.words) break;
      this.#recycle(page.id);
    }
    this.#open = first === this.#open.length ? [] : this.#open.slice(first);
    if (this.#open.length > 0) this.#drainSoon();
    if (this.#inFlight === 0) this.#notifyIdle();
    this.#releaseLoop();
  }

  #drainSoon(): void {
    this.#delivering = true;
    setImmediate(() => {
      this.#drain();
    });
  }

  /** Keeps the process from ending while somebody waits for something. A scheduled flush does so by itself. */
  #holdLoop(): void {
    if (this.#held || (this.#awaited === 0 && this.#idle.length === 0) || this.#detached) return;
    this.#held = true;
    this.#native.ref();
  }

  /** Lets the process end when nobody does. */
  #releaseLoop(): void {
    if (!this.#held || this.#awaited > 0 || this.#idle.length > 0) return;
    this.#held = false;
    this.#native.unref();
  }

  #notifyIdle(): void {
    if (this.#idle.length === 0) return;
    const waiting = this.#idle;
    this.#idle = [];
    for (const resolve of waiting) resolve();
  }

  #page(page: OpenPage): MemoryViews {
    let view = this.#pages[page.id];
    if (!view) {
      view = new MemoryViews(this.#external ? this.#native.page(page.id) : new ArrayBuffer(pageBytes));
      this.#pages[page.id] = view;
    }
    if (!this.#external && page.position === 0) this.#native.copyPage(page.id, view.Uint8Array);
    return view;
  }

  #recycle(id: number): void {
    if (!this.#native.recycle(id)) this.#pages[id] = undefined;
  }

  /** Reads up to `most` responses of a page; returns how many. */
  #read(view: MemoryViews, page: OpenPage, most: number): number {
    const { Int32Array: words, Float64Array: doubles } = view;
    let position = page.position;
    let count = 0;
    while (position < page.words && count < most) {
      const index = words[position++] ?? 0;
      if (index === recordTimings) {
        position += position & 1;
        const record = position >> 1;
        this.#timings = Object.freeze({
          batchSize: doubles[record] ?? 0,
          queueNs: doubles[record + 1] ?? 0,
          computeInputNs: doubles[record + 2] ?? 0,
          computeInferNs: doubles[record + 3] ?? 0,
          computeOutputNs: doubles[record + 4] ?? 0,
          cacheHit: false,
        });
        position += 10;
        continue;
      }
      count++;
      const slot = this.#slots[index];
      const generation = words[position++];
      const flags = words[position++] ?? 0;
      position++; // response index: every model answers once so far
      const code = flags & 0xff;
      const outputs = flags >>> 16;
      const wanted = slot?.generation === generation && slot?.resolve !== undefined;
      const target = slot?.target;
      if (code !== 0) {
        const offset = words[position++] ?? 0;
        const size = words[position++] ?? 0;
        if (wanted && slot.reject && target) {
          const text = utf8.decode(view.Uint8Array.subarray(offset, offset + size));
          const message = slot.id === '' ? text : `[request id: ${slot.id}] ${text}`;
          const { reject, stack } = slot;
          this.#settled(slot);
          const error =
            (flags & limitedBit) !== 0
              ? limitError(message, target.name)
              : nativeError(code, message, { model: target.name });
          reject(withFrames(error, stack));
        }
      } else {
        let end = position;
        for (let i = 0; i < outputs; i++) end += 4 + (words[end + 3] ?? 0);
        if (wanted && slot.resolve && slot.reject && target) {
          const { id, resolve, reject, stack } = slot;
          const timings = (flags & ranBit) !== 0 ? this.#timings : noTimings;
          try {
            const values = this.#outputs(view, page, position, end, target, slot.ownOutputs);
            this.#settled(slot);
            resolve(target.result(id, values, timings));
          } catch (error) {
            this.#settled(slot);
            reject(withFrames(unusable(error, target.name), stack));
          }
        }
        position = end;
      }
      if ((flags & finalBit) !== 0 && slot) {
        this.#settled(slot);
        this.#release(slot);
        this.#inFlight--;
      }
    }
    page.position = position;
    return count;
  }

  /** The outputs whose records are in `view` from `position` to `end`. */
  #outputs(
    view: MemoryViews,
    page: OpenPage,
    position: number,
    end: number,
    target: PortTarget,
    own: boolean,
  ): Record<string, unknown> {
    const words = view.Int32Array;
    const values = target.emptyOutputs();
    while (position < end) {
      const output = (words[position++] ?? 0) & 0xffff;
      const offset = words[position++] ?? 0;
      const size = words[position++] ?? 0;
      const rank = words[position++] ?? 0;
      const shape = target.shape(output, words, position, rank);
      position += rank;
      if (offset >= 0) target.cutOutput(values, output, shape, view, offset, size);
      else target.setOutput(values, output, shape, this.#large(page.id, ~offset, own));
    }
    return values;
  }

  #large(page: number, number: number, own: boolean): ArrayBuffer {
    const shared = own ? undefined : this.#native.takeLarge(page, number);
    if (shared) return shared;
    const copy = allocate(this.#native.largeBytes(page, number));
    this.#native.copyLarge(page, number, new Uint8Array(copy));
    return copy;
  }
}

function flushSoon(port: Port): void {
  queueMicrotask(() => {
    nextTick(flushNow, port);
  });
}

function flushNow(port: Port): void {
  port.flush(true);
}
