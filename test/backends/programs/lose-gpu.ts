/**
 * Serves the models `zero` and `one` of a repository, each on the GPU of its name, `spread` on both, `both`, an
 * ensemble of the first two, and `nested`, one of that, while GPU 0 is lost. Prints what became of them as JSON.
 */

import { setTimeout as wait } from 'node:timers/promises';
import { connectServer } from '../../../src/client/index.js';
import { serveGrpc } from '../../../src/endpoints/grpc/serve.js';
import { serveHttp } from '../../../src/endpoints/http/serve.js';
import { createServer, TritonError } from '../../../src/index.js';

/** The output of the program. */
export interface Lost {
  /** What requests to `zero` got: its answers' first numbers, and then an error. */
  readonly answers: readonly number[];
  readonly error: string;
  /** The states and reasons by model, as the index has them once `zero` has failed. */
  readonly index: Readonly<Record<string, readonly [string, string]>>;
  readonly ready: boolean;
  readonly devices: readonly string[];
  /** What a request to `zero` gets then. */
  readonly later: string;
  /** What requests to the ensembles get then, by the way that they are made. */
  readonly ensembles: Readonly<Record<string, string>>;
  /** What `one` answers. */
  readonly other: number;
  /** What `spread` answers, to several requests. */
  readonly spread: readonly number[];
  /** The warnings of the log. */
  readonly warnings: readonly string[];
  /** What `zero` answers when it was loaded again, after `spread` was unloaded. */
  readonly again: number;
}

const [, , repository = '', library = ''] = process.argv;
const warnings: string[] = [];
const server = await createServer(repository, {
  logger: {
    warn: (text) => {
      warnings.push(text);
    },
  },
  modelControlMode: 'explicit',
  loadModels: ['*'],
  backendConfig: { tensorrt: { library } },
});
const x = new Float32Array(16);
const ask = async (name: string): Promise<number> => {
  const { outputs } = await server.model(name).infer({ x });
  return Number(outputs['y']?.data[0]);
};
const failure = (error: unknown): string =>
  error instanceof TritonError ? `${error.code} ${error.reason} ${error.message}` : String(error);

const answers: number[] = [];
let error = '';
while (error === '') {
  try {
    answers.push(await ask('zero'));
  } catch (reason) {
    error = failure(reason);
  }
}
const index = (): Lost['index'] =>
  Object.fromEntries(server.index().map(({ name, state = '', reason = '' }) => [name, [state, reason]]));
while (index()['zero']?.[0] !== 'UNAVAILABLE' || index()['spread']?.[1] === '') await wait(10);
const seen = index();
const { ready } = server;
const later = await ask('zero').then(String, failure);
const ensembles: Record<string, string> = {};
const endpoints = { http: await serveHttp(server, { port: 0 }), grpc: await serveGrpc(server, { port: 0 }) };
for (const name of ['both', 'nested']) {
  ensembles[name] = await ask(name).then(String, failure);
  for (const [protocol, { address }] of Object.entries(endpoints)) {
    const remote = await connectServer(`${protocol}://${address.host}:${address.port}`);
    ensembles[`${name} over ${protocol}`] = await remote.infer(name, { x }).then(String, failure);
    await remote.close();
  }
}
for (const endpoint of Object.values(endpoints)) await endpoint.close();
const other = await ask('one');
const spread: number[] = [];
for (let i = 0; i < 4; i++)
  spread.push(...(await Promise.all([ask('spread'), ask('spread'), ask('spread')])));
await server.unloadModel('spread');
await server.loadModel('zero');
const again = await ask('zero');
const { devices } = server.metadata();
await server.close();
console.log(
  JSON.stringify({
    ...{ answers, error, index: seen, ready, devices, later, ensembles, other, spread, warnings, again },
  } satisfies Lost),
);
