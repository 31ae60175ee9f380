/** How a server ends: its requests first, then its engine, then this environment's connection to it. */

import type { NativeServer } from '../addon/native.js';
import type { Dispatcher } from '../dispatch/dispatcher.js';
import { TritonError } from '../errors.js';
import type { Registry } from '../registry/registry.js';

/** How long a server whose engine has closed waits for its environment's part. */
const settleMs = 1000;

/**
 * Ends a server that was created here.
 *
 * @param timeoutMs - How long accepted requests may still run.
 * @throws {TritonError} INTERNAL if a run, load or destructor did not return; it is then abandoned.
 */
export async function closeServer(
  native: NativeServer,
  dispatcher: Dispatcher,
  registry: Registry,
  timeoutMs: number,
): Promise<void> {
  dispatcher.flush();
  registry.giveUp();
  const abandoned = await new Promise<readonly string[]>((resolve) => {
    native.close(Math.min(timeoutMs, Number.MAX_SAFE_INTEGER), resolve);
  });
  // Every request has its answer by now; they are on their way to this thread. Loads are refused, but what one of them
  // waits for may be a file system that does not answer: nobody waits for that.
  await within(settleMs, Promise.all([dispatcher.idle(), registry.settled()]));
  native.join();
  await dispatcher.detach(new TritonError('UNAVAILABLE', 'the server is closed'));
  if (abandoned.length > 0) {
    throw new TritonError(
      'INTERNAL',
      `the server was closed, but a run, load or destructor of ${abandoned.map((name) => `'${name}'`).join(', ')} ` +
        'did not return; what it runs in was abandoned',
    );
  }
}

/** Ends this environment's connection to a server that another one created. */
export async function closeConnection(dispatcher: Dispatcher, timeoutMs: number): Promise<void> {
  dispatcher.refuse();
  dispatcher.flush();
  await within(timeoutMs, dispatcher.idle());
  await dispatcher.detach(
    new TritonError('CANCELLED', 'the connection to the server was closed before the request ran'),
  );
}

/** Resolves with a promise that does not reject, or after the time. */
async function within(timeoutMs: number, promise: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<void>((resolve) => {
    // Longer than a timer can wait is for ever.
    if (timeoutMs < 2 ** 31) timer = setTimeout(resolve, timeoutMs);
  });
  await Promise.race([promise, limit]);
  clearTimeout(timer);
}
