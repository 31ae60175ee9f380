/** Identifies a server outside of the environment that created it. */

import { addon } from './addon/load.js';
import type { NativeServer } from './addon/native/server.js';
import type { ResolvedMetrics } from './metrics/metrics-config.js';

/**
 * Identifies a server within its process. It can be sent to a worker_thread, which connects with {@link
 * attachServer}.
 *
 * @example
 * worker.postMessage(server.handle satisfies ServerHandle);
 */
export interface ServerHandle {
  /** Marks the object as a handle. */
  readonly tritonts: 'server';
  /** Id of the process that the server is in. */
  readonly process: number;
  /** Which copy of the addon the server is in. */
  readonly engine: number;
  /** Which server of that copy it is. */
  readonly id: number;
  /** The server's option of this name. */
  readonly captureStacks: boolean;
  /** The server's option `id`. */
  readonly name: string;
  /** The server's option of this name. */
  readonly strictReadiness: boolean;
  /** What {@link InferenceServer.metrics} shows. */
  readonly metrics: ResolvedMetrics;
  /** The same as in {@link ServerMetadata}. */
  readonly devices: readonly string[];
}

/** What a server's own threads need of it. They find its devices themselves, as that takes a while. */
export type OwnHandle = Omit<ServerHandle, 'devices'>;

/** What every environment's connection to a server has of its options. */
export type SharedOptions = Pick<ServerHandle, 'captureStacks' | 'name' | 'strictReadiness' | 'metrics'>;

/** The handle of a server, without its devices. */
export function ownHandle(
  native: NativeServer,
  { captureStacks, name, strictReadiness, metrics }: SharedOptions,
): OwnHandle {
  return {
    tritonts: 'server',
    process: process.pid,
    engine: addon().engineId(),
    id: native.id(),
    captureStacks,
    name,
    strictReadiness,
    metrics,
  };
}
