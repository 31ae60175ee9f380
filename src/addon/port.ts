/**
 * This environment's door to a server's engine: slots, the flush of a tick, and the delivery of what finished.
 *
 * A request is a part of a slot and its generation; small requests of a tick that differ in their bytes alone share a
 * slot, and are one request to the engine. Inputs are copied at once (submission.ts); the first request of a tick
 * schedules one native call for all of that tick. Finished requests come in pages (answers.ts), of which at most 1,024 are
 * handed out, or for 200 µs, before the event loop gets a turn.
 */

import { performance } from 'node:perf_hooks';
import { nextTick } from 'node:process';
import { TritonError } from '../errors.js';
import type { OnlyInput } from '../tensor/only-input.js';
import type { TypedArray } from '../tensor/types.js';
import { Answers, type Answered } from './answers.js';
import { headerClosed, headerEpoch } from './layout.js';
import { lookAgain, looksNoMore, type NativePort, type NativeServer } from './native.js';
import { cancelled, framesBelow } from './port-errors.js';
import type { Origin, PortInput, PortOptions, PortRequest, PortTarget, Waiter } from './port-types.js';
import { isAborted, Signals } from './signals.js';
import type { Slot } from './slot.js';
import { Slots } from './slots.js';
import { statusError } from './status.js';
import { Submission } from './submission.js';
import { setImmediate } from './timers.js';
import { turnIsYoung } from './turn.js';

/** No epoch of an engine. */
const closedEpochs: Int32Array = Int32Array.of(-1);
/** Deliveries between two turns of the event loop. */
const deliveriesATurn = 1024;
/** How long deliveries may hold the event loop, in milliseconds. */
const deliveryMs = 0.2;

/** See the head of this file. Create with `Port.attach`. */
export class Port implements Answered {
  readonly #native: NativePort;
  /** Whether failures after queueing carry the line that made the request. */
  readonly captureStacks: boolean;
  readonly #header: Int32Array | undefined;
  /** Where `epoch` is read: in the header, until this is closed. */
  #epochs: Int32Array | undefined;
  readonly #submission: Submission;
  readonly #answers: Answers;
  readonly #signals: Signals;
  readonly #slots: Slots;
  #flushScheduled = false;
  #delivering = false;
  /** Whether this looks for answers with the event loop's next turn; else a signal announces them. */
  #looking = false;
  /** Requests that the engine has not ended, and how many of them somebody waits for. */
  #inFlight = 0;
  #awaited = 0;
  /** Whether the event loop is kept alive. */
  #held = false;
  #detached = false;
  #refusing = false;
  /** Called when the last request in flight has ended. */
  #idle: (() => void)[] = [];

  private constructor(native: NativePort, { maxInFlightBytes, captureStacks }: PortOptions) {
    this.captureStacks = captureStacks;
    this.#native = native;
    const external = native.external();
    this.#header = external ? new Int32Array(native.header()) : undefined;
    this.#epochs = this.#header;
    this.#submission = new Submission(native, external, maxInFlightBytes, () => {
      this.flush();
    });
    this.#slots = new Slots(this.#submission, !captureStacks && process.env['TRITONTS_JOIN'] !== '0');
    this.#answers = new Answers(native, external, this);
    this.#signals = new Signals((signal, first) => {
      this.#abort(signal, first);
    });
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

  /**
   * Counts changes of the table of models; differs from the value seen before when something changed, and when the port
   * was closed. All that is asked for each request.
   */
  get epoch(): number {
    const epochs = this.#epochs;
    return epochs === undefined ? this.#native.headerWord(headerEpoch) : (epochs[headerEpoch] ?? 0);
  }

  /** Whether the server closes or is closed. */
  get closed(): boolean {
    if (this.#detached || this.#refusing) return true;
    const header = this.#header;
    return (header ? header[headerClosed] : this.#native.headerWord(headerClosed)) === 1;
  }

  /** @internal */
  headerWord(index: number): number {
    return this.#header ? (this.#header[index] ?? 0) : this.#native.headerWord(index);
  }

  /** @internal */
  get slots(): readonly Slot[] {
    return this.#slots.all;
  }

  /** From now on `closed` is true; what is in flight goes on. */
  refuse(): void {
    this.#refusing = true;
    this.#epochs = closedEpochs;
  }

  /** Requests that have not ended. */
  get inFlight(): number {
    return this.#inFlight;
  }

  /**
   * Sends a request with the tick's others; later, exactly one of the waiter's functions is called.
   *
   * @param inputs - By position; absent ones undefined. Copied before this returns.
   * @param rows - Its batch size; 0 for models without a batch dimension.
   * @param origin - Looked at with `captureStacks` only.
   * @returns The error that keeps it from being sent; then none is called.
   */
  send(
    target: PortTarget,
    inputs: readonly (PortInput | undefined)[],
    rows: number,
    request: PortRequest,
    waiter: Waiter<unknown>,
    origin: Origin,
  ): TritonError | undefined {
    const { signal } = request;
    if (signal && isAborted(signal)) return cancelled(target.name, signal);
    // In the order that they were made in.
    this.#slots.close();
    const slot = this.#slots.take();
    let written = false;
    try {
      const error = this.#submission.write(slot, target, inputs, rows, request.wanted);
      if (error) return error;
      written = true;
    } finally {
      if (!written) this.#slots.release(slot);
    }
    slot.target = target;
    slot.request = request;
    slot.parts = slot.left = 1;
    slot.waiters = [waiter];
    this.#sent();
    try {
      // These may call code of the caller's, which may throw.
      if (this.captureStacks) slot.stack = typeof origin === 'string' ? origin : framesBelow(origin);
      if (signal) this.#signals.add(slot, signal);
    } catch (error) {
      // It is sent, but nobody waits for it.
      this.settle(slot, 0);
      throw error;
    }
    return undefined;
  }

  /**
   * As {@link send}, of a request that is one small input.
   *
   * @param value - What `input.rowsOf` returned `rows` for, none of the caller's code having run since.
   * @returns False where it cannot go this way; then it was not sent.
   */
  sendOnly(
    target: PortTarget,
    input: OnlyInput,
    value: TypedArray,
    rows: number,
    request: PortRequest,
    waiter: Waiter<unknown>,
  ): boolean {
    if (!this.#slots.join(target, input, value, rows, request, waiter)) return false;
    this.#sent();
    return true;
  }

  /** A request is written. */
  #sent(): void {
    this.#inFlight++;
    this.#awaited++;
    if (!this.#flushScheduled) this.#scheduleFlush();
  }

  /**
   * Hands the tick's requests to the engine now.
   *
   * @param run - Whether batches that are known to be short may run here and now; then some may have ended when this
   *   returns.
   */
  flush(run = false): void {
    this.#flushScheduled = false;
    this.#slots.close();
    if (this.#submission.empty || this.#detached) return;
    const outcome = this.#submission.submit(run);
    // Only a fault of our own can bring this about; the requests could never end.
    if (typeof outcome !== 'number') throw statusError(outcome);
    if (outcome > 0) this.#takePages(outcome);
    this.#holdLoop();
    if (run && !this.#looking && this.#inFlight > 0) this.#look();
  }

  /** Looks for answers, and again with the next turn of the event loop where that is worth it. */
  #look(): void {
    this.#looking = false;
    if (this.#detached) return;
    const found = this.#native.look();
    if (found === looksNoMore) return;
    this.#looking = true;
    setImmediate(this.#lookAgain);
    if (found !== lookAgain) this.deliver(found);
  }

  readonly #lookAgain = (): void => {
    this.#look();
  };

  /** Delivers what a submission ran itself: now, or after others had their turn of the event loop. */
  #takePages(count: number): void {
    this.#openPages(count);
    if (this.#delivering) return;
    if (turnIsYoung()) this.#drain();
    else this.#drainSoon();
  }

  #openPages(count: number): void {
    this.#answers.open(count);
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
    this.#epochs = closedEpochs;
    for (const slot of this.slots) this.#rejectParts(slot, () => error);
    this.#inFlight = 0;
    this.#notifyIdle();
    this.#awaited = 0;
    this.#releaseLoop();
    this.#native.detach();
  }

  #scheduleFlush(): void {
    this.#flushScheduled = true;
    // After the promise jobs of this turn, so that callers behind async layers are in. From synchronous code a tick
    // runs before those jobs: the microtask between lets them go first there, too.
    nextTick(flushSoon, this);
  }

  #abort(signal: AbortSignal, first: Slot | undefined): void {
    if (this.#detached) return;
    this.flush();
    for (let slot = first; slot;) {
      const { next } = slot;
      slot.signal = slot.next = slot.previous = undefined;
      this.#cancel(slot, signal);
      slot = next;
    }
    this.#releaseLoop();
  }

  /** Cancels the requests in flight that belong to `owner`, which reject. */
  cancelAll(owner: object): void {
    if (this.#detached) return;
    this.flush();
    for (const slot of this.slots) {
      if (slot.request?.owner === owner) this.#cancel(slot, undefined);
    }
    this.#releaseLoop();
  }

  /** The slot stays taken until the engine has ended its requests. */
  #cancel(slot: Slot, signal: AbortSignal | undefined): void {
    this.#native.cancel(slot.index, slot.generation);
    const model = slot.target?.name ?? '';
    this.#rejectParts(slot, () => cancelled(model, signal));
  }

  /** Rejects what waits for the slot's requests, with an error each. */
  #rejectParts(slot: Slot, errorOf: () => TritonError): void {
    for (let part = 0; part < slot.parts; part++) this.settle(slot, part)?.reject(errorOf());
  }

  /** @internal */
  settle(slot: Slot, part: number): Waiter<unknown> | undefined {
    const waiter = slot.waiters[part];
    if (waiter === undefined) return undefined;
    slot.waiters[part] = undefined;
    this.settled(slot, 1);
    return waiter;
  }

  /** @internal */
  settled(slot: Slot, parts: number): void {
    this.#awaited -= parts;
    slot.stack = undefined;
    if (slot.signal !== undefined) this.#signals.remove(slot);
  }

  /** @internal */
  ended(slot: Slot, parts: number): void {
    this.#inFlight -= parts;
    slot.left -= parts;
    if (slot.left > 0) return;
    this.#slots.release(slot);
  }

  /** Called by the addon when it was signalled; the header names `count` pages. */
  private deliver(count: number): void {
    if (this.#detached) return;
    this.#openPages(count);
    const epoch = this.headerWord(headerEpoch);
    // What this environment asked of versions that may be retired now is known to the engine from here on.
    this.flush();
    this.#native.acknowledge(epoch);
    if (!this.#delivering) this.#drain();
  }

  #drain(): void {
    this.#delivering = false;
    if (this.#detached) return;
    if (this.#answers.read(deliveriesATurn, performance.now() + deliveryMs)) this.#drainSoon();
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
}

const now = Promise.resolve();

function flushSoon(port: Port): void {
  // As queueMicrotask, which makes an AsyncResource for what it calls.
  void now.then(() => {
    nextTick(flushNow, port);
  });
}

function flushNow(port: Port): void {
  port.flush(true);
}
