/** Connects an environment to a server of another one. */

import { types } from 'node:util';
import { addon } from '../../addon/load.js';
import { checkObject } from '../../argument-checks.js';
import { IdleWatch } from '../sequences/idle-watch.js';
import { EngineConnection } from '../../dispatch/engine-connection.js';
import { invalidArgument, unavailable } from '../../errors.js';
import { newServer, type InferenceServer } from '../inference-server.js';
import type { ModelKey } from '../../model-key.js';
import type { OwnHandle, ServerHandle } from '../../server-handle.js';

/** The most bytes that this environment alone may have in flight. The server has a limit of its own. */
const attachLimit = 2 ** 30;

/**
 * Connects this environment (a worker_thread, say) to a server of the same process: the same models with the
 * same weights, but without loading and unloading. Triton has no counterpart.
 *
 * @param handle - `server.handle` of the server, as it came through `workerData` or a message.
 * @returns A server whose `close()` ends only this connection.
 * @throws {@link TritonError} INVALID_ARG for something that is no handle or comes from another process,
 *   UNAVAILABLE if the server is closed.
 *
 * @example
 * // in the worker
 * const server = await attachServer(workerData.handle);
 * const result = await server.model('digits').infer({ image });
 * await server.close(); // ends this connection only
 */
export async function attachServer(handle: ServerHandle): Promise<InferenceServer> {
  const given: unknown = handle;
  checkObject(given, 'the server handle');
  if (
    (handle.tritonts as unknown) !== 'server' ||
    !Number.isSafeInteger(handle.id) ||
    !types.isSharedArrayBuffer(handle.trace) ||
    typeof (handle.lazyChannel as unknown) !== 'string'
  ) {
    throw invalidArgument('expected the handle of a server (server.handle)');
  }
  if (handle.process !== process.pid) {
    throw invalidArgument(
      `the handle belongs to process ${handle.process}, this is process ${process.pid}: models are shared by the threads of one process`,
    );
  }
  if (handle.engine !== addon().engineId()) {
    throw invalidArgument(
      'the handle belongs to another copy of the package in this process, with an addon of its own: both must load the same file',
    );
  }
  const server = connect(handle, () => handle.devices);
  if (server) return Promise.resolve(server);
  throw unavailable('CLOSED', 'the server is closed');
}

/**
 * Connects this environment to a server of this process; undefined if it is closed.
 *
 * @param caller - Returns the engine's number of the batch that makes a call, where the call does not say it; 0: none.
 * @param by - The model whose thread it is.
 */
export function connect(
  { id, captureStacks, name, strictReadiness, metrics, trace, lazyChannel }: OwnHandle,
  devices: () => readonly string[],
  caller?: () => number,
  by?: ModelKey,
): InferenceServer | undefined {
  const native = addon().findServer(id);
  if (!native) return undefined;
  const connection = EngineConnection.attach(native, {
    maxInFlightBytes: attachLimit,
    captureStacks,
    onSequence: new IdleWatch(native).begun,
  });
  const server = newServer({
    native,
    connection,
    registry: undefined,
    explicit: false,
    captureStacks,
    name,
    strictReadiness,
    metrics,
    trace,
    lazyChannel,
    waiting: attachLimit,
    tracing: undefined,
    repositories: undefined,
    devices,
    caller,
    by,
  });
  if (!connection.closed) return server;
  void server.close({ timeoutMs: 0 });
  return undefined;
}
