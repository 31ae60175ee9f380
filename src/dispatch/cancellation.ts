/**
 * Requests that nobody wants any more: by their signals, or by whom they belong to.
 *
 * A signal is listened to only where its request is still under way after the flush: to put a listener on costs more than
 * a short run. Until then its state is looked at when the request is made, when it is sent, and when it is delivered.
 */

import type { NativePort } from '../addon/native.js';
import { CancelList } from './cancel-list.js';
import type { TritonError } from '../errors.js';
import { cancelled, withFrames } from './errors.js';
import type { Group } from './group.js';
import type { Groups } from './groups.js';
import { DoomedGroup, type Doomed, type Reason, type Rejections, type Settled } from './rejections.js';
import { isAborted, Signals, type Listening } from './signals.js';
import type { Submission } from './submission.js';
import type { DispatchRequest, Waiter } from './types.js';

/** A group as one tick uses it: when its requests have ended, another one's may have it, with waiters of their own. */
interface GroupUse {
  readonly group: Group;
  readonly waiters: Group['waiters'];
}

/** Groups that were sent while answers were delivered. */
interface Deferred {
  readonly uses: readonly GroupUse[];
  /** Their signals are listened to when so many pages, of all that there ever were, are read. */
  readonly pages: number;
}

/** What is cancelled must have been sent. */
export interface Sender {
  /** Hands the tick's requests to the engine now. */
  flush(): void;
  /** Whether there is no engine any more, and all that was sent is rejected. */
  readonly detached: boolean;
}

const bySignal: Reason = {
  concerns: ({ signal }) => signal !== undefined && isAborted(signal),
  error: (model, { signal }) => cancelled(model, signal),
};

/** Those that listened to a signal that fired. */
class DoomedListeners implements Doomed {
  #listening: Listening | undefined;
  /** Of the next one. */
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

/** See the head of this file. One a dispatcher. */
export class Cancellation {
  readonly #native: NativePort;
  readonly #submission: Submission;
  readonly #groups: Groups;
  readonly #rejections: Rejections;
  readonly #sender: Sender;
  readonly #signals: Signals;
  /** Groups of this tick with requests that have signals, to which they do not listen yet. */
  #unlistened: GroupUse[] = [];
  /** The same of groups that were sent during deliveries; oldest first. */
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
    this.#signals = new Signals((first) => {
      if (!sender.detached) this.#fired(first);
    });
  }

  /** A request with a signal was added to a group, as its first one that has one. */
  added(group: Group): void {
    group.hasSignals = true;
    this.#unlistened.push({ group, waiters: group.waiters });
  }

  /** Requests of a group, neighbours, wait no more. */
  settled(group: Group, first: number, count: number): void {
    this.#signals.forget(group, first, count);
  }

  /** The tick's requests were sent: cancels those whose signals fired before. */
  sent(): readonly GroupUse[] {
    const uses = this.#unlistened;
    if (uses.length === 0) return uses;
    this.#unlistened = [];
    this.#cancelAborted(uses);
    return uses;
  }

  /** Has the requests of groups that are not answered listen to their signals. */
  listen(uses: readonly GroupUse[]): void {
    for (const { group, waiters } of uses) if (group.waiters === waiters) this.#signals.listen(group);
  }

  /** The same, when so many pages are read: what is in them needs no listener any more. */
  listenLater(uses: readonly GroupUse[], pages: number): void {
    if (uses.length > 0) this.#deferred.push({ uses, pages });
  }

  /** So many pages are read. */
  pagesRead(pages: number): void {
    if (this.#deferred.length === 0) return;
    const due = this.#deferred.filter((one) => one.pages <= pages);
    if (due.length === 0) return;
    this.#deferred = this.#deferred.slice(due.length);
    // What was made during the delivery may be written already, where cancellations are written now.
    this.#sender.flush();
    for (const { uses } of due) {
      this.#cancelAborted(uses);
      this.listen(uses);
    }
  }

  /** Cancels the requests in flight that belong to `owner`, which reject. */
  cancelAll(owner: object): void {
    this.#sender.flush();
    const reason: Reason = {
      concerns: (request) => request.owner === owner,
      error: (model) => cancelled(model),
    };
    const cancels = new CancelList(this.#native, this.#submission);
    for (const group of this.#groups.all) {
      if (group.target === undefined) continue;
      let any = false;
      for (let position = 0; position < group.count; position++) {
        if (group.waiters[position] === undefined || group.requestOf(position)?.owner !== owner) continue;
        cancels.add(group, position);
        any = true;
      }
      if (any) this.#rejections.add(new DoomedGroup(group, reason));
    }
    cancels.send();
    this.#rejections.run();
  }

  #fired(first: Listening | undefined): void {
    this.#sender.flush();
    const cancels = new CancelList(this.#native, this.#submission);
    for (let one = first; one; one = one.next) {
      const { group } = one;
      for (let position = one.first; position <= one.last; position++) {
        if (one.has(position)) cancels.add(group, position);
      }
    }
    cancels.send();
    this.#rejections.add(new DoomedListeners(first));
    this.#rejections.run();
  }

  #cancelAborted(uses: readonly GroupUse[]): void {
    const cancels = new CancelList(this.#native, this.#submission);
    // Most often many have the same.
    let last: AbortSignal | undefined;
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
    this.#rejections.run();
  }
}
