/** When polls run, how they end, and what they do in each mode. */

import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { attachServer, registerBackend, type InferenceServer } from '../../../src/index.js';
import { script } from '../../javascript/harness.js';
import { configText, onnx, rejection, row, serve, start, until } from '../../support/harness.js';
import { addModel } from '../../support/models.js';
import { temporaryFolder, writeRepository, type RepositoryModel } from '../../support/repository.js';
import { addend, polled, settle, short, states } from './harness.js';

const add = onnx(addModel());
const more = onnx(addModel({ addend: 5 }));

/** A model whose load waits for a file. */
const waiting = (file: string): RepositoryModel =>
  script(`import { existsSync, writeFileSync } from 'node:fs';
    export default class {
      async initialize() {
        writeFileSync(${JSON.stringify(`${file}.begun`)}, '');
        while (!existsSync(${JSON.stringify(file)})) await new Promise((resolve) => setTimeout(resolve, 1));
      }
      execute(requests) { return requests.map(({ inputs }) => ({ y: inputs.x.data })); }
    }`);

test('the server polls by itself, and goes on after each change', async (t) => {
  const { server, folder } = await polled(t, { add }, { repositoryPollMs: 1 });
  for (let round = 0; round < 3; round++) {
    await writeRepository(folder, { more: onnx(addModel({ addend: round })) });
    await until(async () => (await addend(server, 'more').catch(() => NaN)) === round);
    await rm(join(folder, 'more'), { recursive: true });
    await until(() => !states(server).some((state) => state.startsWith('more')));
  }
});

test('a repository may be empty at the start', async (t) => {
  const folder = await temporaryFolder(t);
  const server = await start(t, folder, { modelControlMode: 'poll', repositoryPollMs: 0 });
  assert.deepEqual(server.index(), []);
  await writeRepository(folder, { add });
  assert.equal(await settle(server), '+add:1');
});

test('calls during a poll share the one that follows it', async (t) => {
  const { server, folder } = await polled(t, { add });
  const file = join(await temporaryFolder(t), 'go');
  await writeRepository(folder, { slow: waiting(file) });
  await server.rescan();
  const first = server.rescan();
  await until(() => states(server).includes('slow 1 LOADING'));
  await writeRepository(folder, { more });
  const later = [server.rescan(), server.rescan(), server.rescan()];
  await writeFile(file, '');
  assert.equal(short(await first), '+slow:1');
  const results = await Promise.all(later);
  assert.equal(new Set(results).size, 1);
  assert.equal(results[0] && short(results[0]), '?more');
  assert.equal(short(await server.rescan()), '+more:1');
});

test('close() during a poll ends it', async (t) => {
  const { server, folder } = await polled(t, { add });
  const file = join(await temporaryFolder(t), 'go');
  await writeRepository(folder, { slow: waiting(file) });
  await server.rescan();
  const polls = [rejection(server.rescan()), rejection(server.rescan())];
  await until(() => states(server).includes('slow 1 LOADING'));
  const closed = server.close({ timeoutMs: 0 });
  await writeFile(file, '');
  await closed;
  for (const poll of polls) assert.equal((await poll).code, 'CANCELLED');
  const error = await rejection(server.rescan());
  assert.deepEqual([error.code, error.reason], ['UNAVAILABLE', 'CLOSED']);
});

test('close() right after a poll has begun ends it, again and again', async (t) => {
  const folder = await writeRepository(await temporaryFolder(t), { add, more });
  for (let round = 0; round < 20; round++) {
    const server = await start(t, folder, { modelControlMode: 'poll', repositoryPollMs: 1 });
    const poll = server.rescan().catch((error: unknown) => error);
    for (let turns = 0; turns < round % 5; turns++) await new Promise((resolve) => setImmediate(resolve));
    await server.close();
    await poll;
  }
});

test('in mode none a look does the same, and nothing happens by itself', async (t) => {
  const folder = await writeRepository(await temporaryFolder(t), { add });
  const server = await start(t, folder, {
    models: {
      given: { files: { 'config.pbtxt': Buffer.from(more.config ?? ''), 'model.onnx': addModel() } },
    },
  });
  await writeRepository(folder, { more });
  assert.equal(await settle(server), '+more:1');
  await rm(join(folder, 'add'), { recursive: true });
  assert.equal(await settle(server), '-add');
  // What the program gave is in no repository, and stays.
  assert.equal(await addend(server, 'given'), 1);
});

test('in mode explicit only what was loaded from a repository is brought up to date', async (t) => {
  const models = { add, more, config: add, other: add };
  const folder = await writeRepository(await temporaryFolder(t), models);
  const server = await start(t, folder, { modelControlMode: 'explicit', loadModels: ['add', 'more'] });
  const files = { 'config.pbtxt': Buffer.from(add.config ?? ''), 'model.onnx': addModel({ addend: 7 }) };
  await server.loadModel('files', { files });
  await server.loadModel('config', { config: { max_batch_size: 3 } });
  const changed = { versions: { '1': addModel({ addend: 2 }) } };
  await writeRepository(folder, { add: changed, config: changed, other: changed, fresh: add });
  await rm(join(folder, 'more'), { recursive: true });
  assert.equal(short(await server.rescan()), '?add ?more');
  assert.equal(short(await server.rescan()), '~add:1-1 -more');
  assert.deepEqual([await addend(server), await addend(server, 'config')], [2, 1]);
  assert.equal(await addend(server, 'files'), 7);
  assert.ok(states(server).includes('fresh'), 'a new model is known, and not loaded');
  assert.ok(states(server).includes('other'));
  // A load finds that a poll has loaded these files.
  assert.deepEqual(await server.loadModel('add'), { changed: false });
  assert.deepEqual(await server.loadModel('add', { force: true }), { changed: true });
});

test('an unload during a poll wins', async (t) => {
  const folder = await writeRepository(await temporaryFolder(t), { add });
  const options = { modelControlMode: 'explicit', loadModels: ['add'] } as const;
  const server = await start(t, folder, options);
  await writeRepository(folder, { add: more });
  await server.rescan();
  await Promise.all([server.rescan(), server.unloadModel('add')]);
  assert.deepEqual(server.index({ ready: true }), []);
  assert.equal(await settle(server), '');
  assert.deepEqual(server.index({ ready: true }), []);
});

test('a model that the program gives while a poll takes it for removed stays', async (t) => {
  const file = join(await temporaryFolder(t), 'go');
  const slow = script('export default class { execute() { return []; } }');
  const folder = await writeRepository(await temporaryFolder(t), { add, slow });
  const server = await start(t, folder, { modelControlMode: 'explicit', loadModels: ['add', 'slow'] });
  await writeRepository(folder, { slow: waiting(file) });
  await rm(join(folder, 'add'), { recursive: true });
  await server.rescan();
  const poll = server.rescan();
  await until(() => existsSync(`${file}.begun`));
  const files = { 'config.pbtxt': Buffer.from(add.config ?? ''), 'model.onnx': addModel({ addend: 7 }) };
  await server.loadModel('add', { files });
  await writeFile(file, '');
  assert.equal(short(await poll), '~slow:1-1');
  assert.equal(await addend(server), 7);
});

test('only mode explicit allows loads and unloads', async (t) => {
  const { server } = await polled(t, { add });
  for (const call of [server.loadModel('add'), server.unloadModel('add')]) {
    const error = await rejection(call);
    assert.deepEqual([error.code, error.reason], ['UNAVAILABLE', 'NOT_ALLOWED']);
  }
  assert.deepEqual(server.metadata().extensions, ['model_configuration', 'statistics']);
});

test('a poll that a model asks for while it loads does not wait for itself', async (t) => {
  const said: string[] = [];
  let server: InferenceServer | undefined;
  registerBackend(
    'rescans',
    class {
      async initialize() {
        if (server) said.push(await server.rescan().then(short, (error: unknown) => String(error)));
      }
      execute() {
        return [];
      }
    },
  );
  const config = configText({ backend: 'identity' }).replace('identity', 'rescans');
  const own = { config, versions: { '1': { 'weights.bin': 'w' } } };
  const { server: polling, folder } = await polled(t, { add });
  server = polling;
  await writeRepository(folder, { own });
  assert.equal(await settle(polling), '+own:1');
  assert.match(
    said.join(),
    /would wait for itself: load of 'own' → poll of the repositories → load of 'own'/,
  );
  // One that a poll does not wait for may ask.
  said.length = 0;
  const other = await writeRepository(await temporaryFolder(t), { own });
  server = await start(t, other, { modelControlMode: 'explicit', loadModels: [] });
  await server.loadModel('own');
  assert.deepEqual(said, ['?own']);
});

test('an attached server cannot look', async (t) => {
  const server = await serve(t, { add });
  const attached = await attachServer(server.handle);
  t.after(() => attached.close());
  assert.equal((await rejection(attached.rescan())).code, 'UNSUPPORTED');
  await server.infer('add', { x: row() });
});

test('onProgress hears of the loads of polls, and what it throws ends nothing', async (t) => {
  const heard: string[] = [];
  const told: string[] = [];
  let isReady = false;
  const { server, folder } = await polled(
    t,
    { add },
    {
      logger: { error: (message) => void told.push(message) },
      onProgress: ({ model, state, done, total }) => {
        if (!isReady) return;
        heard.push(`${model} ${state} ${done}/${total}`);
        throw new Error('not now');
      },
    },
  );
  isReady = true;
  await writeRepository(folder, { more });
  assert.equal(await settle(server), '+more:1');
  assert.deepEqual(heard, ['more LOADING 1/2']);
  assert.deepEqual(told, ['options.onProgress threw during a poll: not now']);
});
