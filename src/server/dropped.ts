/**
 * Servers that are dropped without `close()`: told of, and ended, when the garbage collector finds them. Nothing of
 * them that somebody could still use is left then, but for requests in flight, which are served first.
 *
 * What is watched is the table of models, which a server and all its models' handles have.
 */

import type { NativeServer } from '../addon/native.js';
import type { Dispatcher } from '../dispatch/dispatcher.js';
import { TritonError } from '../errors.js';
import type { ModelTable } from './model-table.js';

/** What is left to be ended; nothing of it leads to the table. */
export interface Left {
  readonly native: NativeServer;
  readonly dispatcher: Dispatcher;
  /** Whose models it serves; undefined: it is only connected to a server of another environment. */
  readonly repositories: readonly string[] | undefined;
}

const tables = new FinalizationRegistry<Left>((left) => void end(left));

/** Ends a server, or a connection to one, when its table is dropped, until {@link forgetServer}. */
export function watchServer(table: ModelTable, left: Left): void {
  tables.register(table, left, left.dispatcher);
}

/** From now on the server is closed by those who have it, or with its environment. */
export function forgetServer(dispatcher: Dispatcher): void {
  tables.unregister(dispatcher);
}

async function end({ native, dispatcher, repositories }: Left): Promise<void> {
  const what =
    repositories === undefined
      ? 'the connection of attachServer() to a server'
      : `the server of ${repositories.join(', ')}`;
  process.emitWarning(
    `${what} was dropped without close(), and is closed now; await its close() when it is no longer needed`,
    { code: 'TRITONTS_DROPPED' },
  );
  // Whoever waits for an answer has it.
  await dispatcher.idle();
  if (repositories !== undefined) {
    await new Promise<void>((resolve) => {
      native.close(0, () => {
        resolve();
      });
    });
    native.join();
  }
  await dispatcher.detach(new TritonError('UNAVAILABLE', 'the server is closed'));
}
