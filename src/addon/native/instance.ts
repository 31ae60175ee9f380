/** An instance of a JavaScript model, as its thread sees it. */

/** An instance of a JavaScript model; `native/binding/instance_wrap.h` documents the format of the words. */
export interface NativeInstance {
  /** Sets the memory for words and bytes, which JavaScript allocated. */
  setMemory(words: ArrayBuffer, bytes: ArrayBuffer): boolean;
  /** Marks the instance as ready: from now on it receives batches. */
  up(): void;
  /**
   * Takes the next batch. Its words are written to the memory, and its large inputs to `objects`.
   *
   * @param spin - Whether to spin briefly for a batch, if that is likely to pay.
   * @returns The number of words, {@link instanceAsleep}, {@link instanceClosed}, {@link instanceNeedsMemory}
   *   or {@link instanceAgain}.
   */
  next(objects: unknown[], spin: boolean): number;
  /**
   * Fails the batch for which {@link next} returned {@link instanceNeedsMemory}, because JavaScript has no
   * memory for it.
   */
  refuse(): void;
  /**
   * Passes results of a batch to the engine.
   *
   * @param last - Whether the batch has ended.
   * @returns False if the words are malformed.
   */
  answer(slot: number, words: number, objects: readonly unknown[], last: boolean): boolean;
  /** Whether the caller has cancelled a request that has no result yet. */
  cancelled(slot: number, request: number): boolean;
  /**
   * Reports that `execute` has returned from a batch whose responses follow later. The instance may receive its
   * next batch.
   */
  part(slot: number): void;
  /**
   * How many responses may be sent to a request now without leaving its caller too many to read. 0: none; the
   * instance is woken when {@link readers} lists the request. -1: nobody reads the responses.
   */
  room(slot: number, request: number): number;
  /**
   * Writes to the memory the slot and position of each request that may continue.
   *
   * @returns The number of requests. -1: all batches were ended; check every request.
   */
  readers(): number;
  /** A number for the calls that a request of a batch (-1: any request) makes until it ends; 0: it has ended. */
  caller(slot: number, request: number): number;
  /** Detaches large inputs. */
  detachBuffers(buffers: readonly ArrayBuffer[]): void;
  /** Ends the connection. Requests without an answer fail. */
  detach(): void;
}

/** `NativeInstance.next`: there is no batch; the instance is woken when there is one. */
export const instanceAsleep = 0;

/** `NativeInstance.next`: there will be no further batch. */
export const instanceClosed = -1;

/** `NativeInstance.next`: the first two words of the memory say how many words and bytes the batch needs. */
export const instanceNeedsMemory = -2;

/** `NativeInstance.next`: the batch ended in the meantime. Call it again. */
export const instanceAgain = -3;
