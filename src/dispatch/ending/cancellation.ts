/**
 * Cancels requests, because their signal fired, or because they belong to an owner that ended.
 *
 * A signal gets a listener only if its request is still in flight after the flush, because adding a listener
 * costs more than a short run. Before that, the signal is checked when the request is made, when it is sent,
 * and when its response is delivered.
 */

import { performance } from 'node:perf_hooks';
import type { NativePort } from '../../addon/native/port.js';
import { CancelList } from './cancel-list.js';
import type { TritonError } from '../../errors.js';
import { cancelled, withFrames } from '../errors/request-errors.js';
import type { Group, Listening } from '../requests/group.js';
import type { Groups } from '../requests/groups.js';
import {
  DoomedGroup,
  type Doomed,
  type Reason,
  type Rejections,
  type Settled,
} from '../errors/rejections.js';
import { isAborted, type StopSignal } from '../../call-signal.js';
import { SignalListeners } from './signal-listeners.js';
import type { Submission } from '../requests/submission.js';
import type { DispatchRequest, Waiter } from '../types.js';

/**
 * A group with its waiters in this tick. When its requests have ended, the group is reused with other waiters.
 */
interface GroupUse {
  readonly group: Group;
  readonly waiters: Group['waiters'];
}

/** Groups that were sent while responses were delivered. */
interface Deferred {
  readonly uses: readonly GroupUse[];
  /** Add listeners to their signals when this many pages have been read, counted since the port was created. */
  readonly pages: number;
}

/** Sends pending requests: a request can be cancelled only after it was sent. */
export interface Sender {
  /** Submits the tick's requests to the engine now. */
  flush(): void;
  /** Whether the connection to the engine has ended. All sent requests are then rejected. */
  readonly detached: boolean;
}

const bySignal: Reason = {
  concerns: ({ signal }) => signal !== undefined && isAborted(signal),
  error: (model, { signal }) => cancelled(model, signal),
};

/** Requests that listened to a signal that has fired. */
class DoomedListeners implements Doomed {
  #listening: Listening | undefined;
  /** Position of the next request in its group. */
  #position: number;
  #taken: DispatchRequest | undefined;
  #model = '';
  #stack: string | undefined;

  constructor(first: Listening | undefined) {
    this.#listening = first;
    this.#position = first?.first ?? 0;
  }

  take(owner: Settled): Waiter<unknown> | undefined {
    for (let one = this.#listening; one !== undefined; one = this.#goOn(one)) {
      const { group, last } = one;
      while (this.#position <= last) {
        const position = this.#position++;
        const waiter = group.waiters[position];
        if (waiter === undefined || !one.has(position)) continue;
        group.waiters[position] = undefined;
        this.#taken = group.requestOf(position);
        this.#model = group.target?.name ?? '';
        this.#stack = group.stacks?.[position];
        owner.settled(group, position, 1, 1);
        return waiter;
      }
    }
    return undefined;
  }

  error(): TritonError {
    return withFrames(cancelled(this.#model, this.#taken?.signal), this.#stack);
  }

  #goOn({ next }: Listening): Listening | undefined {
    this.#position = next?.first ?? 0;
    return (this.#listening = next);
  }
}

/**
 * Adds the requests of a group that belong to an owner. Returns whether any of them may still wait. It avoids a
 * look at each of many thousand requests: V8 interprets this function because it is called rarely, so that
 * would take milliseconds.
 */
function addOwned(cancels: CancelList, group: Group, owner: object): boolean {
  if (group.requests === undefined) {
    if (group.request?.owner !== owner) return false;
    cancels.add(group, 0, group.count);
    return true;
  }
  let any = false;
  for (let position = 0; position < group.count; position++) {
    if (group.waiters[position] === undefined || group.requestOf(position)?.owner !== owner) continue;
    cancels.add(group, position);
    any = true;
  }
  return any;
}

/** Adds the requests that listened to a signal. */
function addListening(cancels: CancelList, one: Listening): void {
  const { group, first, last, left } = one;
  const count = last - first + 1;
  if (left === count) {
    cancels.add(group, first, count);
    return;
  }
  for (let position = first; position <= last; position++) {
    if (one.has(position)) cancels.add(group, position);
  }
}

/** See the head of this file. An engine connection has one. */
export class Cancellation {
  readonly #native: NativePort;
  readonly #submission: Submission;
  readonly #groups: Groups;
  readonly #rejections: Rejections;
  readonly #sender: Sender;
  readonly #signals: SignalListeners;
  /** Groups of this tick that have requests whose signals have no listener yet. */
  #unlistened: GroupUse[] = [];
  /** Such groups that were sent during deliveries; oldest first. */
  #deferred: Deferred[] = [];

  constructor(
    native: NativePort,
    submission: Submission,
    groups: Groups,
    rejections: Rejections,
    sender: Sender,
  ) {
    this.#native = native;
    this.#submission = submission;
    this.#groups = groups;
    this.#rejections = rejections;
    this.#sender = sender;
    this.#signals = new SignalListeners((first) => {
      if (!sender.detached) this.#fired(first);
    });
  }

  /** Records that a group has its first request with a signal. */
  added(group: Group): void {
    group.hasSignals = true;
    this.#unlistened.push({ group, waiters: group.waiters });
  }

  /** Records that adjacent requests of a group no longer wait. */
  settled(group: Group, first: number, count: number): void {
    this.#signals.forget(group, first, count);
  }

  /** Called after the tick's requests were sent. Cancels the requests whose signals have already fired. */
  sent(): readonly GroupUse[] {
    const uses = this.#unlistened;
    if (uses.length === 0) return uses;
    this.#unlistened = [];
    this.#cancelAborted(uses);
    return uses;
  }

  /** Adds listeners for the requests of these groups that have no response yet. */
  listen(uses: readonly GroupUse[]): void {
    for (const { group, waiters } of uses) if (group.waiters === waiters) this.#signals.listen(group);
  }

  /**
   * Adds listeners after this many pages were read: requests whose responses are in these pages need no
   * listener.
   */
  listenLater(uses: readonly GroupUse[], pages: number): void {
    if (uses.length > 0) this.#deferred.push({ uses, pages });
  }

  /** Called when this many pages have been read. */
  pagesRead(pages: number): void {
    if (this.#deferred.length === 0) return;
    const due = this.#deferred.filter((one) => one.pages <= pages);
    if (due.length === 0) return;
    this.#deferred = this.#deferred.slice(due.length);
    // Requests that were made during the delivery may already be written to the submission area, which the
    // cancel list needs.
    this.#sender.flush();
    for (const { uses } of due) {
      this.#cancelAborted(uses);
      this.listen(uses);
    }
  }

  /** Cancels and rejects the requests in flight that belong to `owner`. */
  cancelAll(owner: object): void {
    const began = performance.now();
    this.#sender.flush();
    const reason: Reason = {
      concerns: (request) => request.owner === owner,
      error: (model) => cancelled(model),
    };
    const cancels = new CancelList(this.#native, this.#submission);
    for (const group of this.#groups.all) {
      if (group.target === undefined) continue;
      if (addOwned(cancels, group, owner)) this.#rejections.add(new DoomedGroup(group, reason));
    }
    cancels.send();
    this.#rejections.run(began);
  }

  #fired(first: Listening | undefined): void {
    const began = performance.now();
    this.#sender.flush();
    const cancels = new CancelList(this.#native, this.#submission);
    for (let one = first; one; one = one.next) addListening(cancels, one);
    cancels.send();
    this.#rejections.add(new DoomedListeners(first));
    this.#rejections.run(began);
  }

  #cancelAborted(uses: readonly GroupUse[]): void {
    const began = performance.now();
    const cancels = new CancelList(this.#native, this.#submission);
    // Usually many consecutive requests have the same signal.
    let last: StopSignal | undefined;
    let aborted = false;
    for (const { group, waiters } of uses) {
      if (group.waiters !== waiters) continue;
      let any = false;
      for (let position = 0; position < group.count; position++) {
        const signal = waiters[position] && group.requestOf(position)?.signal;
        if (signal === undefined) continue;
        if (signal !== last) aborted = isAborted((last = signal));
        if (!aborted) continue;
        cancels.add(group, position);
        any = true;
      }
      if (any) this.#rejections.add(new DoomedGroup(group, bySignal));
    }
    cancels.send();
    this.#rejections.run(began);
  }
}
