/** What an environment has of a server: slab, slots, pages, and its wake. */

import type { NativeStatus } from './status.js';

/** This environment's connection to an engine; see `native/binding/port_wrap.h`. */
export interface NativePort {
  /**
   * Whether memory is shared with JavaScript. If not, it is copied, by the methods that take or return
   * copies.
   */
  external(): boolean;
  header(): ArrayBuffer;
  submission(): ArrayBuffer;
  /** Adds a slab. False without memory. */
  addSlab(): boolean;
  slab(number: number): ArrayBuffer;
  /**
   * Copies a large input of a request to the version `uid` into native memory. Returns the block's id, or -1
   * without memory.
   */
  stage(bytes: ArrayBufferView, uid: number): number;
  unstage(id: number): void;
  /**
   * Hands requests to the engine.
   *
   * @param run - Whether batches that are known to be short run before this returns.
   * @returns A refusal, or how many pages of responses the header lists now. No signal announces these.
   */
  submit(words: number, run: boolean): NativeStatus | number;
  submitCopies(
    words: number,
    run: boolean,
    submission: Int32Array,
    slabs: readonly Uint8Array[],
  ): NativeStatus | number;
  /**
   * Looks for responses for a few microseconds, if that is worth it. It is called after a submission.
   *
   * @returns How many pages the header lists now, {@link lookAgain} or {@link looksNoMore}. Unless it is
   *   the latter, no signal announces the next pages, and the caller has to look again in the event loop's
   *   next turn.
   */
  look(): number;
  cancel(slot: number, generation: number, first: number, count: number): void;
  /**
   * Cancels many requests. The list has `words` words. It lies in the submission area, which must be empty,
   * or in `submission` if memory is not shared. Each entry is a slot, its generation, the first request and a
   * count.
   */
  cancelMany(words: number, submission?: Int32Array): void;
  /** Drops a slab in which no request has a range. `addSlab` uses the lowest free number. */
  dropSlab(number: number): void;
  /**
   * Frees memory that a burst has left. Views of pages are stale afterwards, except of those that were handed
   * out since.
   */
  shrink(): void;
  page(id: number): ArrayBuffer;
  copyPage(id: number, target: Uint8Array): void;
  /**
   * An output that is too big for its page, without a copy; undefined if that is forbidden, or too much
   * memory is out.
   */
  takeLarge(page: number, number: number): ArrayBuffer | undefined;
  /** The size of that output in bytes. */
  largeBytes(page: number, number: number): number;
  /** Copies that output to `target`, which has its size. */
  copyLarge(page: number, number: number, target: Uint8Array): void;
  /** Gives a page back. False if it is not kept. */
  recycle(id: number): boolean;
  /**
   * Tells that a caller has read responses to a request of a decoupled model. The request may have ended.
   *
   * @param bytes - What they count: {@link streamedBytes} and their outputs.
   */
  read(slot: number, generation: number, position: number, responses: number, bytes: number): void;
  acknowledge(epoch: number): void;
  headerWord(index: number): number;
  ref(): void;
  unref(): void;
  detach(): void;
}

/** `NativePort.look` found nothing yet. */
export const lookAgain = -1;

/** `NativePort.look` leaves it to the signal. */
export const looksNoMore = -2;
