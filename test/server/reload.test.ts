import assert from 'node:assert/strict';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import type { InferenceServer } from '../../src/index.js';
import { addModel, unsupportedOperatorModel } from '../support/models.js';
import { temporaryFolder, writeRepository } from '../support/repository.js';
import {
  configText,
  floats,
  onnx,
  rejection,
  row,
  start,
  statisticsAfter,
  until,
  type Context,
} from '../support/harness.js';

const all = 'version_policy { all { } }';

/** A server in explicit mode with y = x + 1, and its folder. */
async function adder(context: Context, more = ''): Promise<{ server: InferenceServer; folder: string }> {
  const folder = await writeRepository(await temporaryFolder(context), { add: onnx(addModel(), { more }) });
  const server = await start(context, folder, { modelControlMode: 'explicit', loadModels: ['add'] });
  return { server, folder };
}

/** Replaces the model's file by y = x + addend, as a deployment does. */
async function replace(folder: string, addend: number, version = '1'): Promise<void> {
  await writeRepository(folder, { add: { versions: { [version]: addModel({ addend }) } } });
}

/** The number that the model adds. */
async function addend(server: InferenceServer, version?: number): Promise<number> {
  return floats(await server.infer('add', { x: row(0) }, { version }))[0] ?? NaN;
}

test('a changed file is served after loadModel, and not before', async (t) => {
  const { server, folder } = await adder(t);
  await replace(folder, 10);
  assert.equal(await addend(server), 1);
  await server.loadModel('add');
  assert.equal(await addend(server), 10);
});

test('no request fails while a model is reloaded twenty times', async (t) => {
  const { server, folder } = await adder(t);
  const model = server.model('add');
  let stop = false;
  const seen = new Set<number>();
  const caller = async (): Promise<void> => {
    while (!stop) {
      const { outputs } = await model.infer({ x: row(0) });
      seen.add(outputs['y']?.as('FP32').data[0] ?? NaN);
    }
  };
  const callers = Promise.all(Array.from({ length: 16 }, caller));
  for (let addend = 1; addend <= 20; addend++) {
    await replace(folder, addend);
    await server.loadModel('add');
    await until(() => seen.has(addend));
  }
  stop = true;
  await callers;
  assert.equal(seen.size, 20);
});

test('a request from before is answered by the version it met', async (t) => {
  const { server, folder } = await adder(t);
  await replace(folder, 10);
  const before = addend(server);
  await server.loadModel('add');
  assert.deepEqual([await before, await addend(server)], [1, 10]);
});

test('a load that fails keeps what is served', async (t) => {
  const { server, folder } = await adder(t);
  await writeFile(join(folder, 'add', '1', 'model.onnx'), unsupportedOperatorModel());
  const error = await rejection(server.loadModel('add'));
  assert.match(error.message, /NoSuchOperator/);
  assert.equal(await addend(server), 1);
  assert.deepEqual(server.index(), [{ name: 'add', version: '1', state: 'READY' }]);
});

test('a config with a mistake keeps what is served', async (t) => {
  const { server, folder } = await adder(t);
  await writeFile(join(folder, 'add', 'config.pbtxt'), 'max_batchsize: 8');
  assert.equal((await rejection(server.loadModel('add'))).code, 'INVALID_ARG');
  assert.equal(await addend(server), 1);
});

test('a new version that fails is in the index beside the one that is served', async (t) => {
  const { server, folder } = await adder(t);
  await writeRepository(folder, { add: { versions: { '2': unsupportedOperatorModel() } } });
  await rejection(server.loadModel('add'));
  const states = server.index().map(({ version, state }) => `${version ?? ''} ${state ?? ''}`);
  assert.deepEqual(states, ['1 READY', '2 UNAVAILABLE']);
  assert.equal(await addend(server), 1);
  const error = await rejection(addend(server, 2));
  assert.equal(error.code, 'UNAVAILABLE');
  assert.match(error.message, /NoSuchOperator/);
});

test('when the version that failed is taken away, the model is as before', async (t) => {
  const { server, folder } = await adder(t);
  await writeRepository(folder, { add: { versions: { '2': unsupportedOperatorModel() } } });
  await rejection(server.loadModel('add'));
  await rm(join(folder, 'add', '2'), { recursive: true });
  await server.loadModel('add');
  assert.deepEqual(server.index(), [{ name: 'add', version: '1', state: 'READY' }]);
  assert.equal(server.ready, true);
});

test('a failed version that the policy no longer chooses is not listed', async (t) => {
  const { server, folder } = await adder(t, all);
  await writeRepository(folder, { add: { versions: { '2': unsupportedOperatorModel() } } });
  await rejection(server.loadModel('add'));
  const more = 'version_policy { specific { versions: [ 1 ] } }';
  await writeFile(join(folder, 'add', 'config.pbtxt'), configText({ more }));
  await server.loadModel('add');
  assert.deepEqual(server.index(), [{ name: 'add', version: '1', state: 'READY' }]);
});

test('loading what has not changed does nothing: the statistics go on', async (t) => {
  const { server } = await adder(t);
  await addend(server);
  await server.loadModel('add');
  assert.equal((await statisticsAfter(server, 'add', 1)).inference_count, 1);
});

test('loading what has changed begins new statistics', async (t) => {
  const { server, folder } = await adder(t);
  await addend(server);
  await replace(folder, 2);
  await server.loadModel('add');
  assert.equal(server.statistics('add')[0]?.inference_count, 0);
});

test('a handle sees the new config', async (t) => {
  const { server, folder } = await adder(t);
  const model = server.model('add');
  assert.equal(model.config.max_batch_size, 64);
  await writeFile(join(folder, 'add', 'config.pbtxt'), configText({ maxBatchSize: 8 }));
  await server.loadModel('add');
  assert.equal(model.config.max_batch_size, 8);
});

test('a handle without a version takes the newest; a pinned one its own', async (t) => {
  const { server, folder } = await adder(t, all);
  const pinned = server.model('add', 1);
  await replace(folder, 2, '2');
  await server.loadModel('add');
  assert.deepEqual([await addend(server), await addend(server, 1), await addend(server, 2)], [2, 1, 2]);
  const { model } = await pinned.infer({ x: row() });
  assert.deepEqual(model, { name: 'add', version: '1' });
});

test('a pinned version that the policy no longer chooses is NOT_FOUND, with those there are', async (t) => {
  const { server, folder } = await adder(t);
  const pinned = server.model('add', '1');
  await replace(folder, 2, '2');
  await server.loadModel('add');
  const error = await rejection(pinned.infer({ x: row() }));
  assert.equal(error.code, 'NOT_FOUND');
  assert.equal(error.message, "model 'add', version 1 is not available: the ready versions: 2");
  assert.equal(pinned.ready, false);
});

test('the policy latest serves the given number of newest versions', async (t) => {
  const { server, folder } = await adder(t, 'version_policy { latest { num_versions: 2 } }');
  for (const version of ['2', '10']) await replace(folder, Number(version), version);
  await server.loadModel('add');
  assert.deepEqual(server.model('add').metadata.versions, ['2', '10']);
  assert.equal(await addend(server), 10);
});

test('the policy specific serves those it names', async (t) => {
  const { server, folder } = await adder(t, 'version_policy { specific { versions: [ 1, 3 ] } }');
  for (const version of ['2', '3']) await replace(folder, Number(version), version);
  await server.loadModel('add');
  assert.deepEqual(server.model('add').metadata.versions, ['1', '3']);
});

for (const version of ['1.5', -1, '', 'latest', NaN, 1n]) {
  test(`a version of ${typeof version} ${String(version)} is refused`, async (t) => {
    const { server } = await adder(t);
    const error = await rejection(server.infer('add', { x: row() }, { version: version as number }));
    assert.equal(error.code, 'INVALID_ARG');
    assert.match(error.message, /expected a version number/);
  });
}
