/**
 * The groups of this environment: the free ones, and the open one that accepts more requests like its first.
 *
 * A new group gets room for as many requests as the version's recent groups had. The room doubles if a group
 * was full, and halves if most of it was unused.
 */

import { TritonError } from '../../errors.js';
import type { EncodedInputs } from '../../tensor/encoded.js';
import { copyInto, type WireArray } from '../../tensor/views.js';
import { Group, nobody } from './group.js';
import type { Submission } from './submission.js';
import type { DispatchRequest, DispatchTarget, Waiter } from '../types.js';

/** The maximum room of a group, in requests. */
export const mostRoom = 1024;
/** How many free groups are kept when nothing is in flight. */
const keptGroups = 1024;

/** Counts sent requests. */
export interface SentCounter {
  /** Adds `count` requests, which are sent as a group. */
  sent(count: number): void;
}

/** Compares inputs with those of a group. `InputEncoder` does it. */
export interface AlikeInputs {
  /** See `InputEncoder.isAlike`. */
  isAlike(
    values: readonly unknown[],
    lengths: readonly number[],
    present: readonly unknown[],
  ): values is readonly (WireArray | undefined)[];
}

/** See the head of this file. An engine connection has one. */
export class Groups {
  /** All groups by index. */
  readonly all: Group[] = [];
  readonly #submission: Submission;
  readonly #counter: SentCounter;
  /** A stack: the few groups at its top are reused again and again, and stay in the processor's caches. */
  readonly #free: Group[] = [];
  /** How many of the free groups have a range in a slab. */
  #freeRanges = 0;
  /** The group that accepts more requests like its first. Its record is not written yet. */
  #open: Group | undefined;
  /** Groups whose records are written but not yet submitted. */
  readonly #written: Group[] = [];
  /** The last generation; each use of a group gets a new one. */
  #generation = 0;
  #inFlight = 0;

  constructor(submission: Submission, counter: SentCounter) {
    this.#submission = submission;
    this.#counter = counter;
  }

  /**
   * Adds a request to the open group, or to a new one. Returns the group; the request is its last.
   *
   * @param encoded - Copied before this returns. No code of the caller runs in this method.
   * @param shape - See `EngineConnection.send`. Without it, `encoded` has the request's inputs.
   * @throws {@link TritonError} UNAVAILABLE if there is no memory; INVALID_ARG if the request is too large for
   *   a record, or if another thread has just made its array longer. The request is then not kept.
   */
  add(
    target: DispatchTarget,
    encoded: EncodedInputs,
    request: DispatchRequest,
    waiter: Waiter<unknown>,
    shape: readonly number[] | undefined,
    data: WireArray | undefined,
  ): Group {
    const group = this.#open;
    if (group === undefined || group.target !== target || group.count === group.room) {
      return this.#addEncoded(target, encoded, request, waiter, shape, data);
    }
    const view = group.views[0];
    if (group.request !== request || group.shapes[0] !== shape || data === undefined || view === undefined) {
      return this.#addEncoded(target, encoded, request, waiter, shape, data);
    }
    try {
      copyInto(view, data, group.count * (group.lengths[0] ?? 0));
    } catch (error) {
      throw this.#grown(group, target, error);
    }
    group.waiters[group.count++] = waiter;
    return group;
  }

  /**
   * Adds a request with several inputs, if these are typed arrays as those of the open group's requests; undefined: they are not, and
   * nothing was added.
   *
   * @throws {@link TritonError} As {@link add}.
   */
  addAlike(
    target: DispatchTarget,
    inputs: AlikeInputs,
    values: readonly unknown[],
    request: DispatchRequest,
    waiter: Waiter<unknown>,
  ): Group | undefined {
    const group = this.#open;
    if (group === undefined || group.target !== target || group.count === group.room) return undefined;
    if (group.request !== request || !group.byLength) return undefined;
    if (!inputs.isAlike(values, group.lengths, group.views)) return undefined;
    this.#append(group, target, values, waiter);
    return group;
  }

  /** {@link add} for a request that must be compared with the open group, or that needs another one. */
  #addEncoded(
    target: DispatchTarget,
    encoded: EncodedInputs,
    request: DispatchRequest,
    waiter: Waiter<unknown>,
    shape: readonly number[] | undefined,
    only: WireArray | undefined,
  ): Group {
    if (shape !== undefined && only !== undefined) encoded.setOnly(shape, only);
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
    this.#append(group, target, encoded.data, waiter);
    return group;
  }

  /** Copies a request's inputs to its place in the group, where it is the last. */
  #append(
    group: Group,
    target: DispatchTarget,
    data: readonly (WireArray | undefined)[],
    waiter: Waiter<unknown>,
  ): void {
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
  }

  /** Number of requests that were sent and have not ended. */
  get inFlight(): number {
    return this.#inFlight;
  }

  /** Whether there is no request, neither sent nor open. */
  get none(): boolean {
    return this.#inFlight === 0 && this.#open === undefined;
  }

  /** Records that the engine has ended `count` requests of a group. */
  ended(group: Group, count: number): void {
    this.#inFlight -= count;
    group.left -= count;
    if (group.left === 0) this.release(group);
  }

  /** Drops the blocks of a group that no version accepts. The engine still has them staged. */
  unstage(group: Group): void {
    this.#submission.unstage(group);
  }

  /** Forgets all requests, because no engine remains to end them. */
  forgetAll(): void {
    this.#inFlight = 0;
  }

  /**
   * Writes the open group, which then accepts no more requests. No request may be in the middle of being added.
   */
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

  /** Writes a group's record for the version that it is sent to. */
  write(group: Group, target: DispatchTarget): void {
    group.target = target;
    this.#generation = group.generation = (this.#generation + 1) & 0x3fffffff;
    this.#submission.write(group, target);
    this.#written.push(group);
  }

  /** Records that the engine has accepted the written groups. */
  forgetWritten(): void {
    // Assigning the length is a call into V8's runtime, which also drops the array's memory.
    while (this.#written.length > 0) this.#written.pop();
  }

  /** Removes and returns the groups written since the last submission. */
  takeWritten(): Group[] {
    return this.#written.splice(0);
  }

  /** Frees a group whose requests have ended. */
  release(group: Group): void {
    group.target = group.request = group.requests = group.listening = group.stacks = undefined;
    group.waiters = nobody;
    group.count = 0;
    group.hasSignals = false;
    // A kept group keeps its range, for the next requests of the same form.
    if (group.index >= this.all.length) {
      this.#submission.free(group);
      return;
    }
    this.#free.push(group);
    if (group.rangeBytes > 0) this.#freeRanges++;
  }

  /** Frees memory that remained after a burst. No request may be in flight. */
  trim(): void {
    this.reclaim();
    if (this.all.length > keptGroups) {
      this.all.length = keptGroups;
      const kept = this.#free.filter(({ index }) => index < keptGroups);
      this.#free.length = 0;
      this.#free.push(...kept);
    }
    // Views would keep the memory of dropped slabs alive.
    for (const { views } of this.all) views.length = 0;
    this.#submission.trim();
  }

  /** Whether there is more memory than {@link trim} leaves. */
  get isLarge(): boolean {
    return this.all.length > keptGroups || this.#submission.isLarge;
  }

  /** Frees the ranges of free groups. */
  reclaim(): void {
    if (this.#freeRanges === 0) return;
    this.#freeRanges = 0;
    for (const group of this.#free) this.#submission.free(group);
  }

  /**
   * The error for an input that became too long for its place. This is a separate method so that `add` stays
   * short enough for V8 to inline.
   */
  #grown(group: Group, target: DispatchTarget, cause: unknown): TritonError {
    // The next request gets this position, and possibly the group's options.
    if (group.requests) group.requests[group.count] = undefined;
    // Nothing was added to the group, so no flush would free it.
    if (group.count === 0) {
      this.#open = undefined;
      this.release(group);
    }
    const message = `model '${target.name}': another thread enlarged an input's buffer while it was copied`;
    return new TritonError('INVALID_ARG', message, { model: target.name, cause });
  }

  /** An empty group for requests like this one. */
  #openFor(target: DispatchTarget, encoded: EncodedInputs, request: DispatchRequest): Group {
    const full = this.#open;
    if (full?.target !== undefined && full.count === full.target.groupRoom) {
      full.target.groupRoom = Math.min(full.target.mostRoom, 2 * full.count);
    }
    if (full?.target !== target) full?.target?.releaseInputs();
    this.#close();
    const rows = target.rowsOf(encoded);
    const group = this.#free.pop() ?? this.#make();
    // A new group has no range.
    if (group.rangeBytes > 0) this.#freeRanges--;
    const { shapes, byteLengths } = group;
    // The range of a free group fits requests for the same version and with the same byte sizes.
    let placed =
      group.placed === target &&
      request.regions === undefined &&
      group.room === this.#submission.roomOf(encoded, target, request);
    for (let i = 0; i < encoded.shapes.length; i++) {
      const length = encoded.byteLengths[i] ?? 0;
      placed &&= byteLengths[i] === length && (shapes[i] === undefined) === (encoded.shapes[i] === undefined);
      shapes[i] = encoded.shapes[i];
      byteLengths[i] = length;
    }
    // Assigning a length is a call into V8's runtime, so it is assigned only if it changes.
    if (shapes.length !== encoded.shapes.length) {
      shapes.length = byteLengths.length = encoded.shapes.length;
    }
    group.rows = rows;
    group.byLength = encoded.byLength;
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

/** Whether a request differs from a group's requests only in its bytes and its sequence. */
function isAlike(group: Group, encoded: EncodedInputs, request: DispatchRequest): boolean {
  const first = group.request;
  if (first !== request) {
    if (first === undefined || first.pinned !== request.pinned) return false;
    if (first.regions !== request.regions) return false;
    if ((first.sequence === undefined) !== (request.sequence === undefined)) return false;
    if (first.wanted !== request.wanted && !areEqual(first.wanted, request.wanted)) return false;
    if (first.attributes !== request.attributes && !areEqual(first.attributes, request.attributes))
      return false;
  }
  const { shapes, byteLengths } = encoded;
  for (let i = 0; i < shapes.length; i++) {
    // For strings, equal shapes do not imply equal byte sizes.
    if (byteLengths[i] !== group.byteLengths[i]) return false;
    if (shapes[i] !== group.shapes[i] && !areEqual(shapes[i], group.shapes[i])) return false;
  }
  return true;
}

/** Numbers in order, in an array of either kind. */
interface Numbers {
  readonly length: number;
  readonly [index: number]: number;
}

function areEqual(one: Numbers | undefined, other: Numbers | undefined): boolean {
  if (one === undefined || other === undefined) return one === other;
  if (one.length !== other.length) return false;
  for (let i = 0; i < one.length; i++) if (one[i] !== other[i]) return false;
  return true;
}
