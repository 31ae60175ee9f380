/** Emits `exit` by itself, as test runners and wrappers of programs do, and goes on: a repository. */

import { createServer, TritonError } from '../../../src/index.js';
import { row, until } from '../../server/harness.js';

const server = await createServer(process.argv[2] ?? '', {
  modelControlMode: 'explicit',
  loadModels: ['echo', 'soon'],
});
async function tell(what: string, request: Promise<unknown>): Promise<void> {
  const outcome = await request.then(
    () => 'answered',
    (error: unknown) => (error instanceof TritonError ? `${error.code}: ${error.message}` : String(error)),
  );
  console.log(`${what}: ${outcome}`);
}
// Not as the module's own code: Node has a listener of `exit` that sets the code of modules that are not through.
async function emit(): Promise<void> {
  // One runs alone, and one waits for it.
  const running = server.infer('soon', { x: row() });
  await until(() => server.statistics('soon').length > 0);
  await new Promise((resolve) => setTimeout(resolve, 20));
  const waiting = server.infer('soon', { x: row() });
  await new Promise((resolve) => setTimeout(resolve, 20));
  console.log('ready');
  process.emit('exit', 0);
  await tell(
    'running',
    running.catch(() => undefined),
  );
  await tell('waiting', waiting);
  await tell('late', server.infer('echo', { x: row() }));
  await server.close();
  console.log('closed');
}
void emit();
