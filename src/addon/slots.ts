/**
 * A port's slots: those that are free, and the one that takes more requests like its own.
 *
 * Requests of a tick that follow each other and differ in their bytes alone are parts of one slot. How many get room is
 * what the model's slots before had use for: it doubles when there was not enough.
 */

import type { OnlyInput } from '../tensor/only-input.js';
import type { TypedArray } from '../tensor/types.js';
import { copyInto } from '../tensor/views.js';
import { slabMostBytes, slabRangeBytes } from './layout.js';
import type { PortRequest, PortTarget, Waiter } from './port-types.js';
import { nobody, Slot } from './slot.js';
import type { Submission } from './submission.js';

/** For so many requests alike there is room at most. */
const mostRoom = 1024;

/** See the head of this file. One a port. */
export class Slots {
  /** All there are, by index. */
  readonly all: Slot[] = [];
  readonly #submission: Submission;
  readonly #joins: boolean;
  /** Last in, first out: the few that have room for many requests are used again and again. */
  readonly #free: Slot[] = [];
  /** The slot that takes more requests like its own; it is not written yet. */
  #open: Slot | undefined;

  /** @param joins - Whether requests may share slots. */
  constructor(submission: Submission, joins: boolean) {
    this.#submission = submission;
    this.#joins = joins;
  }

  take(): Slot {
    const free = this.#free.pop();
    if (free !== undefined) return free;
    const slot = new Slot(this.all.length);
    this.all.push(slot);
    return slot;
  }

  /** Gives back what requests had here. */
  release(slot: Slot): void {
    slot.target = slot.request = slot.requests = undefined;
    slot.waiters = nobody;
    slot.parts = 0;
    this.#submission.free(slot);
    this.#free.push(slot);
  }

  /**
   * Adds a request that is one small input, as a part of the open slot or of a new one.
   *
   * @param value - What `input.rowsOf` returned `rows` for, none of the caller's code having run since.
   * @returns False where it cannot go this way; then nothing is kept.
   * @throws {TritonError} UNAVAILABLE without memory.
   */
  join(
    target: PortTarget,
    input: OnlyInput,
    value: TypedArray,
    rows: number,
    request: PortRequest,
    waiter: Waiter<unknown>,
  ): boolean {
    let slot = this.#open;
    if (
      slot === undefined ||
      slot.fits !== input ||
      slot.rows !== rows ||
      slot.parts === slot.room ||
      (slot.request !== request && !goTogether(slot.request, request))
    ) {
      slot = this.#openFor(target, input, rows, request);
    }
    const view = slot?.view;
    if (slot === undefined || view === undefined) return false;
    try {
      copyInto(view, value, slot.parts * slot.width);
    } catch {
      return false;
    }
    if (slot.request !== request) (slot.requests ??= new Array<PortRequest>(slot.room))[slot.parts] = request;
    slot.waiters[slot.parts++] = waiter;
    return true;
  }

  /** Writes the open slot, which takes no more from then on. */
  close(): void {
    const slot = this.#open;
    if (slot === undefined) return;
    this.#open = undefined;
    const { target, parts } = slot;
    if (target === undefined || parts === 0) {
      this.release(slot);
      return;
    }
    if (parts <= target.joinedRoom / 4) target.joinedRoom /= 2;
    slot.left = parts;
    this.#submission.writeParts(slot, target);
  }

  /** A slot for requests alike, this and more; undefined where they cannot go this way. */
  #openFor(target: PortTarget, input: OnlyInput, rows: number, request: PortRequest): Slot | undefined {
    const full = this.#open;
    // Where it is not for want of memory, or of rows in a batch.
    if (full?.target !== undefined && full.parts === full.target.joinedRoom) {
      full.target.joinedRoom = Math.min(mostRoom, 2 * full.parts);
    }
    this.close();
    const bytes = input.bytesOf(rows);
    // Those with a signal have a slot of their own.
    if (request.signal !== undefined || !this.#joins || bytes > slabRangeBytes) return undefined;
    const most = Math.min(Math.floor(target.mostJoinedRows / rows), Math.floor(slabMostBytes / bytes));
    const slot = this.take();
    let fits = false;
    try {
      const room = Math.max(1, Math.min(most, target.joinedRoom));
      fits = this.#submission.fit(slot, input, rows, room) || this.#submission.fit(slot, input, rows, 1);
    } finally {
      if (!fits) this.release(slot);
    }
    if (!fits) return undefined;
    slot.target = target;
    slot.request = request;
    slot.waiters = new Array<Waiter<unknown> | undefined>(slot.room);
    this.#open = slot;
    return slot;
  }
}

/** Whether requests may share a slot, which is cancelled as a whole: ids are told apart by part. */
function goTogether(first: PortRequest | undefined, other: PortRequest): boolean {
  return other.signal === undefined && other.owner === first?.owner;
}
