/** Imports code of the user. */

import { setImmediate } from './timers.js';

/** The errors of imports that have just failed. */
const failed = new Set<unknown>();

/**
 * Imports a file. If an ES module imports a CommonJS file that throws, or that is not CommonJS, Node 20 rejects twice with
 * the same error: the import, and a promise of its own that nobody handles. The second would end the thread, or the process.
 *
 * @throws What the file throws, and Node's error if it cannot be imported.
 */
export async function importFile(url: string): Promise<unknown> {
  try {
    const module: unknown = await import(url);
    return module;
  } catch (error) {
    await takeUnhandled(error);
    throw error;
  }
}

/** Takes an error when Node reports it as an unhandled rejection, which it does before the next turn of the event loop. */
async function takeUnhandled(error: unknown): Promise<void> {
  // With another mode Node itself says what becomes of rejections.
  const options = [...process.execArgv, process.env['NODE_OPTIONS']].join(' ');
  if (options.includes('--unhandled-rejections')) return;
  if (failed.size === 0) process.on('unhandledRejection', onUnhandled);
  failed.add(error);
  await new Promise<void>((resolve) => {
    setImmediate(resolve);
  });
  failed.delete(error);
  if (failed.size === 0) process.off('unhandledRejection', onUnhandled);
}

/** Lets other rejections be what they are without this listener. */
function onUnhandled(reason: unknown): void {
  if (!failed.has(reason) && process.listenerCount('unhandledRejection') === 1) throw reason;
}
