/** Ends a server: its requests first, then its engine, then this environment's connection to it. */

import { insistOnAnswer } from '../addon/memory.js';
import type { NativeServer } from '../addon/native/server.js';
import type { ServerCache } from '../cache/server-cache.js';
import type { EngineConnection } from '../dispatch/engine-connection.js';
import { TritonError, unavailable } from '../errors.js';
import { slicesDone } from '../slices.js';
import type { Registry } from '../registry/registry.js';
import { endsWithin } from '../time-limit.js';

/** How long a server whose engine has closed waits for this environment, in milliseconds. */
const settleMs = 1000;

/**
 * Ends a server that was created here.
 *
 * @param cache - Ended last. Requests use it until then.
 * @param timeoutMs - How long accepted requests may still run, in milliseconds.
 * @throws {@link TritonError} INTERNAL if a run, load or destructor did not return and was abandoned.
 */
export async function closeServer(
  native: NativeServer,
  connection: EngineConnection,
  registry: Registry,
  timeoutMs: number,
  cache: ServerCache | undefined,
): Promise<void> {
  connection.flush();
  registry.cancelLoads();
  registry.settle();
  const abandoned = await insistOnAnswer<readonly string[]>((done) => {
    native.close(Math.min(timeoutMs, Number.MAX_SAFE_INTEGER), done);
  });
  // Every request has its response now, which is on its way to this thread. New loads are refused. A load
  // that began may wait for a file system that does not answer, so the wait has a limit.
  await endsWithin(Promise.all([connection.idle(), registry.settled()]), settleMs);
  // Answers that came may be on their way to become classes.
  await endsWithin(slicesDone(), timeoutMs);
  await registry.end();
  native.join();
  await cache?.close();
  await connection.detach(unavailable('CLOSED', 'the server is closed'));
  if (abandoned.length > 0) {
    throw new TritonError(
      'INTERNAL',
      `the server was closed, but a run, load or destructor of ${abandoned.map((name) => `'${name}'`).join(', ')} ` +
        'did not return, so its thread or process was abandoned',
    );
  }
}

/** Ends this environment's connection to a server that another environment created. */
export async function closeConnection(connection: EngineConnection, timeoutMs: number): Promise<void> {
  connection.refuse();
  connection.flush();
  await endsWithin(connection.idle(), timeoutMs);
  await connection.detach(
    new TritonError(
      'CANCELLED',
      'the connection to the server was closed before the request ran: wait for the answers before close(), or ' +
        'give close() a longer timeoutMs',
    ),
  );
}
