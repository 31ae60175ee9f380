/**
 * Servers that are dropped without `close()`. When the garbage collector finds one, a warning is emitted and
 * the server is ended. Nobody can use it any more by then, but requests in flight are answered first.
 *
 * The table of models is watched, because a server and the handles of its models all refer to it.
 */

import { insistOnAnswer } from '../../addon/memory.js';
import type { NativeServer } from '../../addon/native/server.js';
import type { ServerCache } from '../../cache/server-cache.js';
import type { EngineConnection } from '../../dispatch/engine-connection.js';
import { unavailable } from '../../errors.js';
import { endAgents } from '../../registry/agents/live-chains.js';
import { releaseAllFiles } from '../../registry/sources/held-files.js';
import type { ModelTable } from './model-table.js';

/** The parts of a dropped server that have to be ended. None of them may refer to the table. */
export interface Left {
  readonly native: NativeServer;
  readonly connection: EngineConnection;
  /**
   * The repositories of the server, for the warning; undefined for a connection to another environment's
   * server.
   */
  readonly repositories: readonly string[] | undefined;
  /** The response cache outside of the engine. */
  readonly cache?: ServerCache | undefined;
}

const tables = new FinalizationRegistry<Left>((left) => void end(left));

/** Ends a server, or a connection to one, when its table is dropped, until {@link forgetServer}. */
export function watchServer(table: ModelTable, left: Left): void {
  tables.register(table, left, left.connection);
}

/** Stops watching a server, which its users or the end of its environment will close. */
export function forgetServer(connection: EngineConnection): void {
  tables.unregister(connection);
}

async function end({ native, connection, repositories, cache }: Left): Promise<void> {
  const what =
    repositories === undefined
      ? 'the connection of attachServer() to a server'
      : `the server of ${repositories.join(', ')}`;
  process.emitWarning(
    `${what} was dropped without close(), and is closed now; await its close() when it is no longer needed`,
    { code: 'TRITONTS_DROPPED' },
  );
  // Callers that wait for a response get it first.
  await connection.idle();
  if (repositories !== undefined) {
    await insistOnAnswer<readonly string[]>((done) => {
      native.close(0, done);
    });
    await endAgents(native);
    await releaseAllFiles(native);
    native.join();
    await cache?.close();
  }
  await connection.detach(unavailable('CLOSED', 'the server is closed'));
}
