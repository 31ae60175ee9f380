import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { createServer, InferenceServer, type ServerOptions } from '../../src/index.js';
import { temporaryFolder, writeRepository } from '../support/repository.js';
import {
  identity,
  onnx,
  rejection,
  row,
  serve,
  start,
  threadNames,
  thrown,
  type Context,
} from '../support/harness.js';

const onLinux = { skip: process.platform !== 'linux' && 'threads are counted there only' };

/** A repository with one model. */
async function repository(context: Context, name = 'echo'): Promise<string> {
  return writeRepository(await temporaryFolder(context), { [name]: identity() });
}

function names(server: InferenceServer): string[] {
  return server.index().map(({ name }) => name);
}

test('a server of a path answers', async (t) => {
  const server = await start(t, await writeRepository(await temporaryFolder(t), { add: onnx() }));
  const { outputs } = await server.infer('add', { x: row(1) });
  assert.deepEqual(outputs['y']?.data, row(2));
});

test('a repository may be a file URL', async (t) => {
  const server = await createServer(pathToFileURL(await repository(t)));
  t.after(() => server.close());
  assert.deepEqual(names(server), ['echo']);
});

test('a repository may be a file URL in a string, whose scheme has no case', async (t) => {
  const { href } = pathToFileURL(await repository(t));
  for (const url of [href, href.replace('file:', 'FILE:')]) {
    const server = await createServer(url);
    t.after(() => server.close());
    assert.deepEqual(names(server), ['echo'], url);
  }
});

test('models of several repositories are served together', async (t) => {
  const server = await createServer([await repository(t, 'b'), pathToFileURL(await repository(t, 'a'))]);
  t.after(() => server.close());
  assert.deepEqual(names(server), ['a', 'b']);
});

test('everything may be given in one object', async (t) => {
  const server = await createServer({ modelRepository: await repository(t), modelControlMode: 'explicit' });
  t.after(() => server.close());
  assert.deepEqual(server.index(), [{ name: 'echo' }]);
});

test('InferenceServer.create is createServer', () => {
  assert.equal(InferenceServer.create, createServer);
});

test('a server cannot be made with new', () => {
  const Constructor = InferenceServer as unknown as new () => InferenceServer;
  const error = thrown(() => new Constructor());
  assert.equal(error.code, 'INVALID_ARG');
  assert.match(error.message, /use await createServer/);
});

for (const options of [{ exitOnError: false }, { modelControlMode: 'explicit' }] as const) {
  test(`with ${JSON.stringify(options)} an empty repository is a server without models`, async (t) => {
    const server = await start(t, await temporaryFolder(t), options);
    assert.deepEqual(server.index(), []);
    assert.equal(server.ready, true);
  });
}

void suite('createServer rejects, and does not throw, for', () => {
  const cases: readonly (readonly [string, readonly unknown[], RegExp])[] = [
    ['no argument', [], /expected the path of a model repository, or options, but received undefined$/],
    ['a number', [7], /expected the path of a model repository, or options, but received 7 of type number$/],
    ['an empty list', [[]], /expected at least one folder/],
    ['an unknown option', ['models', { exitOnEror: false }], /did you mean exitOnError\?/],
    ['options that are no object', ['models', true], /expected an object for options but received true/],
    [
      'a repository given twice',
      ['models', { modelRepository: 'models' }],
      /the model repository is given twice/,
    ],
    ['options given twice', [{ modelRepository: 'models' }, {}], /options are given twice/],
  ];
  for (const [title, args, message] of cases) {
    test(title, async () => {
      const call = createServer as (...args: readonly unknown[]) => Promise<InferenceServer>;
      const error = await rejection(call(...args));
      assert.equal(error.code, 'INVALID_ARG');
      assert.match(error.message, message);
    });
  }
});

test('a repository that is not there is NOT_FOUND, and is named', async () => {
  const error = await rejection(createServer('/no/such/models'));
  assert.equal(error.code, 'NOT_FOUND');
  assert.match(
    error.message,
    /'(?:[A-Z]:)?[\\/]no[\\/]such[\\/]models': there is no such folder \(working directory: (?:[A-Z]:)?[\\/]/,
  );
});

test('one missing repository among others is enough', async (t) => {
  const error = await rejection(createServer([await repository(t), '/no/such/models']));
  assert.equal(error.code, 'NOT_FOUND');
});

test('metadata tells what the server is', async (t) => {
  const server = await serve(t, {});
  const { name, version, extensions, backends, devices } = server.metadata();
  assert.equal(name, 'tritonts');
  assert.match(version, /^\d+\.\d+\.\d+/);
  assert.ok(extensions.includes('statistics') && !extensions.includes('model_repository'));
  assert.ok(backends.includes('onnxruntime'));
  assert.deepEqual(devices, ['cpu']);
});

test('metadata of an explicit server has the extension that loads models', async (t) => {
  const server = await serve(t, {}, { modelControlMode: 'explicit' });
  assert.ok(server.metadata().extensions.includes('model_repository'));
});

test('threads is how many cores the models get', async (t) => {
  const options: Partial<ServerOptions> = { threads: 4 };
  const server = await serve(t, { two: onnx(undefined, { instances: 2 }) }, options);
  const info = server.model('two').runtimeInfo();
  assert.equal(info.instances.length, 2);
  assert.equal(info.sharedPool, false);
  assert.equal(info.intraOpThreads, 3);
  assert.equal(info.spinning, 'off');
});

test('modelLoadConcurrency is how many threads load models at most', onLinux, async (t) => {
  const models = Object.fromEntries(Array.from({ length: 10 }, (_, i) => [`m${i}`, identity()]));
  const before = await threadNames();
  await serve(t, models, { modelLoadConcurrency: 2 });
  const added = [...(await threadNames())].filter(
    ([id, name]) => name === 'tritonts-load' && !before.has(id),
  );
  assert.ok(added.length === 1 || added.length === 2, `${added.length} threads`);
});

test('a model with one instance shares the pool of the runtime', async (t) => {
  const server = await serve(t, { one: onnx() });
  const info = server.model('one').runtimeInfo();
  assert.deepEqual(info.instances, [{ name: 'one_0_0', kind: 'KIND_CPU', device: 0 }]);
  assert.equal(info.sharedPool, true);
  assert.ok(info.intraOpThreads >= 1);
});

test('a backend without a library tells none', async (t) => {
  const server = await serve(t, { echo: identity() });
  assert.equal(server.model('echo').runtimeInfo().library, undefined);
});
