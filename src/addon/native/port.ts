/** An environment's connection to a server: slabs, slots, pages, and the wake-up of its event loop. */

import type { NativeStatus } from './status.js';

/** This environment's connection to an engine; see `native/binding/port_wrap.h`. */
export interface NativePort {
  /** Whether memory is shared with JavaScript. If not, use the methods that take or return copies. */
  external(): boolean;
  header(): ArrayBuffer;
  submission(): ArrayBuffer;
  /** Adds a slab. Returns false if there is no memory. */
  addSlab(): boolean;
  slab(number: number): ArrayBuffer;
  /**
   * Copies a large input of a request to the version `uid` into native memory. Returns the block's id, or -1 if
   * there is no memory.
   */
  stage(bytes: ArrayBufferView, uid: number): number;
  unstage(id: number): void;
  /**
   * Submits requests to the engine.
   *
   * @param run - Whether batches that are known to be short run before this returns.
   * @returns A refusal, or how many pages of responses the header now lists. No signal announces these pages.
   */
  submit(words: number, run: boolean): NativeStatus | number;
  submitCopies(
    words: number,
    run: boolean,
    submission: Int32Array,
    slabs: readonly Uint8Array[],
  ): NativeStatus | number;
  /**
   * Polls for responses for a few microseconds, if that is likely to pay. Call it after a submission.
   *
   * @returns How many pages the header now lists, {@link lookAgain} or {@link looksNoMore}. Unless it is
   *   {@link looksNoMore}, no signal announces the next pages, and the caller must poll again in the event
   *   loop's next turn.
   */
  look(): number;
  cancel(slot: number, generation: number, first: number, count: number): void;
  /**
   * Cancels many requests. The list has `words` words and lies in the submission area, which must be empty. If
   * memory is not shared, it is passed as `submission`. Each entry is a slot, its generation, the first request
   * and a count.
   */
  cancelMany(words: number, submission?: Int32Array): void;
  /** Drops a slab in which no request has a range. `addSlab` reuses the lowest free number. */
  dropSlab(number: number): void;
  /**
   * Frees memory that remained after a burst. Existing views of pages become stale, except those of pages
   * handed out since.
   */
  shrink(): void;
  page(id: number): ArrayBuffer;
  copyPage(id: number, target: Uint8Array): void;
  /**
   * Takes an output that is too large for its page, without a copy; undefined if external memory is forbidden,
   * or if too much of it is in use.
   */
  takeLarge(page: number, number: number): ArrayBuffer | undefined;
  /** The size of such an output in bytes. */
  largeBytes(page: number, number: number): number;
  /** Copies such an output to `target`, which must have its size. */
  copyLarge(page: number, number: number, target: Uint8Array): void;
  /** Gives a page back. Returns false if the engine does not keep it. */
  recycle(id: number): boolean;
  /**
   * Reports that a caller has read responses to a request of a decoupled model. The request may have ended.
   *
   * @param bytes - The bytes that they count: {@link streamedBytes} for each response, and their outputs.
   */
  read(slot: number, generation: number, position: number, responses: number, bytes: number): void;
  acknowledge(epoch: number): void;
  headerWord(index: number): number;
  ref(): void;
  unref(): void;
  detach(): void;
}

/** `NativePort.look`: no response yet; poll again. */
export const lookAgain = -1;

/** `NativePort.look`: stop polling; a signal announces the next pages. */
export const looksNoMore = -2;
