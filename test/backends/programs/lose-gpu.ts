/**
 * Serves models of a repository while GPU 0 is lost: `zero` and `one`, each on the GPU of its name; `spread` on
 * both; `both`, an ensemble of `zero` and `one`; and `nested`, an ensemble of `both`. Prints the outcomes as JSON.
 */

import { setTimeout as wait } from 'node:timers/promises';
import { connectServer } from '../../../src/client/index.js';
import { serveGrpc } from '../../../src/endpoints/grpc/serve.js';
import { serveHttp } from '../../../src/endpoints/http/serve.js';
import { createServer, TritonError } from '../../../src/index.js';

/** The output of the program. */
export interface Lost {
  /** The first numbers of the answers of `zero`, until a request failed with `error`. */
  readonly answers: readonly number[];
  readonly error: string;
  /** The states and reasons by model in the index, after `zero` has failed. */
  readonly index: Readonly<Record<string, readonly [string, string]>>;
  readonly ready: boolean;
  readonly devices: readonly string[];
  /** The error of a later request to `zero`. */
  readonly later: string;
  /** The errors of later requests to the ensembles, by the kind of request. */
  readonly ensembles: Readonly<Record<string, string>>;
  /** The answer of `one`. */
  readonly other: number;
  /** The answers of `spread` to several requests. */
  readonly spread: readonly number[];
  /** The warnings of the log. */
  readonly warnings: readonly string[];
  /** The answer of `zero` after a reload, when `spread` was unloaded. */
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
