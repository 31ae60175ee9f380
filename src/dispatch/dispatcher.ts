/**
 * This environment's door to a server's engine: the groups of a tick, their flush, and the delivery of responses.
 *
 * A request's name is a group, its generation, and a position in it (groups.ts). Inputs are copied at once
 * (submission.ts); the first request of a tick schedules one native call for all of that tick. Responses come in pages
 * (completions.ts), of which at most 1,024 are handed out, or for 200 µs, before the event loop gets a turn.
 */

import { performance } from 'node:perf_hooks';
import { nextTick } from 'node:process';
import { headerClosed, headerEpoch } from '../addon/layout.js';
import { lookAgain, looksNoMore, type NativePort, type NativeServer } from '../addon/native.js';
import { statusError } from '../addon/status.js';
import { TritonError } from '../errors.js';
import type { EncodedInputs } from '../tensor/encoded.js';
import { Completions, type Owner } from './completions.js';
import { cancelled, framesBelow } from './errors.js';
import type { Group } from './group.js';
import { Groups } from './groups.js';
import { Rejections } from './rejections.js';
import { isAborted, Signals, type Listening } from './signals.js';
import { Submission } from './submission.js';
import { setImmediate } from './timers.js';
import { turnIsYoung } from './turn.js';
import type { DispatcherOptions, DispatchRequest, DispatchTarget, Origin, Waiter } from './types.js';

/** No epoch of an engine. */
const closedEpochs: Int32Array = Int32Array.of(-1);
/** Deliveries between two turns of the event loop. */
const deliveriesATurn = 1024;
/** How long deliveries may hold the event loop, in milliseconds. */
const deliveryMs = 0.2;

/** See the head of this file. Create with `Dispatcher.attach`. */
export class Dispatcher implements Owner {
  readonly #native: NativePort;
  /** Whether failures after queueing carry the line that made the request. */
  readonly captureStacks: boolean;
  readonly #header: Int32Array | undefined;
  /** Where `epoch` is read: in the header, until this is closed. */
  #epochs: Int32Array | undefined;
  readonly #submission: Submission;
  readonly #completions: Completions;
  readonly #signals: Signals;
  readonly #groups: Groups;
  readonly #rejections: Rejections = new Rejections();
  #flushScheduled = false;
  /** Groups of this tick with requests that have signals, to which they do not listen yet. */
  #unlistened: GroupUse[] = [];
  /** The same of groups of whose responses some are still to be delivered. */
  #listenLater: GroupUse[] = [];
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

  private constructor(native: NativePort, { maxInFlightBytes, captureStacks }: DispatcherOptions) {
    this.captureStacks = captureStacks;
    this.#native = native;
    const external = native.external();
    this.#header = external ? new Int32Array(native.header()) : undefined;
    this.#epochs = this.#header;
    this.#submission = new Submission(native, external, maxInFlightBytes, {
      flush: () => {
        this.flush();
      },
      reclaim: () => {
        this.#groups.reclaim();
      },
    });
    this.#groups = new Groups(this.#submission, this);
    this.#completions = new Completions(native, external, this);
    this.#signals = new Signals((signal, first) => {
      this.#abort(signal, first);
    });
  }

  /**
   * Connects this environment to a server.
   *
   * @throws {TritonError} UNAVAILABLE when there is no memory for it.
   */
  static attach(server: NativeServer, options: DispatcherOptions): Dispatcher {
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
    const epochs = this.#epochs;
    if (epochs === undefined) return this.#native.headerWord(headerEpoch);
    // Once a tick exactly. What a plain read misses meanwhile, the next tick sees; it costs a sixth of the other one.
    return this.#flushScheduled ? (epochs[headerEpoch] ?? 0) : Atomics.load(epochs, headerEpoch);
  }

  /** Whether the server closes or is closed. */
  get closed(): boolean {
    if (this.#detached || this.#refusing) return true;
    const header = this.#header;
    return (header ? Atomics.load(header, headerClosed) : this.#native.headerWord(headerClosed)) === 1;
  }

  /** @internal */
  headerWord(index: number): number {
    return this.#header ? Atomics.load(this.#header, index) : this.#native.headerWord(index);
  }

  /** @internal */
  get groups(): readonly Group[] {
    return this.#groups.all;
  }

  /** From now on `closed` is true; what is in flight goes on. */
  refuse(): void {
    this.#refusing = true;
    this.#epochs = closedEpochs;
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
    if (signal !== undefined && !group.hasSignals) {
      group.hasSignals = true;
      this.#unlistened.push({ group, waiters: group.waiters });
    }
    if (!this.captureStacks) return;
    try {
      // A program's own Error.prepareStackTrace may throw.
      const stack = typeof origin === 'string' ? origin : framesBelow(origin);
      (group.stacks ??= new Array<string | undefined>(group.room))[group.count - 1] = stack;
    } catch (error) {
      // It is sent, but nobody waits for it.
      group.waiters[group.count - 1] = forNobody;
      throw error;
    }
  }

  /** @internal */
  sent(count: number): void {
    this.#inFlight += count;
    this.#awaited += count;
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
    const outcome = this.#submission.submit(run);
    // Nothing was taken: for want of memory, or by a fault of our own.
    if (typeof outcome !== 'number') {
      this.#refuseWritten(statusError(outcome));
      return;
    }
    this.#groups.forgetWritten();
    const uses = this.#unlistened;
    if (uses.length > 0) {
      this.#unlistened = [];
      this.#cancelAborted(uses);
    }
    if (outcome > 0) this.#takePages(outcome);
    // What is in the pages needs no listener any more; whether signals have fired meanwhile is looked at on delivery.
    if (this.#delivering && uses.length > 0) this.#listenLater.push(...uses);
    else for (const use of uses) this.#listen(use);
    this.#holdLoop();
    if (run && !this.#looking && this.#inFlight > 0) this.#look();
  }

  /** The engine took none of the groups that were written. */
  #refuseWritten(error: TritonError): void {
    for (const group of this.#groups.takeWritten()) {
      for (let position = 0; position < group.count; position++) this.#reject(group, position, () => error);
      this.#submission.unstage(group);
      this.ended(group, group.count);
    }
    // One that is being written has its turn with the next flush.
    this.#unlistened = this.#unlistened.filter(({ group, waiters }) => group.waiters === waiters);
    this.#rejectAdded();
  }

  /** Cancels requests whose signals fired before they were sent. */
  #cancelAborted(uses: readonly GroupUse[]): void {
    const cancels = new Cancels(this.#native, this.#submission);
    for (const { group, waiters } of uses) {
      if (group.waiters !== waiters) continue;
      const model = group.target?.name ?? '';
      for (let position = 0; position < group.count; position++) {
        if (waiters[position] === undefined) continue;
        const signal = group.requestOf(position)?.signal;
        if (signal === undefined || !isAborted(signal)) continue;
        cancels.add(group, position);
        this.#reject(group, position, () => cancelled(model, signal));
      }
    }
    cancels.send();
    this.#rejectAdded();
  }

  /** Has the requests of a group that are not answered listen to their signals, which takes longer than a short run. */
  #listen({ group, waiters }: GroupUse): void {
    if (group.waiters !== waiters) return;
    for (let position = 0; position < group.count; position++) {
      if (group.waiters[position] === undefined) continue;
      const signal = group.requestOf(position)?.signal;
      if (signal === undefined) continue;
      try {
        this.#signals.add(group, position, signal);
      } catch (error) {
        // The signal is the caller's own, and so may its methods be.
        this.settle(group, position)?.reject(error);
      }
    }
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
    this.#completions.open(count);
  }

  /** Resolves when no request is in flight. */
  async idle(): Promise<void> {
    if (this.#inFlight === 0 && !this.#groups.isOpen) return;
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
    for (const group of this.groups) {
      for (let position = 0; position < group.count; position++) this.#reject(group, position, () => error);
    }
    this.#rejections.run(() => undefined);
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

  #abort(signal: AbortSignal, first: Listening | undefined): void {
    if (this.#detached) return;
    this.flush();
    const cancels = new Cancels(this.#native, this.#submission);
    // The last one that listened comes first.
    let last = first;
    while (last?.next) last = last.next;
    for (let one = last; one; one = one.previous) {
      const { group, position } = one;
      cancels.add(group, position);
      const model = group.target?.name ?? '';
      this.#reject(group, position, () => cancelled(model, signal));
    }
    cancels.send();
    this.#rejectAdded();
  }

  /** Cancels the requests in flight that belong to `owner`, which reject. */
  cancelAll(owner: object): void {
    if (this.#detached) return;
    this.flush();
    const cancels = new Cancels(this.#native, this.#submission);
    for (const group of this.groups) {
      for (let position = 0; position < group.count; position++) {
        if (group.waiters[position] === undefined || group.requestOf(position)?.owner !== owner) continue;
        cancels.add(group, position);
        const model = group.target?.name ?? '';
        this.#reject(group, position, () => cancelled(model));
      }
    }
    cancels.send();
    this.#rejectAdded();
  }

  /** Rejects what waits for a request, soon. The request stays with its group until the engine has ended it. */
  #reject(group: Group, position: number, error: () => TritonError): void {
    const waiter = this.settle(group, position);
    if (waiter !== undefined) this.#rejections.add(waiter, error);
  }

  #rejectAdded(): void {
    this.#rejections.run(() => {
      this.#releaseLoop();
    });
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
    this.#awaited -= waited;
    const { listening } = group;
    if (listening === undefined) return;
    for (let position = first; position < first + count; position++) {
      const one = listening[position];
      if (one === undefined) continue;
      listening[position] = undefined;
      this.#signals.remove(one);
    }
  }

  /** @internal */
  ended(group: Group, count: number): void {
    this.#inFlight -= count;
    group.left -= count;
    if (group.left === 0) this.#groups.release(group);
  }

  /** @internal */
  unstage(group: Group): void {
    this.#submission.unstage(group);
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
    if (this.#completions.read(deliveriesATurn, performance.now() + deliveryMs)) this.#drainSoon();
    else if (this.#listenLater.length > 0) this.#listenNow();
    if (this.#inFlight === 0 && !this.#groups.isOpen) {
      if (this.#groups.isLarge && this.#completions.empty) this.#trim();
      this.#notifyIdle();
    }
    this.#releaseLoop();
  }

  /** Nothing is in flight: lets go of what a burst has left behind. */
  #trim(): void {
    this.#groups.trim();
    this.#native.shrink();
    this.#completions.forgetPages();
  }

  #listenNow(): void {
    // What was made during the delivery may be written already, where cancellations are written now.
    this.flush();
    const uses = this.#listenLater;
    this.#listenLater = [];
    this.#cancelAborted(uses);
    for (const use of uses) this.#listen(use);
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

/** A group as one tick uses it: when its requests have ended, another one's may have it, with waiters of their own. */
interface GroupUse {
  readonly group: Group;
  readonly waiters: Group['waiters'];
}

/** Of a request that was sent, although its caller has an error. */
const forNobody: Waiter<unknown> = { resolve: () => undefined, reject: () => undefined };

/** Requests to be cancelled, all with one call: neighbours of a group as one. Nothing is written meanwhile. */
class Cancels {
  readonly #native: NativePort;
  readonly #submission: Submission;
  #group: Group | undefined;
  #first = 0;
  #count = 0;
  #words = 0;

  constructor(native: NativePort, submission: Submission) {
    this.#native = native;
    this.#submission = submission;
  }

  add(group: Group, position: number): void {
    if (group === this.#group && position === this.#first + this.#count) {
      this.#count++;
      return;
    }
    this.#write();
    this.#group = group;
    this.#first = position;
    this.#count = 1;
  }

  send(): void {
    this.#write();
    if (this.#words > 0) this.#native.cancelMany(this.#words, this.#submission.ownWords);
    this.#words = 0;
  }

  #write(): void {
    const group = this.#group;
    if (group === undefined) return;
    const { words } = this.#submission;
    if (this.#words + 4 > words.length) {
      this.#native.cancelMany(this.#words, this.#submission.ownWords);
      this.#words = 0;
    }
    words[this.#words++] = group.index;
    words[this.#words++] = group.generation;
    words[this.#words++] = this.#first;
    words[this.#words++] = this.#count;
    this.#group = undefined;
  }
}

const now = Promise.resolve();

function flushSoon(dispatcher: Dispatcher): void {
  // As queueMicrotask, which makes an AsyncResource for what it calls.
  void now.then(() => {
    nextTick(flushNow, dispatcher);
  });
}

function flushNow(dispatcher: Dispatcher): void {
  dispatcher.flush(true);
}
