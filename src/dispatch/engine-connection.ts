/**
 * Connects this environment to a server's engine: it groups a tick's requests, flushes them, and delivers
 * responses.
 *
 * A request is identified by its group, the group's generation, and its position in the group (groups.ts).
 * Inputs are copied at once (submission.ts). The first request of a tick schedules one native call for all
 * requests of that tick. Responses arrive in pages (settle-promises.ts). One turn of the event loop delivers a
 * limited number of them (delivery-schedule.ts).
 */

import { headerEpoch } from '../addon/layout.js';
import type { NativePort } from '../addon/native/port.js';
import type { NativeServer } from '../addon/native/server.js';
import { TritonError, unavailable } from '../errors.js';
import type { EncodedInputs } from '../tensor/encoded.js';
import type { WireArray } from '../tensor/views.js';
import { Cancellation } from './ending/cancellation.js';
import { PromiseSettler } from './responses/settle-promises.js';
import { DeliverySchedule } from './responses/delivery-schedule.js';
import { cancelled } from './errors/request-errors.js';
import { scheduleFlush } from './requests/flush-schedule.js';
import type { Group } from './requests/group.js';
import { Groups, type AlikeInputs } from './requests/groups.js';
import { Header } from './requests/header.js';
import { LoopHold } from './ending/loop-hold.js';
import { Pages } from './responses/pages.js';
import { Refusals } from './errors/refusals.js';
import { DoomedGroup, Rejections } from './errors/rejections.js';
import { isAborted } from '../call-signal.js';
import { keepStack } from './errors/stacks.js';
import { AwaitedLoads } from './requests/awaited-loads.js';
import { holdForLoad, resendSome } from './requests/moved.js';
import type { Owner } from './owner.js';
import { SentStream, type Canceller } from './responses/streams.js';
import { Submission } from './requests/submission.js';
import type { EngineConnectionOptions, DispatchRequest, DispatchTarget, Origin, Waiter } from './types.js';

/** Differs from every epoch. */
const unread = -2;

/** See the head of this file. `EngineConnection.attach` creates one. */
export class EngineConnection implements Owner, Canceller {
  readonly #native: NativePort;
  /** Whether errors of queued requests show the line that made the request. */
  readonly captureStacks: boolean;
  readonly #header: Header;
  readonly #submission: Submission;
  readonly #groups: Groups;
  readonly #pages: Pages;
  readonly #delivery: DeliverySchedule;
  readonly #cancellation: Cancellation;
  readonly #rejections: Rejections;
  readonly #refusals: Refusals;
  readonly #hold: LoopHold;
  /** The requests that wait for the load of their model. */
  readonly awaited: AwaitedLoads = new AwaitedLoads();
  /** What is forgotten at the end of this tick. */
  readonly #forgetful: { forget(): void }[] = [];
  #flushScheduled = false;
  #detached = false;
  /**
   * The value of {@link epoch} when this tick first read it; -2 before. It is a plain property because each
   * request compares it. A change later in the tick is seen in the next tick.
   */
  tickEpoch: number = unread;

  private constructor(
    native: NativePort,
    { maxInFlightBytes, captureStacks, onSequence }: EngineConnectionOptions,
  ) {
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
      begun: onSequence,
    });
    this.#hold = new LoopHold(native);
    this.#groups = new Groups(this.#submission, this.#hold);
    this.#pages = new Pages(native, external, this.#header);
    this.#rejections = new Rejections(this);
    this.#cancellation = new Cancellation(native, this.#submission, this.#groups, this.#rejections, this);
    this.#refusals = new Refusals(this.#groups, this.#cancellation, this.#rejections);
    const reader = new PromiseSettler(native, this.#pages, this.#groups, this);
    this.#delivery = new DeliverySchedule(native, reader, this);
  }

  /**
   * Connects this environment to a server.
   *
   * @throws {@link TritonError} UNAVAILABLE if there is no memory for the connection.
   */
  static attach(server: Pick<NativeServer, 'attach'>, options: EngineConnectionOptions): EngineConnection {
    const external = process.env['TRITONTS_NO_EXTERNAL_BUFFERS'] !== '1';
    // The engine delivers nothing before the first request.
    const holder: { connection?: EngineConnection } = {};
    const native = server.attach((count) => holder.connection?.deliver(count), external);
    if (!native) throw unavailable('NO_MEMORY', 'no memory for a connection to the server');
    const connection = new EngineConnection(native, options);
    holder.connection = connection;
    return connection;
  }

  /**
   * The number of changes of the table of models. It differs from an earlier value if something changed, or if
   * the port was closed. It is the only check that each request makes.
   */
  get epoch(): number {
    const { epoch } = this.#header;
    // Only a scheduled flush resets tickEpoch, so it is set only if one is scheduled.
    if (this.#flushScheduled) this.tickEpoch = epoch;
    return epoch;
  }

  /** Whether the server is closing or closed. */
  get closed(): boolean {
    return this.#header.closed;
  }

  /** @internal */
  get detached(): boolean {
    return this.#detached;
  }

  /** Sets `closed`. Requests in flight continue. */
  refuse(): void {
    this.#header.refuse();
    this.tickEpoch = unread;
  }

  /**
   * Sends a request together with this tick's other requests. Exactly one of the waiter's functions is called
   * later.
   *
   * @param inputs - They are copied before this returns. No code of the caller may run between encoding and
   *   this call.
   * @param origin - Used only with `captureStacks`.
   * @param shape - The shape of the only input, as the encoder keeps it: equal shapes are the same array. If it
   *   is given, `inputs` is not yet encoded, and need not be if the request is like the tick's last one. Most
   *   requests of a busy tick are.
   * @param data - The elements of that input, which the version's encoder has checked.
   * @returns The group that the request is in.
   * @throws {@link TritonError} Any code, if the request cannot be sent. Its waiter is then not called.
   */
  send(
    target: DispatchTarget,
    inputs: EncodedInputs,
    request: DispatchRequest,
    waiter: Waiter<unknown>,
    origin: Origin,
    shape?: readonly number[],
    data?: WireArray,
  ): Group {
    const { signal } = request;
    if (signal !== undefined && isAborted(signal)) throw cancelled(target.name, signal);
    const group = this.#groups.add(target, inputs, request, waiter, shape, data);
    this.#added(group, request, waiter, origin);
    return group;
  }

  /**
   * Sends a request whose inputs are typed arrays as those of the last request of this tick. See {@link send}.
   *
   * @param values - By input. No code of the caller may run between their reading and this call.
   * @returns False if they are not, and nothing was sent.
   * @throws {@link TritonError} As {@link send}.
   */
  sendAlike(
    target: DispatchTarget,
    inputs: AlikeInputs,
    values: readonly unknown[],
    request: DispatchRequest,
    waiter: Waiter<unknown>,
    origin: Origin,
  ): boolean {
    const { signal } = request;
    if (signal !== undefined && isAborted(signal)) throw cancelled(target.name, signal);
    const group = this.#groups.addAlike(target, inputs, values, request, waiter);
    if (group === undefined) return false;
    this.#added(group, request, waiter, origin);
    return true;
  }

  #added(group: Group, { signal }: DispatchRequest, waiter: Waiter<unknown>, origin: Origin): void {
    if (!this.#flushScheduled) this.#scheduleFlush();
    if (signal !== undefined && !group.hasSignals) this.#cancellation.added(group);
    if (this.captureStacks) keepStack(group, waiter, origin);
  }

  /** Calls `forget` of `one` at the end of this tick. */
  forgetAtTickEnd(one: { forget(): void }): void {
    // The request that it is for may yet be refused, and then none would bring a flush about. A flush for it alone could overtake that
    // of another connection.
    if (this.#forgetful.push(one) === 1) process.nextTick(this.#forget);
  }

  readonly #forget = (): void => {
    while (this.#forgetful.length > 0) this.#forgetful.pop()?.forget();
  };

  /** The stream of a request that was just sent in this group, by its waiter. */
  sentStream(group: Group, waiter: Waiter<unknown>): SentStream {
    return new SentStream(this.#native, this, group, waiter);
  }

  /**
   * Submits the tick's requests to the engine now.
   *
   * @param run - Whether batches that are known to be short may run on this thread. Some requests may then have
   *   ended when this returns.
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
    // A request whose response is already in a page needs no listener: its signal is checked on delivery.
    if (uses.length > 0) {
      if (this.#delivery.delivering) this.#cancellation.listenLater(uses, this.#pages.opened);
      else this.#cancellation.listen(uses);
    }
    this.#hold.hold();
    if (run && this.#groups.inFlight > 0) this.#delivery.startLooking();
  }

  /**
   * Submits the written records to the engine. This runs no code of a caller, because it may happen while a
   * request is being copied. The following flush handles the outcome.
   */
  #submit(run: boolean): void {
    const outcome = this.#submission.submit(run);
    if (typeof outcome === 'number') {
      this.#groups.forgetWritten();
      this.#pages.open(outcome);
    } else {
      // The engine accepted nothing: it had no memory, or the submission was malformed.
      this.#refusals.add(outcome);
    }
  }

  /** Resolves when no request is in flight and no waiter remains. */
  async idle(): Promise<void> {
    if (this.#isIdle) return;
    await this.#hold.idle();
  }

  /**
   * Ends this environment's connection: every request in flight rejects with `error`. Idempotent.
   *
   * @returns A promise that resolves when all these requests have been rejected.
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

  /** Cancels and rejects the requests that belong to `owner`: those in flight, and those that wait for a load. */
  cancelAll(owner: object): void {
    this.awaited.cancelAll(owner);
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
  holdForLoad(group: Group, first: number, count: number): boolean {
    return !this.#detached && holdForLoad(this, this.awaited, group, first, count);
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
    // After this flush the engine knows all requests that this environment made for versions that may now be
    // retired.
    this.flush();
    this.#native.acknowledge(epoch);
    this.#delivery.deliverNow();
  }

  /**
   * Called after some responses were delivered.
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

  /** When all requests have ended, resolves the promises of {@link idle}, and lets the process end. */
  #rest(): void {
    if (this.#isIdle) this.#hold.notifyIdle();
    this.#hold.release();
  }

  /** Frees memory that remained after a burst. No request may be in flight. */
  #trim(): void {
    this.#groups.trim();
    this.#native.shrink();
    this.#pages.forget();
  }
}
