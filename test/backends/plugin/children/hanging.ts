/**
 * Ends while a plug-in hangs in an initialiser. Arguments: a repository, the folder of the plug-ins, the model that
 * hangs, and the way to end.
 */

import { setTimeout as wait } from 'node:timers/promises';
import { createServer } from '../../../../src/index.js';

const [repository = '', backendDirectory = '', hanging = '', ending = ''] = process.argv.slice(2);
const server = await createServer(repository, {
  backendDirectory,
  modelControlMode: 'explicit',
  modelLoadConcurrency: 2,
  backendConfig: { breaker: { break: hanging === 'backend' ? 'initialize_hangs' : '' } },
});
void server.loadModel(hanging).catch((error: unknown) => {
  console.log(String(error));
});
// Another one of the same plug-in, which waits for its initialiser, must not take the last thread.
if (hanging === 'backend') void server.loadModel('second').catch(() => undefined);
await wait(200);
await server.loadModel('echo');
const { outputs } = await server.infer('echo', { x: [[1, 2]] });
console.log(`ready`);
console.log(`echo: ${JSON.stringify(outputs['y']?.toArray())}`);
if (ending === 'exit') process.exit(7);
await server.close({ timeoutMs: 100 }).catch((error: unknown) => {
  console.log(String(error));
});
console.log('closed');
