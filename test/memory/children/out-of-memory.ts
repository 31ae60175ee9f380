/** Runs out of address space on purpose. Arguments: a repository and a scenario. Linux only. */

import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createServer, TritonError, type InferenceServer } from '../../../src/index.js';
import { row } from '../../support/harness.js';

const [repository = '', scenario = ''] = process.argv.slice(2);
const megabyte = 2 ** 20;
const width = 50 * megabyte;

/** Limits the process to this many megabytes more. */
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
        ? `${error.code}${error.reason === undefined ? '' : ` (${error.reason})`}: ${error.message.replaceAll(repository, '')}`
        : String(error),
  );
  console.log(`${what}: ${outcome.split('\n').join(' ')}`);
}

/** Checks that small requests still work. */
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
    // This is enough for the input, which is also the output, but not for a copy.
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
    // The instance starts its thread with the first request, and there is no room for a stack.
    leave(5);
    await tell('a first request', server.infer('echo', { x: row(1) }));
    await server.close();
  },
};
await scenarios[scenario]?.();
console.log('ready');
