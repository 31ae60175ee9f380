/** The registry asks nothing but its sources: a third one, which is neither folder nor memory, serves models like these. */

import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { test } from 'node:test';
import { unavailable } from '../../../src/errors.js';
import type { InferenceServer } from '../../../src/index.js';
import { configText, floats, rejection, row, until } from '../../support/harness.js';
import { addModel } from '../../support/models.js';
import { MapSource } from './map-source.js';
import { gate, serve } from './serve.js';

const config = configText();

/** A repository with models that add 1 and 2. */
function addModels(): MapSource {
  return new MapSource({
    'one/config.pbtxt': config,
    'one/1/model.onnx': addModel({ addend: 1 }),
    'two/config.pbtxt': config,
    'two/1/model.onnx': addModel({ addend: 1 }),
    'two/2/model.onnx': addModel({ addend: 2 }),
  });
}

const sum = async (server: InferenceServer, model: string): Promise<number | undefined> =>
  floats(await server.infer(model, { x: row(0) }))[0];

test('models are listed, loaded in the versions that are chosen, and served', async (t) => {
  const source = addModels();
  const server = await serve(t, source);
  assert.deepEqual(server.index(), [{ name: 'one' }, { name: 'two' }]);
  assert.deepEqual(await server.loadModel('one'), { changed: true });
  assert.deepEqual(await server.loadModel('two'), { changed: true });
  assert.deepEqual([await sum(server, 'one'), await sum(server, 'two')], [1, 2]);
  assert.deepEqual(source.calls, [
    'list',
    ...['list', 'read one', 'materialise one 1'],
    ...['list', 'read two', 'materialise two 2'],
  ]);
});

test('a model is loaded again where its stamp has changed, and not read where it has not', async (t) => {
  const source = addModels();
  const server = await serve(t, source, { loadModels: ['one'] });
  const [before] = source.local.values();
  source.calls.length = 0;
  assert.deepEqual(await server.loadModel('one'), { changed: false });
  assert.deepEqual(source.calls, ['list', 'stamp one']);
  source.write('one/1/model.onnx', addModel({ addend: 5 }));
  assert.deepEqual(await server.loadModel('one'), { changed: true });
  assert.equal(await sum(server, 'one'), 5);
  // The load does not wait for the end of the old version.
  await until(() => source.local.size === 1);
  assert.ok(!existsSync(before ?? ''));
  assert.deepEqual(await server.loadModel('one'), { changed: false });
});

test('a function that fails gives an error with a code and the name of the model, and the old version goes on', async (t) => {
  const source = addModels();
  const server = await serve(t, source, { loadModels: ['one'] });
  source.write('one/1/model.onnx', addModel({ addend: 5 }));
  for (const point of ['stamp', 'read', 'materialise'] as const) {
    source.faults.set(point, new Error('the network is down'));
    const error = await rejection(server.loadModel('one'));
    assert.deepEqual([error.code, error.model], ['INTERNAL', 'one'], point);
    assert.equal(error.message, "model 'one': the network is down");
    source.faults.set(point, unavailable('SYSTEM_REFUSED', 'the store is away'));
    const coded = await rejection(server.loadModel('one'));
    assert.deepEqual(
      [coded.code, coded.reason, coded.model],
      ['UNAVAILABLE', 'SYSTEM_REFUSED', 'one'],
      point,
    );
    source.faults.delete(point);
    assert.equal(await sum(server, 'one'), 1);
    assert.equal(source.local.size, 1, point);
  }
  source.faults.set('list', new Error('the network is down'));
  const error = await rejection(server.loadModel('one'));
  assert.equal(error.code, 'INTERNAL');
  assert.equal(error.message, "model repository 'map://bucket' cannot be listed: the network is down");
  source.faults.clear();
  assert.deepEqual(await server.loadModel('one'), { changed: true });
  assert.equal(await sum(server, 'one'), 5);
});

test('what a model is refused for names its place, and its files are removed', async (t) => {
  const source = addModels();
  source.write('wrong/config.pbtxt', `${config}\nnonsense: 1`);
  source.write('cut/config.pbtxt', config);
  source.write('cut/1/model.onnx', addModel().subarray(0, 40));
  source.write('empty/config.pbtxt', config);
  const server = await serve(t, source);
  assert.match((await rejection(server.loadModel('wrong'))).message, /map:\/\/bucket\/wrong\/config\.pbtxt/);
  assert.equal((await rejection(server.loadModel('empty'))).code, 'INVALID_ARG');
  assert.match((await rejection(server.loadModel('cut'))).message, /is cut off/);
  assert.equal(source.local.size, 0);
  const unknown = await rejection(server.loadModel('three'));
  assert.match(unknown.message, /model 'three' is in no repository.*: looked in map:\/\/bucket/);
});

test('files that were materialised are removed after the unload, and those that are left after the close', async (t) => {
  const source = addModels();
  const server = await serve(t, source, { loadModels: ['*'] });
  const folders = [...source.local].sort().map(([, folder]) => folder);
  assert.equal(folders.length, 2);
  assert.ok(folders.every((folder) => existsSync(folder)));
  await server.unloadModel('one');
  assert.deepEqual(
    folders.map((folder) => existsSync(folder)),
    [false, true],
  );
  await server.close();
  assert.equal(source.local.size, 0);
  assert.ok(!folders.some((folder) => existsSync(folder)));
});

test('files are removed after the last of the versions that they are for', async (t) => {
  const source = addModels();
  source.write('two/config.pbtxt', `${config}\nversion_policy { all {} }`);
  const server = await serve(t, source, { loadModels: ['two'] });
  assert.deepEqual(
    server.index().map(({ version }) => version),
    [undefined, '1', '2'],
  );
  assert.equal(source.local.size, 1);
  source.write('two/config.pbtxt', config);
  await server.loadModel('two');
  await until(() => source.local.size === 1);
  assert.equal(await sum(server, 'two'), 2);
  await server.unloadModel('two');
  assert.equal(source.local.size, 0);
});

test('a server closes while a source has not answered, and what comes late is removed', async (t) => {
  const source = addModels();
  const server = await serve(t, source);
  const answer = gate();
  source.waits.set('materialise', answer.promise);
  const load = rejection(server.loadModel('one'));
  await until(() => source.calls.includes('materialise one 1'));
  await server.close();
  answer.open();
  assert.equal((await load).code, 'CANCELLED');
  assert.equal(source.local.size, 0);
});

test('a load during a listing has one that begins after it', async (t) => {
  const source = addModels();
  const server = await serve(t, source);
  const answer = gate();
  source.waits.set('list', answer.promise);
  source.calls.length = 0;
  const first = server.loadModel('one');
  await until(() => source.calls.includes('list'));
  source.waits.delete('list');
  source.write('new/config.pbtxt', config);
  source.write('new/1/model.onnx', addModel({ addend: 7 }));
  const second = server.loadModel('new');
  await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual(source.calls, ['list']);
  answer.open();
  await Promise.all([first, second]);
  assert.equal(source.calls.filter((call) => call === 'list').length, 2);
  assert.ok(server.index().some(({ name }) => name === 'new'));
  assert.equal(await sum(server, 'new'), 7);
});

test('a close waits for files of old versions that are being removed', async (t) => {
  const source = addModels();
  const server = await serve(t, source, { loadModels: ['one'] });
  const removal = gate();
  source.waits.set('release', removal.promise);
  await server.loadModel('one', { force: true });
  const released = (): string[] => source.calls.filter((call) => call.startsWith('release'));
  await until(() => released().length === 1);
  assert.equal(source.local.size, 2, 'the removal has begun');
  const closed = server.close();
  await until(() => released().length === 2);
  assert.equal(source.local.size, 2, 'the removal has not ended');
  removal.open();
  await closed;
  assert.equal(source.local.size, 0);
  assert.equal(new Set(released()).size, 2);
  assert.equal(released().length, 2, 'each was released once');
});

test('a model that moves to another place is loaded again, whatever its stamp there', async (t) => {
  const source = addModels();
  const server = await serve(t, source, { loadModels: ['one'] });
  source.place = 'map://other';
  assert.deepEqual(await server.loadModel('one'), { changed: true });
  assert.deepEqual(await server.loadModel('one'), { changed: false });
});

test('a model whose load is under way is not forgotten by a listing that lacks it', async (t) => {
  const source = addModels();
  const server = await serve(t, source);
  const reading = gate();
  source.waits.set('read', reading.promise);
  const load = server.loadModel('one');
  await until(() => source.calls.includes('read one'));
  source.waits.delete('read');
  const files = [...source.files].filter(([path]) => path.startsWith('one/'));
  for (const [path] of files) source.files.delete(path);
  // Lists the source.
  await server.loadModel('two');
  for (const [path, content] of files) source.write(path, content);
  reading.open();
  assert.deepEqual(await load, { changed: true });
  assert.equal(await sum(server, 'one'), 1);
  await server.unloadModel('one');
  assert.equal((await rejection(server.infer('one', { x: row(0) }))).code, 'NOT_FOUND');
  await server.unloadModel('two');
  await until(() => source.local.size === 0);
});

test('a model that leaves the repository while its load fails is forgotten by the next listing', async (t) => {
  const source = addModels();
  const server = await serve(t, source);
  const reading = gate();
  source.waits.set('read', reading.promise);
  const load = rejection(server.loadModel('one'));
  await until(() => source.calls.includes('read one'));
  source.waits.delete('read');
  for (const path of [...source.files.keys()]) if (path.startsWith('one/')) source.files.delete(path);
  await server.loadModel('two');
  source.faults.set('read', new Error('gone'));
  reading.open();
  await load;
  source.faults.delete('read');
  await server.loadModel('two');
  assert.deepEqual(
    server.index().map(({ name }) => name),
    ['two'],
  );
});

test('a source that rejects with a value without a text fails the load with a coded error', async (t) => {
  for (const thrown of [Object.create(null), Symbol('no text'), revoked()] as readonly unknown[]) {
    const source = addModels();
    const server = await serve(t, source);
    source.faults.set('read', thrown as Error);
    const error = await rejection(server.loadModel('one'));
    assert.deepEqual([error.code, error.model], ['INTERNAL', 'one']);
    assert.equal(server.index().find(({ name }) => name === 'one')?.state, 'UNAVAILABLE');
    source.faults.clear();
    source.faults.set('list', Object.create(null) as Error);
    const listed = await rejection(server.loadModel('one'));
    assert.deepEqual([listed.code, /cannot be listed/.test(listed.message)], ['INTERNAL', true]);
    source.faults.clear();
    assert.deepEqual(await server.loadModel('one'), { changed: true });
  }
});

/** A proxy that throws whatever it is asked. */
function revoked(): object {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
}
