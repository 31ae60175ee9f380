/** Closes a server while a load waits for files that the system does not read: a repository, and a pipe. */

import { open } from 'node:fs';
import { createServer } from '../../../src/index.js';

const [repository = '', pipe = ''] = process.argv.slice(2);
const server = await createServer(repository, {
  modelControlMode: 'explicit',
  onProgress: ({ state, version }) => {
    // The thread that Node has for files (UV_THREADPOOL_SIZE=1) waits for somebody who writes to the pipe, and comes
    // to no other file: the model's labels are next.
    if (state === 'LOADING' && version !== undefined) open(pipe, 'r', () => undefined);
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
await new Promise((resolve) => setTimeout(resolve, 300));
console.log('ready');
const begin = performance.now();
await server.close({ timeoutMs: 0 });
const ms = performance.now() - begin;
console.log(ms < 3000 ? 'closed in time' : `closed after ${ms} ms`);
process.kill(process.pid, 'SIGKILL');
