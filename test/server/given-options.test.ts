import assert from 'node:assert/strict';
import { rmdirSync } from 'node:fs';
import { mkdir, mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { pathToFileURL } from 'node:url';
import {
  createServer,
  type BackendConfig,
  type InferenceServer,
  type ServerOptions,
} from '../../src/index.js';
import { sumAndDifferenceModel } from '../support/models.js';
import { temporaryFolder, writeRepository } from '../support/repository.js';
import { identity, onnx, rejection, row, serve } from '../support/harness.js';

/** A server that closes with its test. */
async function closing(t: TestContext, starting: Promise<InferenceServer>): Promise<InferenceServer> {
  const server = await starting;
  t.after(() => server.close({ timeoutMs: 0 }));
  return server;
}

function names(server: InferenceServer): string[] {
  return server.index().map(({ name }) => name);
}

/** Calls a function while `folder` is the working directory. */
function inFolder<T>(folder: string, call: () => T): T {
  const before = process.cwd();
  process.chdir(folder);
  try {
    return call();
  } finally {
    process.chdir(before);
  }
}

test('a relative path starts at the working directory of the call, not at a later one', async (t) => {
  const folder = await temporaryFolder(t);
  await mkdir(join(folder, 'models'));
  await writeRepository(join(folder, 'models'), { echo: identity() });
  const alone = await closing(
    t,
    inFolder(folder, () => createServer('./models')),
  );
  assert.deepEqual(names(alone), ['echo']);
  const listed = await closing(
    t,
    inFolder(folder, () => createServer({ modelRepository: ['models'] })),
  );
  assert.deepEqual(names(listed), ['echo']);
});

const onPosix = { skip: process.platform === 'win32' && 'no working directory is removed there' };

test(
  'without a working directory a relative path is refused, and an absolute one taken',
  onPosix,
  async (t) => {
    const repository = await writeRepository(await temporaryFolder(t), { echo: identity() });
    const gone = await mkdtemp(join(tmpdir(), 'tritonts-'));
    const [absolute, relative] = inFolder(gone, () => {
      rmdirSync(gone);
      return [createServer(repository), rejection(createServer('models'))] as const;
    });
    assert.deepEqual(names(await closing(t, absolute)), ['echo']);
    const error = await relative;
    assert.equal(error.code, 'INVALID_ARG');
    assert.match(error.message, /absolute path for options\.modelRepository.*'models'/);
  },
);

test('what is changed in the options after the call has no effect', async (t) => {
  const repository = await writeRepository(await temporaryFolder(t), { a: identity(), b: identity() });
  const url = pathToFileURL(repository);
  const modelRepository = [url];
  const loadModels = ['a'];
  const ofRuntime: Record<string, string | number | boolean> = { 'default-max-batch-size': 4 };
  const backendConfig: Record<string, BackendConfig> = { onnxruntime: ofRuntime };
  const options: { -readonly [K in keyof ServerOptions]: ServerOptions[K] } = {
    modelRepository,
    modelControlMode: 'explicit',
    loadModels,
    backendConfig,
  };
  const starting = createServer(options);
  url.pathname = '/nowhere';
  modelRepository.push(new URL('file:///nowhere'));
  loadModels.push('nothing');
  ofRuntime['nonsense'] = true;
  backendConfig['nobody'] = {};
  options.modelControlMode = 'none';
  const server = await closing(t, starting);
  const ready = server.index({ ready: true }).map(({ name }) => name);
  assert.deepEqual(ready, ['a']);
  await server.loadModel('b');
});

test('the source beside the options is read at the call, too', async (t) => {
  const sources = [await writeRepository(await temporaryFolder(t), { echo: identity() })];
  const starting = createServer(sources);
  sources[0] = '/nowhere';
  assert.deepEqual(names(await closing(t, starting)), ['echo']);
});

test('what is changed in the options of a load after the call has no effect', async (t) => {
  const server = await serve(t, { echo: identity() }, { modelControlMode: 'explicit' });
  const { config, versions } = onnx();
  assert.ok(config !== undefined);
  const model = versions?.['1'];
  assert.ok(model instanceof Uint8Array);
  const bytes = new Uint8Array(model);
  const input = { name: 'x', data_type: 'TYPE_FP32', dims: [16] } as const;
  const dims: number[] = [16];
  const files: Record<string, Uint8Array> = { '1/model.onnx': bytes };
  const given = {
    config: {
      backend: 'onnxruntime',
      max_batch_size: 8,
      input: [{ ...input, dims }],
      output: [{ ...input, name: 'y' }],
    },
    files,
  };
  const loading = server.loadModel('add', given);
  bytes.fill(0);
  delete files['1/model.onnx'];
  dims[0] = 7;
  given.config.max_batch_size = 3;
  await loading;
  assert.equal(server.model('add').config.max_batch_size, 8);
  const { outputs } = await server.infer('add', { x: row(1) });
  assert.deepEqual(outputs['y']?.data, row(2));
});

test('what is changed in the options of map after the call has no effect', async (t) => {
  const model = onnx(sumAndDifferenceModel(), {
    inputs: [{ name: 'a' }, { name: 'b' }],
    outputs: [{ name: 'sum' }, { name: 'difference' }],
  });
  const server = await serve(t, { model });
  const wanted = { name: 'sum' };
  const outputs: (string | { name: string })[] = [wanted];
  const results = server.model('model').map(
    [1, 2, 3].map((x) => ({ a: row(x), b: row(x) })),
    { outputs, concurrency: 1 },
  );
  wanted.name = 'difference';
  outputs.push('difference');
  for await (const result of results) assert.deepEqual(Object.keys(result.outputs), ['sum']);
});
