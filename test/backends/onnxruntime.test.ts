import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { addon } from '../../src/addon/load.js';
import type { BackendConfig, InferenceServer, RuntimeInfo } from '../../src/index.js';
import { addModel } from '../support/models.js';
import { graph } from '../support/onnx/graph.js';
import { temporaryFolder, writeRepository, type RepositoryModel } from '../support/repository.js';
import { skipBefore } from '../support/runtime.js';
import { onnx, rejection, row, serve, start, threadCount, until, type Context } from '../support/harness.js';

/**
 * A model y = gelu(x), spelt out behind an Identity. Each level of the runtime's optimisation leaves fewer
 * operators of it.
 */
function gelu(): Uint8Array {
  return graph('gelu')
    .input('x', 'FP32', ['N', 16])
    .initializer('root', 'FP32', [1], [Math.SQRT2])
    .initializer('one', 'FP32', [1], [1])
    .initializer('half', 'FP32', [1], [0.5])
    .node('Identity', ['x'], ['same'])
    .node('Div', ['same', 'root'], ['scaled'])
    .node('Erf', ['scaled'], ['erf'])
    .node('Add', ['erf', 'one'], ['shifted'])
    .node('Mul', ['same', 'shifted'], ['product'])
    .node('Mul', ['product', 'half'], ['y'])
    .output('y', 'FP32', ['N', 16])
    .encode();
}

/** The operators that ran, from the profile that the model writes when it is unloaded. */
async function operators(t: Context, level: number): Promise<string[]> {
  const folder = await temporaryFolder(t);
  const parameters = { profile_file_prefix: join(folder, 'profile') };
  const more = `optimization { graph { level: ${level} } }`;
  const server = await serve(t, { m: onnx(gelu(), { parameters, more }) }, { trustedFolders: [folder] });
  await server.infer('m', { x: row() });
  await server.close();
  const [file] = await readdir(folder);
  assert.ok(file, 'no profile');
  const events = JSON.parse(await readFile(join(folder, file), 'utf8')) as {
    readonly name: string;
    readonly args?: { readonly op_name?: string };
  }[];
  return events.flatMap(({ name, args }) => (name.endsWith('_kernel_time') ? [args?.op_name ?? ''] : []));
}

const spelt = ['Div', 'Erf', 'Add', 'Mul', 'Mul'];

for (const [level, expected] of [
  [2, ['Identity', ...spelt]],
  [-1, spelt],
  [1, ['Gelu']],
  [0, ['Gelu']],
] as const) {
  test(`optimization.graph.level ${level} leaves ${expected.length} operators, as the profile tells`, async (t) => {
    assert.deepEqual(await operators(t, level), expected);
  });
}

test('another graph level is refused, with the levels that exist', async (t) => {
  const error = await rejection(
    serve(t, { m: onnx(gelu(), { more: 'optimization { graph { level: 3 } }' }) }),
  );
  assert.equal(error.code, 'INVALID_ARG');
  assert.match(error.message, /optimization\.graph\.level: expected .* but received 3/);
});

/** A model with parameters and a number of instances. */
function model(parameters: Readonly<Record<string, string | number>> = {}, instances = 1): RepositoryModel {
  return onnx(undefined, { parameters, instances });
}

/** A server of several models. One is loaded, so that the runtime has started its own threads. */
async function warm(
  t: Context,
  models: Readonly<Record<string, RepositoryModel>>,
  options: BackendConfig = {},
): Promise<InferenceServer> {
  const repository = await writeRepository(await temporaryFolder(t), { first: model(), ...models });
  return start(t, repository, {
    modelControlMode: 'explicit',
    loadModels: ['first'],
    modelLoadConcurrency: 1,
    threads: 2,
    backendConfig: { onnxruntime: options },
  });
}

/** Loads a model. Returns its runtime information, and the number of threads that were started for it. */
async function load(server: InferenceServer, name: string): Promise<{ info: RuntimeInfo; threads: number }> {
  const before = await threadCount();
  await server.loadModel(name);
  const threads = (await threadCount()) - before;
  assert.equal((await server.infer(name, { x: row() })).outputs['y']?.data[0], 1);
  return { info: server.model(name).runtimeInfo(), threads };
}

const linux = { skip: process.platform === 'linux' ? false : 'threads are counted in /proc' };

test('a model without settings runs on the shared pool', linux, async (t) => {
  const { info, threads } = await load(await warm(t, { m: model() }), 'm');
  assert.deepEqual([info.sharedPool, info.intraOpThreads, info.spinning, threads], [true, 2, 'off', 0]);
});

test('intra_op_thread_count gives a model threads of its own, which end with it', linux, async (t) => {
  const server = await warm(t, { m: model({ intra_op_thread_count: 5 }) });
  // The first unload starts a thread that stays.
  await server.unloadModel('first');
  const before = await threadCount();
  const { info, threads } = await load(server, 'm');
  // The thread that runs the model is one of the five.
  assert.deepEqual([info.sharedPool, info.intraOpThreads, info.spinning, threads], [false, 5, 'off', 4]);
  await server.unloadModel('m');
  await until(async () => (await threadCount()) === before);
});

/** A model of which more than one thread can work at a run. */
function large(): RepositoryModel {
  const files = { 'model.onnx': addModel(), weights: new Uint8Array(300_000) };
  return { ...model(), versions: { '1': files } };
}

const bounded = skipBefore(26, 'threads that spin within runs');

const twoCores = {
  skip: linux.skip || bounded || (addon().cores() > 1 ? false : 'threads that spin need a second core'),
};

const unbounded = {
  skip: linux.skip || (bounded === false ? 'the installed ONNX Runtime bounds how long threads spin' : false),
};

test(
  'an older runtime cannot bound spinning, so a large model runs on the shared pool',
  unbounded,
  async (t) => {
    const { info, threads } = await load(await warm(t, { m: large() }), 'm');
    assert.deepEqual([info.sharedPool, info.intraOpThreads, info.spinning, threads], [true, 2, 'off', 0]);
  },
);

test('a large model has threads that spin within its runs, and end with it', twoCores, async (t) => {
  const server = await warm(t, { m: large() });
  const { info, threads } = await load(server, 'm');
  assert.deepEqual(
    [info.sharedPool, info.intraOpThreads, info.spinning, threads],
    [false, 2, 'within runs', 1],
  );
});

test('a large model runs on the shared pool if nothing may spin, or it asks for that', linux, async (t) => {
  const before = process.env['TRITONTS_SPIN'];
  process.env['TRITONTS_SPIN'] = '0';
  try {
    assert.equal((await load(await warm(t, { m: large() }), 'm')).info.sharedPool, true);
  } finally {
    if (before === undefined) delete process.env['TRITONTS_SPIN'];
    else process.env['TRITONTS_SPIN'] = before;
  }
  const shared = await warm(t, { m: large() }, { 'enable-global-threadpool': 1 });
  assert.equal((await load(shared, 'm')).info.sharedPool, true);
  const sleeping = await warm(t, { m: large() }, { 'session.intra_op.allow_spinning': 0 });
  assert.equal((await load(sleeping, 'm')).info.sharedPool, true);
});

test('more large models than the process has threads for use the shared pool', twoCores, async (t) => {
  const most = Math.max(16, 4 * addon().cores());
  const names = Array.from({ length: most + 1 }, (_, i) => `m${i}`);
  const server = await warm(t, Object.fromEntries(names.map((name) => [name, large()])));
  // Each has one thread besides the one that asks for the run.
  for (const name of names) await server.loadModel(name);
  const isShared = (name: string): boolean => server.model(name).runtimeInfo().sharedPool;
  assert.deepEqual(names.filter(isShared), [`m${most}`]);
  await server.unloadModel('m0');
  await server.loadModel(`m${most}`, { force: true });
  await until(() => Promise.resolve(!isShared(`m${most}`)));
});

test('several instances share a pool of the threads that they leave', linux, async (t) => {
  const server = await warm(t, { two: model({}, 2), one: model({ intra_op_thread_count: 0 }) });
  const { info, threads } = await load(server, 'two');
  assert.deepEqual([info.sharedPool, info.intraOpThreads, threads], [false, 1, 0]);
  // 0 means the default.
  assert.equal((await load(server, 'one')).info.sharedPool, true);
});

test('inter_op_thread_count counts with execution_mode 1', linux, async (t) => {
  const counts = { intra_op_thread_count: 1, inter_op_thread_count: 4 };
  const server = await warm(t, {
    sequential: model(counts),
    parallel: model({ ...counts, execution_mode: 1 }),
  });
  assert.equal((await load(server, 'sequential')).threads, 0);
  assert.ok((await load(server, 'parallel')).threads >= 3);
});

test('execution_mode 1 alone takes a model out of the shared pool', async (t) => {
  const server = await warm(t, {
    parallel: model({ execution_mode: 1 }),
    sequential: model({ execution_mode: 0 }),
  });
  assert.equal((await load(server, 'parallel')).info.sharedPool, false);
  assert.equal((await load(server, 'sequential')).info.sharedPool, true);
});

test('enable-global-threadpool 1 keeps every model in it, whatever counts it names', linux, async (t) => {
  const models = { m: model({ intra_op_thread_count: 5, execution_mode: 1 }), two: model({}, 2) };
  const server = await warm(t, models, { 'enable-global-threadpool': 1 });
  for (const name of Object.keys(models)) {
    const { info, threads } = await load(server, name);
    assert.deepEqual([info.sharedPool, info.intraOpThreads, threads], [true, 2, 0]);
  }
});

test('enable-global-threadpool 0 gives every model threads of its own', linux, async (t) => {
  for (const off of [0, '0', false]) {
    const server = await warm(t, { m: model() }, { 'enable-global-threadpool': off });
    const { info, threads } = await load(server, 'm');
    assert.deepEqual([info.sharedPool, info.intraOpThreads, threads], [false, 2, 1]);
  }
});

test("a model's parameters win over the backend's configuration", async (t) => {
  const models = {
    general: model(),
    own: model({ intra_op_thread_count: ' 4 ' }),
    none: model({ intra_op_thread_count: 0 }),
  };
  const server = await warm(t, models, { intra_op_thread_count: 3 });
  assert.equal((await load(server, 'general')).info.intraOpThreads, 3);
  assert.equal((await load(server, 'own')).info.intraOpThreads, 4);
  assert.equal((await load(server, 'none')).info.sharedPool, true);
});

test("what only the backend's configuration may say is a hint in a model", async (t) => {
  const server = await warm(t, { m: model({ 'enable-global-threadpool': 0 }) });
  assert.equal((await load(server, 'm')).info.sharedPool, true);
  assert.match(
    server.model('m').notes.join(),
    /parameters\["enable-global-threadpool"\]: accepted, without effect/,
  );
});

for (const [key, value] of [
  ['intra_op_thread_count', 'many'],
  ['intra_op_thread_count', '1.5'],
  ['intra_op_thread_count', '1025'],
  ['inter_op_thread_count', '4096'],
  ['inter_op_thread_count', '-1'],
  ['execution_mode', '2'],
  ['enable_mem_arena', 'yes'],
  ['enable_mem_pattern', '2'],
  ['session.intra_op.allow_spinning', 'on'],
  ['session.use_device_allocator_for_initializers', '0x1'],
] as const) {
  test(`'${value}' is refused for ${key}, in a model and in the backend's configuration`, async (t) => {
    const inModel = await rejection(serve(t, { m: model({ [key]: value }) }));
    const backendConfig = { onnxruntime: { [key]: value } };
    const inBackend = await rejection(serve(t, { m: model() }, { backendConfig }));
    for (const error of [inModel, inBackend]) {
      assert.deepEqual([error.code, error.model], ['INVALID_ARG', 'm']);
      assert.ok(error.message.includes(key) && error.message.includes(value), error.message);
    }
    assert.match(inBackend.message, /backendConfig\.onnxruntime\['/);
    assert.equal(inModel.location?.field, `parameters["${key}"]`);
    assert.ok(inModel.location.line > 0);
    assert.equal(inBackend.location, undefined);
  });
}
