/** Uses `onnxruntime-node` together with tritonts. Arguments: a repository, the order, and the way to end. */

import { createRequire } from 'node:module';
import { join } from 'node:path';
import { isMainThread, Worker } from 'node:worker_threads';
import { createServer, type InferenceServer } from '../../../src/index.js';
import { row } from '../../support/harness.js';

const [folder = '', order = '', ending = ''] = process.argv.slice(2);
const library = process.env['TRITONTS_OTHER_ORT'];

/** The part of the package that is used. */
interface OnnxRuntime {
  readonly InferenceSession: { create(path: string): Promise<Session> };
  readonly Tensor: new (type: string, data: Float32Array, shape: readonly number[]) => unknown;
}
interface Session {
  run(inputs: Record<string, unknown>): Promise<Record<string, { readonly data: Float32Array }>>;
  release(): Promise<void>;
}

/** The other package, with sessions from a file of the repository. */
class Theirs {
  readonly #runtime: OnnxRuntime;
  session: Session | undefined;

  constructor() {
    // Its types are not installed for every version that is tested here.
    this.#runtime = createRequire(import.meta.url)('onnxruntime-node') as OnnxRuntime;
  }

  async open(): Promise<void> {
    this.session = await this.#runtime.InferenceSession.create(join(folder, 'add/1/model.onnx'));
  }

  async check(): Promise<void> {
    const x = new this.#runtime.Tensor('float32', row(1), [1, 16]);
    const result = await this.session?.run({ x });
    if (result?.['y']?.data[0] !== 2) throw new Error(`theirs is wrong: ${JSON.stringify(result)}`);
  }
}

async function start(): Promise<InferenceServer> {
  return createServer(folder, {
    modelControlMode: 'explicit',
    loadModels: ['add', 'long'],
    ...(library === undefined ? {} : { backendConfig: { onnxruntime: { library } } }),
  });
}

async function check(server: InferenceServer): Promise<void> {
  const { outputs } = await server.infer('add', { x: row(1) });
  const first = outputs['y']?.as('FP32').data[0];
  if (first !== 2) throw new Error(`ours is wrong: ${first}`);
}

const orders: Record<string, () => Promise<{ server: InferenceServer; theirs: Theirs }>> = {
  before: async () => {
    const theirs = new Theirs();
    await theirs.open();
    await theirs.check();
    return { server: await start(), theirs };
  },
  after: async () => {
    const server = await start();
    await check(server);
    const theirs = new Theirs();
    await theirs.open();
    return { server, theirs };
  },
  around: async () => {
    const theirs = new Theirs();
    const server = await start();
    await theirs.open();
    return { server, theirs };
  },
  // The server is closed when the other package is used, and another one starts afterwards.
  between: async () => {
    const theirs = new Theirs();
    await theirs.open();
    await (await start()).close();
    await theirs.check();
    await theirs.session?.release();
    const server = await start();
    await theirs.open();
    return { server, theirs };
  },
};

async function main(): Promise<void> {
  const both = await orders[order]?.();
  if (!both) return;
  const { server, theirs } = both;
  for (let i = 0; i < 20; i++) {
    await Promise.all([check(server), theirs.check(), check(server), theirs.check()]);
  }
  const { library: used } = server.model('add').runtimeInfo();
  console.log(`version ${used?.version ?? ''}`);
  console.log('ready');
  if (ending === 'natural') {
    // This keeps the server to the end. Otherwise it could be collected, which emits a warning.
    process.once('exit', () => server.ready);
    return;
  }
  if (ending === 'close') {
    await theirs.session?.release();
    await server.close();
    return;
  }
  server.infer('long', { x: row() }).catch(() => undefined);
  void theirs.check();
  setTimeout(() => process.exit(7), 20);
}

// In a worker, tritonts is loaded nowhere else.
if (isMainThread && process.argv.includes('--worker')) {
  const thread = new Worker(new URL(import.meta.url), { argv: [folder, order, ending] });
  thread.on('exit', (code) => (process.exitCode = code));
} else {
  await main();
}
