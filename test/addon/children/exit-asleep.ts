/**
 * Exits while a native request waits for its lazy model. Arguments: `process`, in which the main thread exits, or `worker`, which exits while
 * the release callback submits again; the addon of asker.c; the repository. Prints what became of the request.
 */

import { createRequire } from 'node:module';
import { isMainThread, Worker } from 'node:worker_threads';
import { createServer, nativeApi } from '../../../src/index.js';

interface Asker {
  ask(...args: readonly [number, unknown, number, number, undefined, string, number]): boolean;
  look(slot: number): string;
  repeat(): void;
}

const [way, file = '', models = ''] = process.argv.slice(2);
// Opens the library that the file is linked with.
void nativeApi.library;
// The file has these functions. The threads share what it knows.
const asker = createRequire(import.meta.url)(file) as Asker;

if (way === 'worker' && isMainThread) {
  const worker = new Worker(new URL(import.meta.url), { argv: process.argv.slice(2) });
  worker.on('exit', (code) => {
    console.log(`the worker ended with ${code}\n${asker.look(0)}`);
  });
} else {
  const { id, engine } = (await createServer(models, { load: 'lazy' })).handle;
  const isAccepted = asker.ask(0, nativeApi.external, engine, id, undefined, 'echo', 0.5);
  if (way === 'worker') {
    asker.repeat();
  } else {
    if (isAccepted) console.log('accepted');
    process.on('exit', () => {
      console.log(asker.look(0));
    });
  }
  process.exit(3);
}
