/**
 * This environment's access to a server's engine: the groups of a tick, their flush, and the delivery of
 * responses.
 *
 * A request is identified by its group, the group's generation, and its position (groups.ts). Inputs are
 * copied at once (submission.ts). The first request of a tick schedules one native call for all requests of
 * that tick. Responses come in pages (completions.ts). Only some of them are delivered before the event loop
 * gets a turn (delivery.ts).
 */

import { headerEpoch } from '../addon/layout.js';
import type { NativePort } from '../addon/native/port.js';
import type { NativeServer } from '../addon/native/server.js';
import { TritonError, unavailable } from '../errors.js';
import type { EncodedInputs } from '../tensor/encoded.js';
import type { WireArray } from '../tensor/views.js';
import { Cancellation } from './ending/cancellation.js';
import { Completions } from './responses/completions.js';
import { Delivery } from './responses/delivery.js';
import { cancelled } from './errors/request-errors.js';
import { scheduleFlush } from './requests/flush-schedule.js';
import type { Group } from './requests/group.js';
import { Groups } from './requests/groups.js';
import { Header } from './requests/header.js';
import { LoopHold } from './ending/loop-hold.js';
import { Pages } from './responses/pages.js';
import { Refusals } from './errors/refusals.js';
import { DoomedGroup, Rejections } from './errors/rejections.js';
import { isAborted } from './ending/signals.js';
import { keepStack } from './errors/stacks.js';
import { resendSome } from './requests/moved.js';
import type { Owner } from './owner.js';
import { SentStream, type Canceller } from './responses/streams.js';
import { Submission } from './requests/submission.js';
import type { DispatcherOptions, DispatchRequest, DispatchTarget, Origin, Waiter } from './types.js';

/** Differs from every epoch. */
const unread = -2;

/** See the head of this file. `Dispatcher.attach` creates one. */
export class Dispatcher implements Owner, Canceller {
  readonly #native: NativePort;
  /** Whether errors of queued requests show the line that made the request. */
  readonly captureStacks: boolean;
  readonly #header: Header;
  readonly #submission: Submission;
  readonly #groups: Groups;
  readonly #pages: Pages;
  readonly #delivery: Delivery;
  readonly #cancellation: Cancellation;
  readonly #rejections: Rejections;
  readonly #refusals: Refusals;
  readonly #hold: LoopHold;
  #flushScheduled = false;
  #detached = false;
  /**
   * What {@link epoch} was when this tick read it; -2 before. Each request compares it, so it is a plain
   * property. What a tick misses is seen in the next one.
   */
  tickEpoch: number = unread;

  private constructor(native: NativePort, { maxInFlightBytes, captureStacks }: DispatcherOptions) {
    this.captureStacks = captureStacks;
    this.#native = native;
    const external = native.external();
    this.#header = new Header(native, external);
    this.#submission = new Submission(native, external, maxInFlightBytes, {
      full: () => {
        this.#submit(false);
      },
      reclaim: () => {
        this.#groups.reclaim();
      },
    });
    this.#hold = new LoopHold(native);
    this.#groups = new Groups(this.#submission, this.#hold);
    this.#pages = new Pages(native, external, this.#header);
    this.#rejections = new Rejections(this);
    this.#cancellation = new Cancellation(native, this.#submission, this.#groups, this.#rejections, this);
    this.#refusals = new Refusals(this.#groups, this.#cancellation, this.#rejections);
    const completions = new Completions(native, this.#pages, this.#groups, this);
    this.#delivery = new Delivery(native, completions, this);
  }

  /**
   * Connects this environment to a server.
   *
   * @throws {@link TritonError} UNAVAILABLE without memory for the connection.
   */
  static attach(server: Pick<NativeServer, 'attach'>, options: DispatcherOptions): Dispatcher {
    const external = process.env['TRITONTS_NO_EXTERNAL_BUFFERS'] !== '1';
    // The engine delivers nothing before the first request.
    const holder: { dispatcher?: Dispatcher } = {};
    const native = server.attach((count) => holder.dispatcher?.deliver(count), external);
    if (!native) throw unavailable('NO_MEMORY', 'no memory for a connection to the server');
    const dispatcher = new Dispatcher(native, options);
    holder.dispatcher = dispatcher;
    return dispatcher;
  }

  /**
   * Counts changes of the table of models. It differs from an earlier value if something changed, or if the
   * port was closed. Each request compares it, so nothing else is checked for each request.
   */
  get epoch(): number {
    const { epoch } = this.#header;
    // Without a flush ahead, nothing would end the tick.
    if (this.#flushScheduled) this.tickEpoch = epoch;
    return epoch;
  }

  /** Whether the server closes or is closed. */
  get closed(): boolean {
    return this.#header.closed;
  }

  /** @internal */
  get detached(): boolean {
    return this.#detached;
  }

  /** Sets `closed`. Requests in flight go on. */
  refuse(): void {
    this.#header.refuse();
    this.tickEpoch = unread;
  }

  /**
   * Sends a request together with the others of this tick. Later, exactly one of the waiter's functions is
   * called.
   *
   * @param inputs - They are copied before this returns. No code of the caller may have run since they were
   *   encoded.
   * @param origin - It is used with `captureStacks` only.
   * @returns The group that the request is in.
   * @throws {@link TritonError} Any code, for a request that cannot be sent. Its waiter is not called then.
   */
  send(
    target: DispatchTarget,
    inputs: EncodedInputs,
    request: DispatchRequest,
    waiter: Waiter<unknown>,
    origin: Origin,
  ): Group {
    const { signal } = request;
    if (signal !== undefined && isAborted(signal)) throw cancelled(target.name, signal);
    const group = this.#groups.add(target, inputs, request, waiter);
    if (!this.#flushScheduled) this.#scheduleFlush();
    if (signal !== undefined && !group.hasSignals) this.#cancellation.added(group);
    if (this.captureStacks) keepStack(group, waiter, origin);
    return group;
  }

  /**
   * As {@link send}, for a request that is like the one before: the tick's last request was for the same
   * version with the same options and shape. Most requests of a busy tick are.
   *
   * @param shape - Of the only input, as the encoder keeps it: equal shapes are one array.
   * @param data - The elements of the only input, which the version's encoder has checked.
   * @returns False if it is not like that. Nothing has happened then.
   * @throws {@link TritonError} INVALID_ARG for an array that another thread has just made longer.
   */
  join(
    target: DispatchTarget,
    shape: readonly number[],
    data: WireArray,
    request: DispatchRequest,
    waiter: Waiter<unknown>,
  ): boolean {
    if (request.signal !== undefined || this.captureStacks) return false;
    return this.#groups.join(target, shape, data, request, waiter);
  }

  /** The request of a waiter that was just sent, and is in this group. */
  sentStream(group: Group, waiter: Waiter<unknown>): SentStream {
    return new SentStream(this.#native, this, group, waiter);
  }

  /**
   * Hands the tick's requests to the engine now.
   *
   * @param run - Whether batches that are known to be short may run on this thread. Some requests may then
   *   have ended when this returns.
   */
  flush(run = false): void {
    this.#flushScheduled = false;
    this.tickEpoch = unread;
    this.#groups.close();
    if (this.#submission.empty || this.#detached) return;
    this.#submit(run);
    this.#refusals.reject();
    const uses = this.#cancellation.sent();
    if (!this.#pages.empty) this.#delivery.deliverOwn();
    // Responses that are in pages already need no listener: their signals are checked on delivery.
    if (uses.length > 0) {
      if (this.#delivery.delivering) this.#cancellation.listenLater(uses, this.#pages.opened);
      else this.#cancellation.listen(uses);
    }
    this.#hold.hold();
    if (run && this.#groups.inFlight > 0) this.#delivery.startLooking();
  }

  /**
   * Hands what is written to the engine. This runs no code of a caller, because it may happen while a request
   * is being copied. The flush that follows handles the outcome.
   */
  #submit(run: boolean): void {
    const outcome = this.#submission.submit(run);
    if (typeof outcome === 'number') {
      this.#groups.forgetWritten();
      this.#pages.open(outcome);
    } else {
      // The engine took nothing: it had no memory, or the submission was malformed.
      this.#refusals.add(outcome);
    }
  }

  /** Resolves when no request is in flight and no waiter is left. */
  async idle(): Promise<void> {
    if (this.#isIdle) return;
    await this.#hold.idle();
  }

  /**
   * Ends this environment's connection: every request in flight rejects with `error`. Idempotent.
   *
   * @returns A promise that resolves when all of them are rejected.
   */
  async detach(error: TritonError): Promise<void> {
    if (this.#detached) return;
    this.flush();
    this.#detached = true;
    this.#delivery.detach();
    this.refuse();
    const reason = { concerns: () => true, error: () => error };
    for (const group of this.#groups.all) {
      if (group.target !== undefined) this.#rejections.add(new DoomedGroup(group, reason));
    }
    this.#groups.forgetAll();
    this.#native.detach();
    this.#rejections.run();
    await this.idle();
  }

  #scheduleFlush(): void {
    this.#flushScheduled = true;
    scheduleFlush(this);
  }

  /** Cancels and rejects the requests in flight that belong to `owner`. */
  cancelAll(owner: object): void {
    if (!this.#detached) this.#cancellation.cancelAll(owner);
  }

  /** @internal */
  cancelOne(group: Group, waiters: Group['waiters'], position: number): void {
    if (this.#detached || waiters[position] === undefined) return;
    this.flush();
    if (group.waiters !== waiters || group.target === undefined) return;
    this.#native.cancel(group.index, group.generation, position, 1);
    const error = cancelled(group.target.name);
    this.settle(group, position)?.reject(error);
    this.#rest();
  }

  /** @internal */
  settle(group: Group, position: number): Waiter<unknown> | undefined {
    const waiter = group.waiters[position];
    if (waiter === undefined) return undefined;
    group.waiters[position] = undefined;
    this.settled(group, position, 1, 1);
    return waiter;
  }

  /** @internal */
  settled(group: Group, first: number, count: number, waited: number): void {
    this.#hold.settled(waited);
    this.#cancellation.settled(group, first, count);
  }

  /** @internal */
  resend(group: Group): TritonError | undefined {
    const { target, request } = group;
    if (target === undefined || request?.pinned !== false) return undefined;
    try {
      this.#groups.write(group, target.successor(group.shapes));
    } catch (error) {
      return error instanceof TritonError ? error : undefined;
    }
    if (!this.#flushScheduled) this.#scheduleFlush();
    return undefined;
  }

  /** @internal */
  resendSome(group: Group, first: number, count: number): TritonError | boolean {
    return resendSome(this, group, first, count);
  }

  /**
   * Called when the header lists `count` new pages.
   *
   * @internal
   */
  deliver(count: number): void {
    if (this.#detached) return;
    this.#pages.open(count);
    const epoch = this.#header.word(headerEpoch);
    // After this flush the engine knows all requests that this environment made of versions that may be
    // retired now.
    this.flush();
    this.#native.acknowledge(epoch);
    this.#delivery.deliverNow();
  }

  /**
   * Called when some responses were delivered.
   *
   * @internal
   */
  read(): void {
    if (this.#detached) return;
    this.#cancellation.pagesRead(this.#pages.finished);
    if (this.#groups.none && this.#pages.empty && this.#groups.isLarge) this.#trim();
    this.#rest();
  }

  /** @internal */
  allRejected(): void {
    this.#rest();
  }

  get #isIdle(): boolean {
    return this.#groups.none && this.#hold.none && this.#rejections.empty;
  }

  /** When all requests have ended, tells those who wait for that, and lets the process end. */
  #rest(): void {
    if (this.#isIdle) this.#hold.notifyIdle();
    this.#hold.release();
  }

  /** Frees what a burst has left behind. Nothing may be in flight. */
  #trim(): void {
    this.#groups.trim();
    this.#native.shrink();
    this.#pages.forget();
  }
}
