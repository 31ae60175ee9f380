/** Identifies a server to other environments than the one that created it. */

import { functionsOf } from './addon/engine-functions.js';
import type { NativeServer } from './addon/native/server.js';
import type { ResolvedMetrics } from './metrics/metrics-config.js';

/**
 * Identifies a server within its process. It can be posted to a worker_thread, which connects with
 * {@link attachServer}.
 *
 * @example
 * worker.postMessage(server.handle satisfies ServerHandle);
 */
export interface ServerHandle {
  /** Marks the object as a handle. */
  readonly tritonts: 'server';
  /** Id of the process that the server is in. */
  readonly process: number;
  /** Id of the copy of the addon that the server is in. */
  readonly engine: number;
  /** Id of the server within that copy. */
  readonly id: number;
  /** The server's option `captureStacks`. */
  readonly captureStacks: boolean;
  /** The server's option `id`. */
  readonly name: string;
  /** The server's option `strictReadiness`. */
  readonly strictReadiness: boolean;
  /** The metrics that {@link InferenceServer.metrics} includes. */
  readonly metrics: ResolvedMetrics;
  /** Memory that tells all environments whether requests may be traced. */
  readonly trace: SharedArrayBuffer;
  /** Name of the channel through which environments ask for lazy models. */
  readonly lazyChannel: string;
  /** The same as in {@link ServerMetadata}. */
  readonly devices: readonly string[];
}

/**
 * The handle that a server's own threads receive. They find the devices themselves, because finding them takes
 * time.
 */
export type OwnHandle = Omit<ServerHandle, 'devices'>;

/** The server's options that every environment's connection needs. */
export type SharedOptions = Pick<
  ServerHandle,
  'captureStacks' | 'name' | 'strictReadiness' | 'metrics' | 'trace' | 'lazyChannel'
>;

/** Makes the handle of a server, without its devices. */
export function ownHandle(
  native: NativeServer,
  { captureStacks, name, strictReadiness, metrics, trace, lazyChannel }: SharedOptions,
): OwnHandle {
  return {
    tritonts: 'server',
    process: process.pid,
    engine: functionsOf(native).engineId(),
    id: native.id(),
    captureStacks,
    name,
    strictReadiness,
    metrics,
    trace,
    lazyChannel,
  };
}
