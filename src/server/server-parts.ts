/** The parts that a server is made of, when it is created or attached. */

import type { NativeServer } from '../addon/native/server.js';
import type { ServerCache } from '../cache/server-cache.js';
import type { EngineConnection } from '../dispatch/engine-connection.js';
import type { ModelKey } from '../model-key.js';
import type { Registry } from '../registry/registry.js';
import type { SharedOptions } from '../server-handle.js';
import type { TracingParts } from './trace/server-trace.js';

/** See the head of this file. */
export interface ServerParts extends SharedOptions {
  readonly native: NativeServer;
  readonly connection: EngineConnection;
  /** Loads and unloads models; undefined for a connection to another environment's server. */
  readonly registry: Registry | undefined;
  /** The response cache outside of the engine; undefined: there is none, or another environment has it. */
  readonly cache?: ServerCache | undefined;
  /** Whether models are loaded and unloaded on request. */
  readonly explicit: boolean;
  /** How many bytes requests may hold that wait for the loads of lazy models. */
  readonly waiting: number;
  /** How requests are traced at the start; undefined for a connection to another environment's server. */
  readonly tracing: TracingParts | undefined;
  /** Returns the engine's number of the batch of a model that makes a call, where the call does not say it; 0: none. */
  readonly caller?: (() => number) | undefined;
  /** The model whose thread has the connection; undefined: the thread is the program's. */
  readonly by?: ModelKey | undefined;
  /** The repositories of the server, for messages; undefined for a connection. */
  readonly repositories: readonly string[] | undefined;
  /**
   * Returns the devices that instances can be on. It is called only when needed, because finding GPUs takes a
   * while.
   */
  readonly devices: () => readonly string[];
}
