/** An instance of a JavaScript model, as its thread has it. */

/** An instance of a JavaScript model; see `native/binding/instance_wrap.h` for the words. */
export interface NativeInstance {
  /** Sets the memory for words and bytes, which JavaScript made. */
  setMemory(words: ArrayBuffer, bytes: ArrayBuffer): boolean;
  /** From now on it gets batches. */
  up(): void;
  /**
   * Takes the next batch. Its words are in the memory, and its large inputs in `objects`.
   *
   * @param spin - Whether to look for a batch for a moment, if that is worth it.
   * @returns The number of words, {@link instanceAsleep}, {@link instanceClosed}, {@link instanceNeedsMemory}
   *   or {@link instanceAgain}.
   */
  next(objects: unknown[], spin: boolean): number;
  /** Fails the batch that {@link next} needs memory for, because there is none. */
  refuse(): void;
  /**
   * Gives results of a batch.
   *
   * @param last - Whether the batch has ended.
   * @returns False if the words are malformed.
   */
  answer(slot: number, words: number, objects: readonly unknown[], last: boolean): boolean;
  /** Whether the caller of a request, which has no result yet, has given it up. */
  cancelled(slot: number, request: number): boolean;
  /** Tells that `execute` has returned from a batch whose responses follow. The instance may get another one. */
  part(slot: number): void;
  /**
   * How many responses may be sent to a request now, so that its caller has not too many to read. 0: none, and
   * the wake-up tells when the request is one of {@link readers}. -1: nobody reads.
   */
  room(slot: number, request: number): number;
  /**
   * Writes the requests that may go on to the memory: slot and position of each.
   *
   * @returns How many there are. -1: each one is to be looked at.
   */
  readers(): number;
  /** A number for calls that a request (-1: any) of a batch makes, until that ends; 0: it has ended. */
  caller(slot: number, request: number): number;
  /** Detaches large inputs. */
  detachBuffers(buffers: readonly ArrayBuffer[]): void;
  /** Ends the connection. What it has not answered fails. */
  detach(): void;
}

/** `NativeInstance.next`: there is no batch, and the wake-up will tell of one. */
export const instanceAsleep = 0;

/** `NativeInstance.next`: there will be no batch any more. */
export const instanceClosed = -1;

/** `NativeInstance.next`: the first two words of the memory say how many words and bytes the batch needs. */
export const instanceNeedsMemory = -2;

/** `NativeInstance.next`: the batch has ended meanwhile. Ask again. */
export const instanceAgain = -3;
