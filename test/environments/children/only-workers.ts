/**
 * The main thread never loads the addon. Workers create servers of a repository, use them, and end in several
 * ways.
 */

import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import type { ServerHandle } from '../../../src/index.js';
import type { CallerData } from '../harness.js';

const [repository = '', ending = ''] = process.argv.slice(2);
const program = new URL('../workers/caller.js', import.meta.url);

function start(data: Omit<CallerData, 'repository'>): Worker {
  return new Worker(program, { workerData: data.handle ? data : { ...data, repository } });
}

for (const then of ['end', 'close', 'end'] as const) {
  const [code] = (await once(start({ model: 'add', count: 20, then }), 'exit')) as [number];
  if (code !== 0) throw new Error(`a worker ended with ${code}`);
}
// One worker owns the server, and another one uses it.
const owner = start({ model: 'echo', count: 0, then: 'stay' });
const [handle] = (await once(owner, 'message')) as [ServerHandle];
const user = start({ handle, model: 'add', count: 8, then: 'stream' });
await once(user, 'message');
const pending = start({ handle, model: 'late', count: 8, then: 'wait' });
const pendingEnds = once(pending, 'exit');
await once(pending, 'message');

console.log('ready');
if (ending === 'exit') process.exit(7);
if (ending === 'throw') throw new Error('thrown on purpose');
if (ending === 'terminate') {
  await user.terminate();
  await owner.terminate();
  // It notices that its server is gone, and ends.
  await pendingEnds;
}
