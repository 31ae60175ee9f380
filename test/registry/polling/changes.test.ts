/** What a poll loads again, and what it leaves as it is. */

import assert from 'node:assert/strict';
import { appendFile, cp, mkdir, rename, rm, stat, symlink, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { configText, onnx } from '../../support/harness.js';
import { addModel, unsupportedOperatorModel } from '../../support/models.js';
import { temporaryFolder, writeRepository } from '../../support/repository.js';
import { addend, polled, reasonOf, settle, short, states } from './harness.js';
import { noLinks } from '../../support/links.js';

const all = 'version_policy { all { } }';
const add = onnx(addModel());

/** Versions of y = x + n by number. */
function versions(...numbers: number[]): Record<string, Uint8Array> {
  return Object.fromEntries(numbers.map((n) => [String(n), addModel({ addend: n })]));
}

test('a folder that is added is loaded by the second look that sees it', async (t) => {
  const { server, folder } = await polled(t, { add });
  await writeRepository(folder, { more: onnx(addModel({ addend: 5 })) });
  assert.equal(short(await server.rescan()), '?more');
  assert.deepEqual(states(server), ['add 1 READY', 'more']);
  assert.equal(short(await server.rescan()), '+more:1');
  assert.equal(await addend(server, 'more'), 5);
  assert.equal(short(await server.rescan()), '');
});

test('a model is left alone as long as its files change', async (t) => {
  const { server, folder } = await polled(t, { add });
  await writeRepository(folder, { more: add });
  const file = join(folder, 'more', 'notes.txt');
  for (let round = 0; round < 5; round++) {
    await appendFile(file, 'more\n');
    assert.equal(short(await server.rescan()), '?more');
  }
  assert.equal(short(await server.rescan()), '+more:1');
});

test('a model whose folder is removed is unloaded, and leaves the index', async (t) => {
  const { server, folder } = await polled(t, { add, more: add });
  const handle = server.model('more');
  await rm(join(folder, 'more'), { recursive: true });
  assert.equal(short(await server.rescan()), '?more', 'it may be being replaced');
  assert.equal(server.index({ ready: true }).length, 2);
  const result = await server.rescan();
  assert.deepEqual(result.unloaded, [{ name: 'more', loaded: [], ended: ['1'] }]);
  assert.equal(server.index({ ready: true }).length, 1);
  await assert.rejects(server.infer('more', { x: new Float32Array(16) }), { name: 'TritonError' });
  await writeRepository(folder, { more: onnx(addModel({ addend: 3 })) });
  while (server.index().some(({ name, state }) => name === 'more' && state === 'UNLOADING'))
    await settle(server);
  await settle(server);
  assert.equal(await addend(server, 'more'), 3);
  // A handle from before means the model of this name.
  assert.equal((await handle.infer({ x: new Float32Array(16) })).outputs['y']?.as('FP32').data[0], 3);
});

test('a model that is away for one look goes on', async (t) => {
  const { server, folder } = await polled(t, { add });
  const path = join(folder, 'add');
  for (let round = 0; round < 2; round++) {
    await rename(path, join(folder, '.old'));
    assert.equal(short(await server.rescan()), '?add');
    await rename(join(folder, '.old'), path);
    assert.equal(await settle(server), '', 'the same content');
  }
  await rename(path, join(folder, '.old'));
  await server.rescan();
  await writeRepository(folder, { add: onnx(addModel({ addend: 2 })) });
  assert.equal(await settle(server), '~add:1-1');
  assert.equal(await addend(server), 2);
});

test('only a version that was added is loaded', async (t) => {
  const model = { config: configText({ more: all }), versions: versions(1, 2) };
  const { server, folder } = await polled(t, { add: model });
  await addend(server, 'add', 1);
  await writeRepository(folder, { add: { versions: versions(3) } });
  assert.equal(await settle(server), '~add:3-');
  assert.equal(await addend(server), 3);
  // The others go on: so do their statistics.
  assert.equal(server.statistics('add', '1')[0]?.inference_count, 1);
  assert.deepEqual(states(server), ['add 1 READY', 'add 2 READY', 'add 3 READY']);
});

test('only a version that was changed is loaded again', async (t) => {
  const model = { config: configText({ more: all }), versions: versions(1, 2) };
  const { server, folder } = await polled(t, { add: model });
  await addend(server, 'add', 1);
  await writeRepository(folder, { add: { versions: { 2: addModel({ addend: 20 }) } } });
  assert.equal(await settle(server), '~add:2-2');
  assert.equal(await addend(server), 20);
  assert.equal(server.statistics('add', '1')[0]?.inference_count, 1);
  assert.equal(await settle(server), '');
});

test('only a version that was removed ends', async (t) => {
  const model = { config: configText({ more: all }), versions: versions(1, 2) };
  const { server, folder } = await polled(t, { add: model });
  await addend(server, 'add', 1);
  await rm(join(folder, 'add', '2'), { recursive: true });
  assert.equal(await settle(server), '~add:-2');
  assert.equal(await addend(server), 1);
  assert.equal(server.statistics('add', '1')[0]?.inference_count, 2);
  assert.deepEqual(states(server), ['add 1 READY']);
});

test('with the policy latest a new version takes the place of the old one', async (t) => {
  const { server, folder } = await polled(t, { add });
  await writeRepository(folder, { add: { versions: versions(7) } });
  assert.equal(await settle(server), '~add:7-1');
  assert.equal(await addend(server), 7);
  // One that is not chosen changes nothing.
  await rm(join(folder, 'add', '1'), { recursive: true });
  assert.equal(await settle(server), '');
  assert.equal(await addend(server), 7);
});

test('a change of config.pbtxt, or of any file beside the versions, loads all of them', async (t) => {
  const model = { config: configText({ more: all }), versions: versions(1, 2), files: { 'labels.txt': 'a' } };
  const { server, folder } = await polled(t, { add: model });
  await writeFile(join(folder, 'add', 'labels.txt'), 'b');
  assert.equal(await settle(server), '~add:1,2-1,2', 'labels are no part of a version');
  await writeFile(join(folder, 'add', 'config.pbtxt'), configText({ more: all, maxBatchSize: 8 }));
  assert.equal(await settle(server), '~add:1,2-1,2');
  assert.equal(server.model('add').config.max_batch_size, 8);
  await mkdir(join(folder, 'add', 'more'));
  assert.equal(await settle(server), '~add:1,2-1,2');
});

test('a file that is touched, copied over itself or replaced by an equal one is no change', async (t) => {
  const { server, folder } = await polled(t, { add });
  // What the files hold is noted after the first poll, and the next one waits for that.
  assert.equal(await settle(server), '');
  const [file, copy] = [join(folder, 'add', '1', 'model.onnx'), join(folder, 'copy')];
  const touches = [
    () => utimes(file, new Date(2001, 1, 1), new Date(2001, 1, 1)),
    () => utimes(join(folder, 'add', 'config.pbtxt'), new Date(2100, 1, 1), new Date(2100, 1, 1)),
    () => writeFile(file, addModel()),
    async () => {
      await cp(file, copy);
      await rename(copy, file);
    },
    // A folder's times change, and it holds what it held.
    async () => {
      await writeFile(join(folder, 'add', '1', 'new'), '');
      await rm(join(folder, 'add', '1', 'new'));
    },
    async () => {
      await mkdir(join(folder, 'add', '1', '__pycache__'));
      await writeFile(join(folder, 'add', '1', '__pycache__', 'model.pyc'), '');
    },
  ];
  await addend(server);
  for (const touch of touches) {
    await touch();
    assert.equal(short(await server.rescan()), '?add');
    assert.equal(short(await server.rescan()), '');
    assert.equal(short(await server.rescan()), '');
  }
  assert.equal(server.statistics('add')[0]?.inference_count, 1);
});

test('a file of the same size and time as before is noticed', async (t) => {
  const { server, folder } = await polled(t, { add });
  await settle(server);
  const file = join(folder, 'add', '1', 'model.onnx');
  const before = await stat(file);
  for (const [round, write] of [
    (bytes: Uint8Array) => writeFile(file, bytes),
    async (bytes: Uint8Array) => {
      await writeFile(join(folder, 'new'), bytes);
      await utimes(join(folder, 'new'), before.atime, before.mtime);
      await rename(join(folder, 'new'), file);
    },
  ].entries()) {
    await write(addModel({ addend: 2 + round }));
    await utimes(file, before.atime, before.mtime);
    assert.equal((await stat(file)).size, before.size);
    assert.equal(await settle(server), '~add:1-1');
    assert.equal(await addend(server), 2 + round);
  }
});

test('a folder to which two versions lead concerns both', { skip: noLinks }, async (t) => {
  const elsewhere = await temporaryFolder(t);
  await writeFile(join(elsewhere, 'model.onnx'), addModel());
  const { server, folder } = await polled(
    t,
    { add: { config: configText({ more: all }), versions: versions(3) } },
    { outsideLinks: true },
  );
  for (const version of ['1', '2']) await symlink(elsewhere, join(folder, 'add', version));
  assert.equal(await settle(server), '~add:1,2-');
  await writeFile(join(elsewhere, 'model.onnx'), addModel({ addend: 9 }));
  assert.equal(await settle(server), '~add:1,2-1,2');
  assert.deepEqual([await addend(server, 'add', 1), await addend(server, 'add', 2)], [9, 9]);
});

test(
  'a link that leads to another folder of the model concerns its version',
  { skip: noLinks },
  async (t) => {
    const [one, two] = [await temporaryFolder(t), await temporaryFolder(t)];
    await writeFile(join(one, 'model.onnx'), addModel());
    await writeFile(join(two, 'model.onnx'), addModel({ addend: 2 }));
    const { server, folder } = await polled(
      t,
      { add: { config: configText({ more: all }), versions: versions(5) } },
      { outsideLinks: true },
    );
    for (const [version, target] of Object.entries({ 1: one, 2: two, 3: one })) {
      await symlink(target, join(folder, 'add', version));
    }
    await settle(server);
    assert.equal(await addend(server, 'add', 3), 1);
    await symlink(two, join(folder, 'new'));
    await rename(join(folder, 'new'), join(folder, 'add', '3'));
    await settle(server);
    assert.deepEqual([await addend(server, 'add', 3), await addend(server, 'add', 1)], [2, 1]);
  },
);

test('a load that fails leaves what is served, with the reason in the index', async (t) => {
  const { server, folder } = await polled(t, { add });
  const file = join(folder, 'add', '1', 'model.onnx');
  await writeFile(file, unsupportedOperatorModel());
  assert.equal(await settle(server), '!add');
  assert.equal(await addend(server), 1);
  assert.match(reasonOf(server, 'add') ?? '', /NoSuchOperator/);
  assert.deepEqual(states(server), ['add 1 READY']);
  await writeFile(file, addModel({ addend: 4 }));
  assert.equal(await settle(server), '~add:1-1');
  assert.equal(reasonOf(server, 'add'), undefined);
  assert.equal(await addend(server), 4);
});

test('when a new version that failed is taken away, the model is as before', async (t) => {
  const { server, folder } = await polled(t, { add });
  await writeRepository(folder, { add: { versions: { '2': unsupportedOperatorModel() } } });
  assert.equal(await settle(server), '!add');
  assert.deepEqual(states(server), ['add 1 READY', 'add 2 UNAVAILABLE']);
  await rm(join(folder, 'add', '2'), { recursive: true });
  assert.equal(await settle(server), '');
  assert.deepEqual(server.index(), [{ name: 'add', version: '1', state: 'READY' }]);
});

test('without config.pbtxt the configuration is completed again', async (t) => {
  const { server, folder } = await polled(t, { add: onnx(addModel(), { maxBatchSize: 3 }) });
  await rm(join(folder, 'add', 'config.pbtxt'));
  assert.equal(await settle(server), '~add:1-1');
  assert.notEqual(server.model('add').config.max_batch_size, 3);
});
