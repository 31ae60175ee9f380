import assert from 'node:assert/strict';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { createServer, TritonError, type InferenceServer, type LoadEvent } from '../../src/index.js';
import { gate, held } from '../faults/harness.js';
import { addModel } from '../support/models.js';
import { temporaryFolder, writeRepository } from '../support/repository.js';
import {
  chain,
  configText,
  ensemble,
  floats,
  identity,
  onnx,
  rejection,
  row,
  serve,
  start,
  thrown,
  threadCount,
  threadNames,
  turn,
  until,
} from '../support/harness.js';

const explicit = { modelControlMode: 'explicit' } as const;

/** States by model, of its versions or of the model. */
function states(server: InferenceServer): Record<string, string | undefined> {
  return Object.fromEntries(server.index().map(({ name, state }) => [name, state]));
}

test('nothing is loaded unless asked for', async (t) => {
  const server = await serve(t, { a: identity(), b: identity() }, explicit);
  assert.deepEqual(server.index(), [{ name: 'a' }, { name: 'b' }]);
  assert.equal(server.ready, true);
});

test('loadModels names what is loaded at the start', async (t) => {
  const server = await serve(t, { a: identity(), b: identity() }, { ...explicit, loadModels: ['b', 'b'] });
  assert.deepEqual(states(server), { a: undefined, b: 'READY' });
});

test("loadModels: ['*'] loads all", async (t) => {
  const server = await serve(t, { a: identity(), b: identity() }, { ...explicit, loadModels: ['*'] });
  assert.deepEqual(states(server), { a: 'READY', b: 'READY' });
});

test('a name in loadModels that no repository has makes the start fail, with the near miss', async (t) => {
  const error = await rejection(serve(t, { digits: identity() }, { ...explicit, loadModels: ['digit'] }));
  assert.equal(error.code, 'NOT_FOUND');
  assert.match(
    error.message,
    /model 'digit' is in no repository \(did you mean digits\?\): looked in (?:[A-Z]:)?[\\/]/,
  );
});

test('a model that is not loaded has a handle, and its requests are NOT_FOUND', async (t) => {
  const server = await serve(t, { a: identity() }, explicit);
  const model = server.model('a');
  assert.equal(model.ready, false);
  const error = await rejection(model.infer({ x: row() }));
  assert.equal(error.code, 'NOT_FOUND');
  assert.equal(error.message, "model 'a' is not available: it is not loaded");
});

test('loadModel serves it, also to handles from before', async (t) => {
  const server = await serve(t, { add: onnx() }, explicit);
  const model = server.model('add');
  await server.loadModel('add');
  assert.equal(model.ready, true);
  assert.deepEqual(floats(await model.infer({ x: row(1) })), [...row(2)]);
});

test('while a model loads it is LOADING, and its requests are UNAVAILABLE', async (t) => {
  const seen: unknown[] = [];
  const onProgress = ({ version, state }: LoadEvent): void => {
    if (version === undefined || state !== 'LOADING') return;
    seen.push(server.index()[0]?.state, server.ready, rejection(server.infer('add', { x: row() })));
  };
  const server = await serve(t, { add: onnx() }, { ...explicit, onProgress });
  await server.loadModel('add');
  const [state, ready, request] = await Promise.all(seen);
  assert.deepEqual([state, ready], ['LOADING', false]);
  assert.ok(request instanceof TritonError);
  assert.equal(request.code, 'UNAVAILABLE');
  assert.equal(request.message, "model 'add' is not ready: version 1 is LOADING");
});

test('while a model unloads it is UNLOADING, and takes no more requests', async (t) => {
  const closed = await gate(t);
  const server = await serve(t, { slow: held(closed) }, { ...explicit, loadModels: ['*'] });
  const request = server.infer('slow', { x: row(1) });
  const unloading = server.unloadModel('slow');
  await turn();
  assert.equal(states(server)['slow'], 'UNLOADING');
  assert.equal((await rejection(server.infer('slow', { x: row() }))).code, 'UNAVAILABLE');
  await closed.open();
  assert.equal(floats(await request)[0], 1);
  await unloading;
});

test('a model whose folder came later is found', async (t) => {
  const folder = await writeRepository(await temporaryFolder(t), {});
  const server = await start(t, folder, explicit);
  assert.equal((await rejection(server.loadModel('late'))).code, 'NOT_FOUND');
  await writeRepository(folder, { late: identity() });
  await server.loadModel('late');
  assert.deepEqual(states(server), { late: 'READY' });
});

test('a second folder of the same name that came later is refused', async (t) => {
  const first = await writeRepository(await temporaryFolder(t), { twin: identity() });
  const second = await writeRepository(await temporaryFolder(t), {});
  const server = await createServer([first, second], explicit);
  t.after(() => server.close());
  await writeRepository(second, { twin: identity() });
  const error = await rejection(server.loadModel('twin'));
  assert.equal(error.code, 'INVALID_ARG');
  assert.match(error.message, /appears in two or more repositories/);
});

test('a model whose folder is gone is NOT_FOUND, and what is served of it goes on', async (t) => {
  const folder = await writeRepository(await temporaryFolder(t), { a: identity(), b: identity() });
  const server = await start(t, folder, { ...explicit, loadModels: ['a'] });
  await rm(join(folder, 'a'), { recursive: true });
  await rm(join(folder, 'b'), { recursive: true });
  assert.equal((await rejection(server.loadModel('b'))).code, 'NOT_FOUND');
  const error = await rejection(server.loadModel('a'));
  assert.equal(error.code, 'NOT_FOUND');
  assert.match(error.message, /model 'a' is no longer in the repository/);
  assert.equal((await server.infer('a', { x: row() })).model.version, '1');
  assert.deepEqual(states(server), { a: 'READY' });
});

test('a load that fails rejects with the reason, which stays in the index', async (t) => {
  const folder = await writeRepository(await temporaryFolder(t), { bad: onnx(Uint8Array.of(1)) });
  const server = await start(t, folder, explicit);
  const error = await rejection(server.loadModel('bad'));
  assert.equal(error.model, 'bad');
  const [entry] = server.index();
  assert.deepEqual([entry?.state, entry?.reason], ['UNAVAILABLE', error.message]);
  assert.equal(server.ready, false);
});

test('after a failed load the next may succeed', async (t) => {
  const folder = await writeRepository(await temporaryFolder(t), { add: onnx(Uint8Array.of(1)) });
  const server = await start(t, folder, explicit);
  await rejection(server.loadModel('add'));
  await writeFile(join(folder, 'add', '1', 'model.onnx'), addModel());
  await server.loadModel('add');
  assert.deepEqual(server.index(), [{ name: 'add', version: '1', state: 'READY' }]);
});

test('an unloaded model is NOT_FOUND, says so, and is unloaded in the index', async (t) => {
  const server = await serve(t, { a: identity() }, { ...explicit, loadModels: ['*'] });
  await server.unloadModel('a');
  const error = await rejection(server.infer('a', { x: row() }));
  assert.equal(error.code, 'NOT_FOUND');
  assert.equal(error.message, "model 'a' is not available: it was unloaded");
  assert.deepEqual(server.index(), [{ name: 'a', version: '1', state: 'UNAVAILABLE', reason: 'unloaded' }]);
  assert.equal(server.ready, true);
});

test('unloading finishes accepted requests first', async (t) => {
  const server = await serve(
    t,
    { slow: identity({ batching: false, delayMs: 10 }) },
    { ...explicit, loadModels: ['*'] },
  );
  const requests = [1, 2, 3].map((first) => server.infer('slow', { x: row(first) }));
  let answered = 0;
  for (const request of requests) void request.then(() => answered++);
  await server.unloadModel('slow');
  assert.equal(answered, 3);
});

const onLinux = { skip: process.platform !== 'linux' && 'threads are counted there only' };

test('unloading ends the threads of the model', onLinux, async (t) => {
  const models = { warm: identity(), many: identity({ instances: 4, batching: false, delayMs: 5 }) };
  const server = await serve(t, models, { ...explicit, loadModels: ['warm'] });
  await server.infer('warm', { x: row() });
  const before = await threadCount();
  const known = await threadNames();
  const ofModel = async (): Promise<number> =>
    [...(await threadNames())].filter(([id, name]) => name === 'tritonts-model' && !known.has(id)).length;
  // The threads that load models, and one that ends them, live as long as the server.
  const ofTheServer = 4 + 1;
  await server.loadModel('many');
  await Promise.all([1, 2, 3, 4].map(() => server.infer('many', { x: row() })));
  await until(async () => (await ofModel()) === 4);
  await server.unloadModel('many');
  await until(async () => (await ofModel()) === 0);
  await until(async () => (await threadCount()) <= before + ofTheServer - 1);
});

test('an unloaded model can be loaded again', async (t) => {
  const server = await serve(t, { a: identity() }, { ...explicit, loadModels: ['*'] });
  const model = server.model('a');
  await server.unloadModel('a');
  await server.loadModel('a');
  assert.equal((await model.infer({ x: row() })).model.version, '1');
});

test('unloading what is not loaded, or not there, succeeds', async (t) => {
  const server = await serve(t, { a: identity() }, explicit);
  await server.unloadModel('a');
  await server.unloadModel('a');
  await server.unloadModel('nothing');
});

test('a failed model can be unloaded, and is NOT_FOUND then', async (t) => {
  const server = await serve(t, { bad: { config: configText() } }, explicit);
  await rejection(server.loadModel('bad'));
  await server.unloadModel('bad');
  assert.equal((await rejection(server.infer('bad', { x: row() }))).code, 'NOT_FOUND');
  assert.equal(server.ready, true);
});

test('loads and unloads of a model follow each other', async (t) => {
  const server = await serve(t, { a: identity() }, explicit);
  const calls = [
    server.loadModel('a'),
    server.unloadModel('a'),
    server.loadModel('a'),
    server.unloadModel('a'),
  ];
  await Promise.all([...calls, server.loadModel('a')]);
  assert.deepEqual(states(server), { a: 'READY' });
});

test("in mode 'none' models are neither loaded nor unloaded on request", async (t) => {
  const server = await serve(t, { a: identity() });
  for (const call of [() => server.loadModel('a'), () => server.unloadModel('a')]) {
    const error = await rejection(call());
    assert.equal(error.code, 'UNAVAILABLE');
    assert.match(error.message, /only if the server was created with modelControlMode: 'explicit'/);
  }
  assert.equal(server.model('a').ready, true);
});

test('an unknown model is NOT_FOUND with the near miss and the names there are', async (t) => {
  const server = await serve(t, { digits: identity(), words: identity() }, explicit);
  const error = thrown(() => server.model('digit'));
  assert.equal(error.code, 'NOT_FOUND');
  assert.equal(error.model, 'digit');
  assert.match(
    error.message,
    /unknown model 'digit' \(did you mean digits\?\); the server's models are: digits, words/,
  );
});

test('loads and unloads of a model happen in the order of their calls', async (t) => {
  const server = await serve(t, { a: identity() }, explicit);
  const calls = [server.loadModel('a'), server.unloadModel('a')] as const;
  await Promise.all(calls);
  assert.deepEqual(states(server), { a: 'UNAVAILABLE' });
  const again = [server.loadModel('a'), server.unloadModel('a'), server.loadModel('a')] as const;
  await Promise.all(again);
  assert.deepEqual(states(server), { a: 'READY' });
});

test('unloadDependents unloads the models of a load that was called just before', async (t) => {
  const server = await serve(t, { a: identity(), e: ensemble(chain(['a'])) }, explicit);
  await Promise.all([server.loadModel('e'), server.unloadModel('e', { unloadDependents: true })]);
  assert.deepEqual(states(server), { a: 'UNAVAILABLE', e: 'UNAVAILABLE' });
});
