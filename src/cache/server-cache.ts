/** A response cache outside of the engine, as the server that it belongs to uses it. */

import type { NativeServer } from '../addon/native/server.js';

/** It is opened before the server's engine is created, then attached to it, and closed after it. */
export interface ServerCache {
  /** Whether the cache answers. */
  readonly up: boolean;
  /** @throws {@link TritonError} UNAVAILABLE if the environment has no memory or no thread for it. */
  attach(server: NativeServer): void;
  /** Stores what is left, and ends the cache. The engine has closed before, so nobody waits for a look-up. */
  close(): Promise<void>;
}
