/** The owner's side of a response cache outside of the engine. */

import type { NativeStatus } from './status.js';

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

/** The state of a plug-in of Triton; see `native/plugins/cache_owner.h`. */
export interface NativePluginCacheState {
  /** Whether it was opened, or could not be. */
  readonly opened: boolean;
  /** Why it could not be. */
  readonly fault: NativeStatus | null;
  /** Whether all its threads have ended. */
  readonly ended: boolean;
  /** Whether look-ups are answered. */
  readonly up: boolean;
  /** What has happened since the last call, for the log: texts that follow the cache's name. */
  readonly notes: readonly string[];
}

/** See `native/binding/plugin_cache_wrap.h`. */
export interface NativePluginCache {
  /** Not called after {@link detach}. */
  state(): NativePluginCacheState;
  /** Stores what is left, and ends the plug-in's cache. The state tells when that is done. */
  close(): void;
  /** Requests that wait for a look-up go on, and threads that do not return are left alone. */
  detach(): void;
}
