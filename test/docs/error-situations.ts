/** Situations that lead to the messages which `docs/errors.md` lists, in its order. */

import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  attachServer,
  createServer,
  InferenceServer,
  registerBackend,
  type InferenceServer as Server,
} from '../../src/index.js';
import { serveHttp } from '../../src/endpoints/http/serve.js';
import { byFirst, executing, script } from '../javascript/harness.js';
import type { ModelRequest, Results } from '../../src/javascript/index.js';
import { asking, readAll, streaming } from '../streams/harness.js';
import { failingModel } from '../support/models.js';
import { temporaryFolder, writeRepository } from '../support/repository.js';
import {
  chain,
  configText,
  ensemble,
  identity,
  onnx,
  row,
  statisticsAfter,
  turn,
  type Context,
} from '../support/harness.js';

/** The resources of every situation. */
export interface Scene {
  /**
   * A server in explicit mode with models `echo` (y = x, FP32 [16], batches of at most 64), `slow`, which
   * takes a minute, `failing`, `writer`, which is decoupled, and `scripted`, in JavaScript.
   */
  readonly server: Server;
  /** A folder of its own. */
  readonly folder: string;
}

/** The actions of the model `scripted`, by the first number of its input. */
const scripted = byFirst({
  1: 'process.exit(1);',
  2: 'return [];',
  3: 'return [{ y: new Int32Array(16) }];',
  4: 'return [{ z: new Float32Array(16) }];',
  5: "throw new Error('no more words');",
});

/** Starts the server of {@link Scene}. */
export async function startScene(context: Context): Promise<Scene> {
  const repository = await writeRepository(await temporaryFolder(context), {
    echo: identity(),
    slow: identity({ delayMs: 60_000 }),
    spare: identity(),
    writer: streaming(),
    scripted: script(executing(scripted)),
    failing: onnx(failingModel(), {
      inputs: [{ name: 'index', datatype: 'INT64', dims: [1] }],
      outputs: [{ name: 'value', dims: [1] }],
    }),
  });
  const server = await createServer(repository, {
    modelControlMode: 'explicit',
    loadModels: ['echo', 'slow', 'failing', 'writer', 'scripted'],
    maxInFlightBytes: 100_000,
  });
  context.after(() => server.close({ timeoutMs: 0 }));
  return { server, folder: await temporaryFolder(context) };
}

/** Leads to an error: it throws, or rejects. */
export type Situation = (scene: Scene) => unknown;

function list(...situations: readonly Situation[]): readonly Situation[] {
  return situations;
}

/** Starts a server with a configuration in a repository of its own. */
async function configured(folder: string, config: string): Promise<unknown> {
  return createServer(await writeRepository(folder, { mood: { config, versions: { '1': {} } } }));
}

/** Sends three requests to a model with batches of one row and runs of a minute; waits for the first error. */
async function askThrice(folder: string, policy: string): Promise<unknown> {
  const batching = `default_queue_policy { ${policy} }`;
  const slow = identity({ maxBatchSize: 1, delayMs: 60_000, batching });
  const server = await createServer(await writeRepository(folder, { slow }));
  try {
    return await Promise.all([1, 2, 3].map(() => server.infer('slow', { x: row() })));
  } finally {
    await server.close({ timeoutMs: 0 });
  }
}

/** Calls a model that calls itself, with `batches` of its batches at once. */
async function callsItself(batches: number): Promise<unknown> {
  const tensor = (name: string) => [{ name, data_type: 'TYPE_FP32', dims: [16] }] as const;
  const server: Server = await createServer({
    models: {
      self: {
        config: {
          max_batch_size: 4,
          input: tensor('x'),
          output: tensor('y'),
          parameters: { max_concurrency: { string_value: String(batches) } },
        },
        execute: (requests): Promise<Results> =>
          Promise.all(
            requests.map(async (parent) => {
              const { outputs } = await server.infer('self', { x: parent.inputs['x'] }, { parent });
              return { y: outputs['y'] };
            }),
          ),
      },
    },
  });
  try {
    return await server.infer('self', { x: row() });
  } finally {
    await server.close({ timeoutMs: 0 });
  }
}

/** Makes a call for a request that was already answered. */
async function callsLate(server: Server): Promise<unknown> {
  let last: ModelRequest | undefined;
  const tensor = (name: string) => [{ name, data_type: 'TYPE_FP32', dims: [16] }] as const;
  await using other = await createServer({
    models: {
      m: {
        config: { max_batch_size: 4, input: tensor('x'), output: tensor('y') },
        execute: (requests) => {
          [last] = requests;
          return requests.map(({ inputs }) => ({ y: inputs['x'] }));
        },
      },
    },
  });
  await other.infer('m', { x: row() });
  return await server.infer('echo', { x: row() }, { parent: last });
}

/** For each code, one situation for each message. */
export const errorSituations: Readonly<Record<string, readonly Situation[]>> = {
  INVALID_ARG: list(
    () => createServer('./models', { exitOnEror: true } as object),
    () => createServer('./models', { threads: 0 }),
    async ({ folder }) => {
      await writeFile(join(folder, 'notes.txt'), '');
      return createServer(join(folder, 'notes.txt'));
    },
    async ({ folder }) => {
      await mkdir(join(folder, 'nothing'));
      return createServer(join(folder, 'nothing'));
    },
    ({ folder }) => configured(folder, 'max_batchsize: 4'),
    ({ folder }) => configured(folder, configText({ backend: 'identity', maxBatchSize: -1 })),
    ({ server }) => server.infer('echo', { z: row() }),
    async ({ folder }) => {
      const models = {
        flat: identity({ maxBatchSize: 0, batching: false }),
        whole: ensemble(chain(['flat'])),
      };
      await using server = await createServer(await writeRepository(folder, models));
      await server.infer('whole', { x: new Float32Array(32) });
    },
    async ({ folder }) => {
      const models = { echo: identity(), whole: ensemble(chain(['echo'])) };
      await using server = await createServer(await writeRepository(folder, models), {
        modelControlMode: 'explicit',
        loadModels: ['whole'],
      });
      await server.unloadModel('echo');
    },
    ({ server }) => server.infer('echo', {}),
    ({ server }) => server.infer('echo', { x: new Int32Array(16) }),
    ({ server }) => server.infer('echo', { x: new Float32Array(15) }),
    ({ server }) => server.infer('echo', { x: { data: row(), shape: [16] } }),
    ({ server }) => server.infer('echo', { x: new Float32Array(65 * 16) }),
    ({ server }) =>
      server.infer('echo', {
        x: [
          [1, 2],
          [3, 4],
        ],
      }),
    ({ server }) => server.infer('echo', { x: row() }, { outputs: ['z'] }),
    ({ server }) => server.infer('echo', { x: row() }, { into: { y: new Int32Array(16) } }),
    ({ server }) => server.stream('writer', asking(1), { into: { y: new Int32Array(1) } }).next(),
    async ({ folder }) => {
      const tensor = (name: string) => ({ name, datatype: 'INT32', dims: [-1] }) as const;
      const step = (to: string) =>
        ({ model: 'writer', from: { count: 'count', how: 'how', size: 'size' }, to: { y: to } }) as const;
      const inputs = (['count', 'how', 'size'] as const).map((name) => ({ ...tensor(name), dims: [1] }));
      const outputs = [tensor('y'), tensor('z')];
      const both = ensemble([step('y'), step('z')], { maxBatchSize: 0, inputs, outputs });
      return createServer(await writeRepository(folder, { writer: streaming(), both }));
    },
    ({ folder }) =>
      configured(
        folder,
        configText({ backend: 'identity', more: 'model_transaction_policy { decoupled: true }' }),
      ),
    async ({ server }) => (await server.infer('echo', { x: row() })).outputs['y']?.as('INT64'),
    () => {
      registerBackend('onnxruntime', { execute: () => [] });
    },
    async ({ folder }) => createServer(await writeRepository(folder, { mood: script('export default 7;') })),
    // JavaScript programs can pass anything.
    ({ server }) => server.infer('echo', { x: row() }, { parent: {} } as object),
    () => callsItself(40),
    () => Reflect.construct(InferenceServer, []),
    async ({ server }) => {
      const sequence = server.model('echo').sequence();
      await sequence.end({ x: row() });
      return sequence.infer({ x: row() });
    },
  ),
  NOT_FOUND: list(
    ({ folder }) => createServer(join(folder, 'gone')),
    ({ server }) => server.model('ecko'),
    ({ server }) => server.infer('echo', { x: row() }, { version: 7 }),
    ({ server }) => server.infer('spare', { x: row() }),
    ({ server }) => server.loadModel('ecko'),
  ),
  UNAVAILABLE: list(
    async ({ folder }) => {
      const server = await createServer(await writeRepository(folder, { echo: identity() }));
      await server.close();
      return server.infer('echo', { x: row() });
    },
    async ({ folder }) => {
      const models = { mood: { config: 'max_batch_size: -1', versions: { '1': {} } } };
      await using server = await createServer(await writeRepository(folder, models), { exitOnError: false });
      await server.infer('mood', { x: row() });
    },
    async ({ folder }) => {
      await using server = await createServer(await writeRepository(folder, { echo: identity() }));
      await server.loadModel('echo');
    },
    async ({ server }) => {
      const requests = Array.from({ length: 64 }, () =>
        server.infer('slow', { x: new Float32Array(16 * 16) }),
      );
      const controller = new AbortController();
      const more = Promise.all(requests.map((request) => request.then(() => undefined)));
      await more.finally(() => {
        controller.abort();
      });
    },
    async ({ folder }) => {
      const repository = await writeRepository(folder, { writer: streaming() });
      await using server = await createServer(repository, { maxInFlightBytes: 1 << 20 });
      const stream = server.stream('writer', asking(1_000_000, 'greedy', 1000));
      await statisticsAfter(server, 'writer', 1);
      throw (await readAll(stream)).error ?? new Error('there is none');
    },
    ({ folder }) => askThrice(folder, 'max_queue_size: 1'),
    ({ server }) => server.infer('slow', { x: row() }, { timeoutMs: 20 }),
    ({ folder }) => askThrice(folder, 'default_timeout_microseconds: 1000'),
    ({ server }) => server.infer('scripted', { x: row(1) }),
    () => callsItself(1),
    async () => {
      await using server = await createServer({
        modelControlMode: 'explicit',
        models: {
          again: {
            config: {
              input: [{ name: 'x', data_type: 'TYPE_FP32', dims: [16] }],
              output: [{ name: 'y', data_type: 'TYPE_FP32', dims: [16] }],
            },
            initialize: async ({ server: own }) => {
              await own.loadModel('again');
            },
            execute: () => [],
          },
        },
      });
      await server.loadModel('again');
    },
    ({ folder }) =>
      writeRepository(folder, { add: onnx() }).then((repository) =>
        createServer(repository, { backendConfig: { onnxruntime: { library: '/no/such/library.so' } } }),
      ),
    async ({ server }) => {
      const first = await serveHttp(server, { port: 0 });
      try {
        await serveHttp(server, { port: first.address.port });
      } finally {
        await first.close();
      }
    },
  ),
  UNSUPPORTED: list(
    ({ folder }) =>
      configured(
        folder,
        configText({ backend: 'identity', more: 'instance_group [ { kind: KIND_CPU passive: true } ]' }),
      ),
    async ({ server }) => {
      await using attached = await attachServer(server.handle);
      await attached.loadModel('echo');
    },
    ({ server }) => server.infer('writer', asking(1)),
    ({ server }) => server.model('writer').map([asking(1)]),
  ),
  CANCELLED: list(
    ({ server }) => server.infer('echo', { x: row() }, { signal: AbortSignal.abort() }),
    ({ server }) =>
      server
        .model('echo')
        .map([{ x: row() }], { signal: AbortSignal.abort() })
        .next(),
    ({ server }) => server.model('echo').sequence({ signal: AbortSignal.abort() }).infer({ x: row() }),
    async ({ folder }) => {
      const repository = await writeRepository(folder, { endless: script(executing('for (;;);')) });
      const server = await createServer(repository);
      const asked = server.infer('endless', { x: row() });
      // Its error is the one that this is about.
      await Promise.allSettled([asked, turn().then(() => server.close({ timeoutMs: 20 }))]);
      return asked;
    },
    () => createServer('./models', { signal: AbortSignal.abort() }),
    ({ server }) => callsLate(server),
    ({ server }) => serveHttp(server, { port: 0, signal: AbortSignal.abort() }),
  ),
  INTERNAL: list(
    ({ server }) => server.infer('failing', { index: [[99n]] }),
    ({ server }) => server.infer('scripted', { x: row(2) }),
    ({ server }) => server.infer('scripted', { x: row(3) }),
    ({ server }) => server.infer('scripted', { x: row(4) }),
    ({ folder }) =>
      configured(
        folder,
        configText({
          backend: 'identity',
          more: 'model_repository_agents { agents { name: "checksum" parameters { key: "MD5:labels.txt" } } }',
        }),
      ),
    ({ server }) => server.infer('scripted', { x: row(5) }),
  ),
  ALREADY_EXISTS: list(
    () => {
      for (let i = 0; i < 2; i++) registerBackend('twice', { execute: () => [] });
    },
    async ({ folder }) => {
      const repository = await writeRepository(folder, { echo: identity() });
      await using server = await createServer(repository, { modelControlMode: 'explicit' });
      await server.registerRepository(repository);
    },
  ),
};
