/** The owner's side of a response cache outside of the engine. */

/** See `native/binding/cache_wrap.h`. */
export interface NativeCache {
  /** All that was asked since the last call; undefined: nothing was. */
  lookups(): { readonly batch: number; readonly keys: readonly string[] } | undefined;
  /** All that is to be stored since the last call. */
  entries(): readonly { readonly key: string; readonly value: Uint8Array }[];
  /**
   * Gives a batch what was found, by position; undefined: the look-up has failed. Nothing happens if the batch had its
   * results before. Nobody may write to the bytes meanwhile.
   */
  answer(batch: number, values: readonly (Uint8Array | undefined | null)[] | undefined): void;
  /** Whether the engine asks from now on: always, never, or once. */
  setMode(mode: 'open' | 'paused' | 'probe'): void;
  /** Requests that wait for a look-up go on, and nothing is asked any more. */
  detach(): void;
}
