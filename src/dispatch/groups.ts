/**
 * A dispatcher's groups: those that are free, and the one that takes more requests like its own.
 *
 * For how many requests a group gets room is what the version's groups before had use for: it doubles when there was not
 * enough, and halves when there was far too much.
 */

import { TritonError } from '../errors.js';
import type { EncodedInputs } from '../tensor/encoded.js';
import { copyInto } from '../tensor/views.js';
import { Group, nobody } from './group.js';
import type { Submission } from './submission.js';
import type { DispatchRequest, DispatchTarget, Waiter } from './types.js';

/** For so many requests there is room at most. */
const mostRoom = 1024;
/** Free groups that are kept when nothing is in flight. */
const keptGroups = 1024;

/** Who counts the requests that are sent. */
export interface SentCounter {
  /** So many more are, as a group. */
  sent(count: number): void;
}

/** See the head of this file. One a dispatcher. */
export class Groups {
  /** All there are, by index. */
  readonly all: Group[] = [];
  readonly #submission: Submission;
  readonly #counter: SentCounter;
  /** Last in, first out: the few that are used again and again stay in the processor's caches. */
  readonly #free: Group[] = [];
  /** So many of these have a range in a slab. */
  #freeRanges = 0;
  /** The group that takes more requests like its own; it is not written yet. */
  #open: Group | undefined;
  /** Groups whose records the engine does not have yet. */
  readonly #written: Group[] = [];
  /** No two uses of a group have the same. */
  #generation = 0;
  #inFlight = 0;

  constructor(submission: Submission, counter: SentCounter) {
    this.#submission = submission;
    this.#counter = counter;
  }

  /**
   * Adds a request to the open group, or to a new one. It is the last one of the group that comes back.
   *
   * @param encoded - Copied before this returns; none of the caller's code runs in here.
   * @throws {TritonError} UNAVAILABLE without memory, INVALID_ARG where it is too big for a record, or where another
   *   thread has just made an array longer; then nothing is kept.
   */
  add(
    target: DispatchTarget,
    encoded: EncodedInputs,
    request: DispatchRequest,
    waiter: Waiter<unknown>,
  ): Group {
    let group = this.#open;
    if (
      group === undefined ||
      group.target !== target ||
      group.count === group.room ||
      !isAlike(group, encoded, request)
    ) {
      group = this.#openFor(target, encoded, request);
    } else if (group.request !== request) {
      (group.requests ??= new Array<DispatchRequest | undefined>(group.room))[group.count] = request;
    }
    const { data } = encoded;
    const { views, lengths } = group;
    try {
      for (let i = 0; i < data.length; i++) {
        const source = data[i];
        const view = views[i];
        if (source !== undefined && view !== undefined)
          copyInto(view, source, group.count * (lengths[i] ?? 0));
      }
    } catch (error) {
      throw this.#grown(group, target, error);
    }
    group.waiters[group.count++] = waiter;
    return group;
  }

  /** Requests that were sent, and that the engine has not ended. */
  get inFlight(): number {
    return this.#inFlight;
  }

  /** Whether there is no request, sent or not. */
  get none(): boolean {
    return this.#inFlight === 0 && this.#open === undefined;
  }

  /** The engine is through with so many requests of a group. */
  ended(group: Group, count: number): void {
    this.#inFlight -= count;
    group.left -= count;
    if (group.left === 0) this.release(group);
  }

  /** Nobody takes the group: forgets its blocks, which the engine still has. */
  unstage(group: Group): void {
    this.#submission.unstage(group);
  }

  /** There is no engine any more that could end any. */
  forgetAll(): void {
    this.#inFlight = 0;
  }

  /** Writes the open group, which takes no more from then on. No request is under way. */
  close(): void {
    this.#open?.target?.releaseInputs();
    this.#close();
  }

  #close(): void {
    const group = this.#open;
    if (group?.target === undefined) return;
    this.#open = undefined;
    const { target } = group;
    if (group.count === 0) {
      this.release(group);
      return;
    }
    if (group.count <= target.groupRoom / 4) target.groupRoom /= 2;
    group.left = group.count;
    this.#inFlight += group.count;
    this.#counter.sent(group.count);
    this.write(group, target);
  }

  /** Writes a group's record, for the version that it is sent to. */
  write(group: Group, target: DispatchTarget): void {
    group.target = target;
    this.#generation = group.generation = (this.#generation + 1) & 0x3fffffff;
    this.#submission.write(group, target);
    this.#written.push(group);
  }

  /** The engine has the groups that were written. */
  forgetWritten(): void {
    this.#written.length = 0;
  }

  /** The groups that were written since. */
  takeWritten(): Group[] {
    return this.#written.splice(0);
  }

  /** Gives back what the requests of a group had. */
  release(group: Group): void {
    group.target = group.request = group.requests = group.listening = group.stacks = undefined;
    group.waiters = nobody;
    group.count = 0;
    group.hasSignals = false;
    // It keeps its range in a slab for the next one that is like this.
    if (group.index >= this.all.length) {
      this.#submission.free(group);
      return;
    }
    this.#free.push(group);
    if (group.rangeBytes > 0) this.#freeRanges++;
  }

  /** Nothing is in flight: lets go of what a burst has left behind. */
  trim(): void {
    this.reclaim();
    if (this.all.length > keptGroups) {
      this.all.length = keptGroups;
      const kept = this.#free.filter(({ index }) => index < keptGroups);
      this.#free.length = 0;
      this.#free.push(...kept);
    }
    // They would keep the memory of slabs that are dropped.
    for (const { views } of this.all) views.length = 0;
    this.#submission.trim();
  }

  /** Whether there is more than {@link trim} leaves. */
  get isLarge(): boolean {
    return this.all.length > keptGroups || this.#submission.isLarge;
  }

  /** Gives back the ranges of groups that are free. */
  reclaim(): void {
    if (this.#freeRanges === 0) return;
    this.#freeRanges = 0;
    for (const group of this.#free) this.#submission.free(group);
  }

  /** An input does not fit where it was to be copied. Apart, so that `add` stays short enough for V8 to inline. */
  #grown(group: Group, target: DispatchTarget, cause: unknown): TritonError {
    // Nobody flushes a group that nothing was sent with.
    if (group.count === 0) {
      this.#open = undefined;
      this.release(group);
    }
    const message = `model '${target.name}': an input was made longer by another thread while it was copied`;
    return new TritonError('INVALID_ARG', message, { model: target.name, cause });
  }

  /** An empty group for requests like this one. */
  #openFor(target: DispatchTarget, encoded: EncodedInputs, request: DispatchRequest): Group {
    const full = this.#open;
    if (full?.target !== undefined && full.count === full.target.groupRoom) {
      full.target.groupRoom = Math.min(mostRoom, 2 * full.count);
    }
    if (full?.target !== target) full?.target?.releaseInputs();
    this.#close();
    const rows = target.rowsOf(encoded);
    const group = this.#free.pop() ?? this.#make();
    // A new one has none.
    if (group.rangeBytes > 0) this.#freeRanges--;
    const { shapes, byteLengths } = group;
    // Its range is right for the same inputs of the same version.
    let placed =
      group.placed === target && group.room === this.#submission.roomOf(encoded.byteLengths, target);
    for (let i = 0; i < encoded.shapes.length; i++) {
      const length = encoded.byteLengths[i] ?? 0;
      placed &&= byteLengths[i] === length && (shapes[i] === undefined) === (encoded.shapes[i] === undefined);
      shapes[i] = encoded.shapes[i];
      byteLengths[i] = length;
    }
    shapes.length = byteLengths.length = encoded.shapes.length;
    group.rows = rows;
    group.request = request;
    try {
      if (!placed) this.#submission.place(group, target, encoded);
      placed = true;
    } finally {
      if (!placed) this.release(group);
    }
    group.target = target;
    group.waiters = new Array<Waiter<unknown> | undefined>(group.room);
    this.#open = group;
    return group;
  }

  #make(): Group {
    const group = new Group(this.all.length);
    this.all.push(group);
    return group;
  }
}

/** Whether a request differs from those of a group in its bytes alone. */
function isAlike(group: Group, encoded: EncodedInputs, request: DispatchRequest): boolean {
  const first = group.request;
  if (first !== request) {
    if (first === undefined || first.pinned !== request.pinned) return false;
    if (first.wanted !== request.wanted && !areEqual(first.wanted, request.wanted)) return false;
  }
  const { shapes, byteLengths } = encoded;
  for (let i = 0; i < shapes.length; i++) {
    // Of strings the shape does not tell the bytes.
    if (byteLengths[i] !== group.byteLengths[i]) return false;
    if (shapes[i] !== group.shapes[i] && !areEqual(shapes[i], group.shapes[i])) return false;
  }
  return true;
}

function areEqual(one: readonly number[] | undefined, other: readonly number[] | undefined): boolean {
  if (one === undefined || other === undefined) return one === other;
  if (one.length !== other.length) return false;
  for (let i = 0; i < one.length; i++) if (one[i] !== other[i]) return false;
  return true;
}
