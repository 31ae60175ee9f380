/**
 * This environment's door to a server's engine: the groups of a tick, their flush, and the delivery of responses.
 *
 * A request's name is a group, its generation, and a position in it (groups.ts). Inputs are copied at once
 * (submission.ts); the first request of a tick schedules one native call for all of that tick. Responses come in pages
 * (completions.ts), of which some are handed out before the event loop gets a turn (delivery.ts).
 */

import { headerEpoch } from '../addon/layout.js';
import type { NativePort, NativeServer, NativeStatus } from '../addon/native.js';
import { statusError } from '../addon/status.js';
import { TritonError } from '../errors.js';
import type { EncodedInputs } from '../tensor/encoded.js';
import { Cancellation } from './cancellation.js';
import { Completions, type Owner } from './completions.js';
import { Delivery } from './delivery.js';
import { cancelled } from './errors.js';
import { scheduleFlush } from './flush-schedule.js';
import type { Group } from './group.js';
import { Groups } from './groups.js';
import { Header } from './header.js';
import { LoopHold } from './loop-hold.js';
import { Pages } from './pages.js';
import { DoomedGroup, Rejections } from './rejections.js';
import { isAborted } from './signals.js';
import { keepStack } from './stacks.js';
import { Submission } from './submission.js';
import type { DispatcherOptions, DispatchRequest, DispatchTarget, Origin, Waiter } from './types.js';

/** Groups that the engine did not take, and why. */
interface Refusal {
  readonly groups: readonly Group[];
  readonly status: NativeStatus;
}

/** See the head of this file. Create with `Dispatcher.attach`. */
export class Dispatcher implements Owner {
  readonly #native: NativePort;
  /** Whether failures after queueing carry the line that made the request. */
  readonly captureStacks: boolean;
  readonly #header: Header;
  readonly #submission: Submission;
  readonly #groups: Groups;
  readonly #pages: Pages;
  readonly #delivery: Delivery;
  readonly #cancellation: Cancellation;
  readonly #rejections: Rejections;
  readonly #hold: LoopHold;
  #flushScheduled = false;
  /** Groups whose requests the next flush rejects. */
  #refusals: Refusal[] = [];
  #detached = false;

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
    const completions = new Completions(native, this.#pages, this.#groups, this);
    this.#delivery = new Delivery(native, completions, this);
  }

  /**
   * Connects this environment to a server.
   *
   * @throws {TritonError} UNAVAILABLE when there is no memory for it.
   */
  static attach(server: Pick<NativeServer, 'attach'>, options: DispatcherOptions): Dispatcher {
    const external = process.env['TRITONTS_NO_EXTERNAL_BUFFERS'] !== '1';
    // Nothing is delivered before the first request.
    const holder: { dispatcher?: Dispatcher } = {};
    const native = server.attach((count) => holder.dispatcher?.deliver(count), external);
    if (!native) throw new TritonError('UNAVAILABLE', 'no memory for a connection to the server');
    const dispatcher = new Dispatcher(native, options);
    holder.dispatcher = dispatcher;
    return dispatcher;
  }

  /**
   * Counts changes of the table of models; differs from the value seen before when something changed, and when the port
   * was closed. All that is asked for each request.
   */
  get epoch(): number {
    return this.#header.epochOf(this.#flushScheduled);
  }

  /** Whether the server closes or is closed. */
  get closed(): boolean {
    return this.#header.closed;
  }

  /** @internal */
  get detached(): boolean {
    return this.#detached;
  }

  /** From now on `closed` is true; what is in flight goes on. */
  refuse(): void {
    this.#header.refuse();
  }

  /**
   * Sends a request with the tick's others; later, exactly one of the waiter's functions is called.
   *
   * @param inputs - Copied before this returns, none of the caller's code having run since they were encoded.
   * @param origin - Looked at with `captureStacks` only.
   * @throws {TritonError} What keeps it from being sent; then the waiter is not called.
   */
  send(
    target: DispatchTarget,
    inputs: EncodedInputs,
    request: DispatchRequest,
    waiter: Waiter<unknown>,
    origin: Origin,
  ): void {
    const { signal } = request;
    if (signal !== undefined && isAborted(signal)) throw cancelled(target.name, signal);
    const group = this.#groups.add(target, inputs, request, waiter);
    if (!this.#flushScheduled) this.#scheduleFlush();
    if (signal !== undefined && !group.hasSignals) this.#cancellation.added(group);
    if (this.captureStacks) keepStack(group, waiter, origin);
  }

  /**
   * Hands the tick's requests to the engine now.
   *
   * @param run - Whether batches that are known to be short may run here and now; then some may have ended when this
   *   returns.
   */
  flush(run = false): void {
    this.#flushScheduled = false;
    this.#groups.close();
    if (this.#submission.empty || this.#detached) return;
    this.#submit(run);
    if (this.#refusals.length > 0) this.#rejectRefused();
    const uses = this.#cancellation.sent();
    if (!this.#pages.empty) this.#delivery.deliverOwn();
    // What is in the pages needs no listener any more; whether signals have fired meanwhile is looked at on delivery.
    if (uses.length > 0) {
      if (this.#delivery.delivering) this.#cancellation.listenLater(uses, this.#pages.opened);
      else this.#cancellation.listen(uses);
    }
    this.#hold.hold();
    if (run && this.#groups.inFlight > 0) this.#delivery.startLooking();
  }

  /**
   * Gives the engine what is written, and runs none of the callers' code: a request may be about to be copied. What came
   * of it is seen to by the flush that follows.
   */
  #submit(run: boolean): void {
    const outcome = this.#submission.submit(run);
    if (typeof outcome === 'number') {
      this.#groups.forgetWritten();
      this.#pages.open(outcome);
    } else {
      // Nothing was taken: for want of memory, or by a fault of our own.
      this.#refusals.push({ groups: this.#groups.takeWritten(), status: outcome });
    }
  }

  #rejectRefused(): void {
    const refusals = this.#refusals;
    this.#refusals = [];
    for (const { groups, status } of refusals) {
      const reason = { concerns: () => true, error: (model: string) => statusError(status, { model }) };
      for (const group of groups) {
        this.#cancellation.settled(group, 0, group.count);
        this.#rejections.add(new DoomedGroup(group, reason));
        this.#groups.unstage(group);
        this.#groups.ended(group, group.count);
      }
    }
    this.#rejections.run();
  }

  /** Resolves when no request is in flight, and nobody waits for one. */
  async idle(): Promise<void> {
    if (this.#isIdle) return;
    await this.#hold.idle();
  }

  /**
   * Cuts this environment off: every request in flight rejects with `error`. Idempotent.
   *
   * @returns When all of them are rejected.
   */
  async detach(error: TritonError): Promise<void> {
    if (this.#detached) return;
    this.flush();
    this.#detached = true;
    this.#delivery.detach();
    this.#header.refuse();
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

  /** Cancels the requests in flight that belong to `owner`, which reject. */
  cancelAll(owner: object): void {
    if (!this.#detached) this.#cancellation.cancelAll(owner);
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

  /**
   * Called when the header names `count` pages.
   *
   * @internal
   */
  deliver(count: number): void {
    if (this.#detached) return;
    this.#pages.open(count);
    const epoch = this.#header.word(headerEpoch);
    // What this environment asked of versions that may be retired now is known to the engine from here on.
    this.flush();
    this.#native.acknowledge(epoch);
    this.#delivery.deliverNow();
  }

  /**
   * Some responses were delivered.
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

  /** Tells those who wait for the end of all requests, and lets the process end, where that is so. */
  #rest(): void {
    if (this.#isIdle) this.#hold.notifyIdle();
    this.#hold.release();
  }

  /** Nothing is in flight: lets go of what a burst has left behind. */
  #trim(): void {
    this.#groups.trim();
    this.#native.shrink();
    this.#pages.forget();
  }
}
