/** Runs out of address space on purpose, at what it is told: a repository and a scenario. Linux only. */

import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createServer, TritonError, type InferenceServer } from '../../../src/index.js';
import { row } from '../../server/harness.js';

const [repository = '', scenario = ''] = process.argv.slice(2);
const megabyte = 2 ** 20;
const width = 50 * megabyte;

/** From now on the system gives this many megabytes more, and no more. */
function leave(megabytes: number): void {
  const pages = Number(readFileSync('/proc/self/statm', 'utf8').split(' ')[0]);
  const bytes = pages * 4096 + megabytes * megabyte;
  execFileSync('prlimit', ['--pid', String(process.pid), `--as=${bytes}:${bytes}`]);
}

async function tell(what: string, promise: Promise<unknown>): Promise<void> {
  const outcome = await promise.then(
    () => 'went well',
    (error: unknown) =>
      error instanceof TritonError
        ? `${error.code}: ${error.message.replaceAll(repository, '')}`
        : String(error),
  );
  console.log(`${what}: ${outcome.split('\n').join(' ')}`);
}

/** Small requests go on. */
async function goOn(server: InferenceServer): Promise<void> {
  await tell('afterwards', server.infer('echo', { x: row(1) }));
}

const explicit = { modelControlMode: 'explicit', loadModels: ['echo'], maxInFlightBytes: 2 ** 31 } as const;
const scenarios: Record<string, () => Promise<void>> = {
  input: async () => {
    const server = await createServer(repository, explicit);
    const x = new Float32Array(width);
    await goOn(server);
    leave(100);
    await tell('an input of 200 MB', server.infer('echo', { x }));
    await goOn(server);
    await server.close();
  },
  output: async () => {
    const server = await createServer(repository, explicit);
    const x = new Float32Array(width);
    await goOn(server);
    // Enough for the input, which is the output, and not for a copy of that.
    leave(300);
    await tell('an output of 200 MB', server.infer('echo', { x }, { ownOutputs: true }));
    await goOn(server);
    await server.close();
  },
  runtime: async () => {
    const server = await createServer(repository, { ...explicit, loadModels: ['echo', 'wide'] });
    await server.infer('wide', { x: new Float32Array(1) });
    await goOn(server);
    leave(150);
    await tell('an output of 320 MB', server.infer('wide', { x: new Float32Array(500) }));
    await goOn(server);
    await server.close();
  },
  load: async () => {
    const server = await createServer(repository, { ...explicit, loadModels: ['echo', 'wide'] });
    await goOn(server);
    leave(60);
    await tell('loading', server.loadModel('weights'));
    await goOn(server);
    await server.close();
  },
  files: async () => {
    const server = await createServer(repository, explicit);
    const weights = new Uint8Array(200 * megabyte);
    await goOn(server);
    leave(100);
    const given = { config: { backend: 'identity' }, files: { '1/weights': weights } };
    await tell('files of 200 MB', server.loadModel('given', given));
    await goOn(server);
    await server.close();
  },
  thread: async () => {
    const server = await createServer(repository, explicit);
    // Its instance has no thread before the first request, and a stack does not fit any more.
    leave(5);
    await tell('a first request', server.infer('echo', { x: row(1) }));
    await server.close();
  },
};
await scenarios[scenario]?.();
console.log('ready');
