/** Emits `exit` itself, as test runners and wrappers of programs do, and goes on. Argument: a repository. */

import { createServer, TritonError } from '../../../src/index.js';
import { row, until } from '../../support/harness.js';

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
// This is no top-level code, because Node sets the exit code of modules that have not ended.
async function emit(): Promise<void> {
  // One request runs alone, and one waits for it.
  const running = server.infer('soon', { x: row() });
  await until(() => server.explain('soon').batches.some((batch) => batch.running));
  const waiting = server.infer('soon', { x: row() });
  await until(() => server.explain('soon').waiting === 1);
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
