/**
 * Closes a server while a load waits for files that the system does not read. Arguments: a repository, and a
 * pipe.
 */

import { open } from 'node:fs';
import { createServer } from '../../../src/index.js';

const [repository = '', pipe = ''] = process.argv.slice(2);
let opened = (): void => undefined;
const opening = new Promise<void>((resolve) => (opened = resolve));
const server = await createServer(repository, {
  modelControlMode: 'explicit',
  onProgress: ({ state, version }) => {
    // Node's only thread for files (UV_THREADPOOL_SIZE=1) waits for a writer of the pipe, and so never reads
    // the next file, the model's labels.
    if (state !== 'LOADING' || version === undefined) return;
    open(pipe, 'r', () => undefined);
    opened();
  },
});
void server.loadModel('labelled').then(
  () => {
    console.log('loaded');
  },
  (error: unknown) => {
    console.log(String(error));
  },
);
await opening;
await new Promise((resolve) => setTimeout(resolve, 300));
console.log('ready');
await server.close({ timeoutMs: 0 });
console.log('closed');
process.kill(process.pid, 'SIGKILL');
