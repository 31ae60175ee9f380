/** A server as its models see it. */

import type { ModelServer } from '../api/server.js';
import type { ModelKey } from '../model-key.js';
import type { OwnHandle } from '../server-handle.js';
import type { ResolvedOptions } from '../options.js';
import type { Asker } from './asker.js';

/** The server of models, in the environment of the owner. */
export interface ModelHost {
  /** The server's handle; undefined while a repository is only checked, and no model can be called. */
  readonly handle: OwnHandle | undefined;
  /**
   * The server itself.
   *
   * @throws {@link TritonError} UNAVAILABLE if the server is gone.
   */
  server(): ModelServer;
  /**
   * Loads a lazy model that a model is going to call, unless it is served.
   *
   * @throws {@link TritonError} Why it cannot be loaded.
   */
  wake(key: ModelKey): Promise<void>;
}

/** The server of one model's versions. */
export interface VersionHost extends ModelHost {
  /** The model as a requester of loads and unloads. */
  readonly asker: Asker;
  /** The model. */
  readonly key: ModelKey;
  /** Aborted when the load is given up, with its error. */
  readonly signal: AbortSignal;
}

/** The data with which a model's thread connects to its server. It can be cloned to another thread. */
export interface Connection {
  readonly handle: OwnHandle;
  /** The model. */
  readonly by: ModelKey;
  /** How to find the server's devices. */
  readonly options: Pick<ResolvedOptions, 'backendConfig' | 'instanceKind' | 'minSupportedComputeCapability'>;
}
