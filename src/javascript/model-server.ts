/** What the models of a server have of it. */

import type { ModelServer } from '../api/server.js';
import type { OwnHandle } from '../server-handle.js';
import type { ResolvedOptions } from '../options.js';
import type { Asker } from './asker.js';

/** The server of models on their owner's side. */
export interface ModelHost {
  /** Of the server; undefined where models are only looked at, and none can be called. */
  readonly handle: OwnHandle | undefined;
  /**
   * The server itself.
   *
   * @throws {@link TritonError} UNAVAILABLE if there is none any more.
   */
  server(): ModelServer;
}

/** The server of one model's versions. */
export interface VersionHost extends ModelHost {
  /** The model as one that asks the server for loads and unloads. */
  readonly asker: Asker;
}

/** What a model's thread connects to a server with. It can be cloned to another thread. */
export interface Connection {
  readonly handle: OwnHandle;
  /** How to find the server's devices. */
  readonly options: Pick<ResolvedOptions, 'backendConfig' | 'instanceKind' | 'minSupportedComputeCapability'>;
}
