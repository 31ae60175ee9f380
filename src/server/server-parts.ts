/** What a server is made of, by whoever starts it or connects to it. */

import type { NativeServer } from '../addon/native.js';
import type { Dispatcher } from '../dispatch/dispatcher.js';
import type { Registry } from '../registry/registry.js';

/** See the head of this file. */
export interface ServerParts {
  readonly native: NativeServer;
  readonly dispatcher: Dispatcher;
  /** Of the server that was created here; undefined: it is connected to one of another environment. */
  readonly registry: Registry | undefined;
  /** Whether models are loaded and unloaded on request. */
  readonly explicit: boolean;
  readonly captureStacks: boolean;
  /** Whose models it serves, for messages. */
  readonly repositories: readonly string[] | undefined;
  /** What instances can be on. Asked when it is needed: to find GPUs takes a while. */
  readonly devices: () => readonly string[];
}
