/** Repositories that are odd or large: nothing crashes, and each look ends. */

// Long: it waits for limits of time.

import assert from 'node:assert/strict';
import { closeSync, openSync } from 'node:fs';
import { mkdir, rename, symlink, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { unchangedVersions } from '../../../src/registry/polling/changes.js';
import type { StampedEntry } from '../../../src/registry/sources/model-source.js';
import { identity, onnx, start, until } from '../../support/harness.js';
import { addModel } from '../../support/models.js';
import { writeRepository } from '../../support/repository.js';
import { addend, polled, settle, short, states } from './harness.js';
import { noLinks } from '../../support/links.js';

const add = onnx(addModel());

test('names with any characters are names', async (t) => {
  const { server, folder } = await polled(t, { add });
  const names = ['line\nbreak', 'nul-like \\0', 'ünïcödé 模型', 'quote\'"', 'a'.repeat(200), '-', 'x.y.z'];
  await writeRepository(folder, Object.fromEntries(names.map((name) => [name, add])));
  for (const name of names) {
    await writeFile(join(folder, name, '1', 'a\nb d 1 2 3'), '');
    await mkdir(join(folder, name, '// '));
  }
  await server.rescan();
  const { loaded } = await server.rescan();
  assert.deepEqual(loaded.map(({ name }) => name).sort(), names.sort());
  for (const name of names) {
    await writeRepository(folder, { [name]: { versions: { '2': addModel({ addend: 2 }) } } });
  }
  await server.rescan();
  const { reloaded } = await server.rescan();
  assert.deepEqual(new Set(reloaded.map(({ loaded: versions }) => versions.join())), new Set(['2']));
  for (const name of names) assert.equal(await addend(server, name), 2);
});

test('a name that is no text', { skip: process.platform !== 'linux' && 'only there' }, async (t) => {
  const { server, folder } = await polled(t, { add });
  const odd = Buffer.concat([Buffer.from(join(folder, 'add', '1', 'x')), Buffer.from([0xff, 0xfe])]);
  await writeFile(odd, 'a');
  assert.equal(await settle(server), '~add:1-1');
  // It cannot be read by this name, so that a change of its time counts.
  await utimes(odd, 1, 1);
  assert.equal(await settle(server), '~add:1-1');
  assert.equal(await settle(server), '');
});

test('links in circles, and links to the repository, end', { skip: noLinks }, async (t) => {
  const { server, folder } = await polled(t, { add });
  await symlink(folder, join(folder, 'add', 'around'));
  await symlink('.', join(folder, 'add', '1', 'self'));
  await symlink(join(folder, 'loop'), join(folder, 'loop'));
  assert.equal(await settle(server), '~add:1-1');
  assert.equal(await settle(server), '');
});

test('times in the future, and before 1970, are times', async (t) => {
  const { server, folder } = await polled(t, { add });
  await settle(server);
  const file = join(folder, 'add', '1', 'model.onnx');
  for (const time of [-1, 0, 2 ** 32, 253_402_300_799]) {
    await utimes(file, time, time);
    assert.equal(await settle(server), '', String(time));
    await writeFile(file, addModel({ addend: time === 0 ? 3 : 4 }));
    await utimes(file, time, time);
    await settle(server);
    assert.equal(await addend(server), time === 0 ? 3 : 4);
    // What the files hold is read before this poll begins.
    await server.rescan();
  }
});

test('many models are looked at without a file being read', async (t) => {
  const count = 300;
  const models = Object.fromEntries(Array.from({ length: count }, (_, i) => [`m${i}`, identity()]));
  const { server, folder } = await polled(t, models);
  assert.equal(short(await server.rescan()), '');
  await writeRepository(folder, { m7: identity({ maxBatchSize: 3 }), more: identity() });
  assert.equal(await settle(server), '+more:1 ~m7:1-1');
});

test('very many links that lead elsewhere now are compared', { timeout: 60_000 }, async () => {
  const links = (target: string): StampedEntry[] =>
    Array.from({ length: 100_000 }, (_, i) => [
      { path: `1/${i}`, size: undefined, stamp: 'd', target },
      { path: `1/${i}/x`, size: 1, stamp: 'f1' },
    ]).flat();
  const version: StampedEntry = { path: '1', size: undefined, stamp: 'd' };
  const equal = (): Promise<boolean> => assert.fail('nothing is to be read');
  const found = await unchangedVersions([version, ...links('a')], [version, ...links('b')], equal);
  assert.equal(found?.all, true);
  const emptied = [...links('b'), { path: '1/empty', size: undefined, stamp: 'd', target: 'b' }];
  const moved = [...links('a'), { path: '1/empty', size: undefined, stamp: 'd', target: 'a' }];
  const other = await unchangedVersions([version, ...moved], [version, ...emptied], equal);
  assert.deepEqual(other, { kept: new Set(), all: false });
});

test('a repository of 100,000 entries is listed', { timeout: 120_000 }, async (t) => {
  const { server, folder } = await polled(t, { add });
  for (let i = 0; i < 100_000; i++) closeSync(openSync(join(folder, `f${i}`), 'w'));
  assert.equal(short(await server.rescan()), '');
  const { failed } = await server.rescan();
  assert.deepEqual(failed, []);
  assert.equal(await addend(server), 1);
});

test('folders that come and go while they are looked at end nothing', async (t) => {
  const { server, folder } = await polled(t, { add, passing: add });
  const [here, away] = ['passing', '.away'].map((name) => join(folder, name)) as [string, string];
  const run: { isOver: boolean } = { isOver: false };
  const moving = (async () => {
    while (!run.isOver) {
      await rename(here, away);
      await rename(away, here);
    }
  })();
  try {
    for (let i = 0; i < 50; i++) {
      const { unlisted } = await server.rescan();
      assert.deepEqual(unlisted, []);
      assert.equal(await addend(server), 1);
    }
  } finally {
    run.isOver = true;
    await moving;
  }
  await until(async () => {
    await server.rescan();
    return states(server).join() === 'add 1 READY,passing 1 READY';
  });
  assert.equal(await addend(server, 'passing'), 1);
});

test('a clock that jumps changes nothing', async (t) => {
  t.mock.timers.enable({ apis: ['Date'], now: Date.now() });
  const { server, folder } = await polled(t, { add });
  const lazy = await start(t, folder, { load: 'lazy', memoryBudgetBytes: 2 ** 30 });
  await settle(server);
  const year = 365 * 24 * 3600 * 1000;
  for (const [i, jump] of [year, -20 * year, 30 * year].entries()) {
    t.mock.timers.setTime(Math.max(0, Date.now() + jump));
    assert.equal(await settle(server), '');
    await writeRepository(folder, { add: onnx(addModel({ addend: i + 2 })) });
    assert.equal(await settle(server), '~add:1-1');
    assert.equal(await addend(server), i + 2);
    await addend(lazy);
    const { state, idleMs = 0 } = lazy.explain('add').lazy ?? {};
    assert.equal(state, 'loaded');
    assert.ok(idleMs >= 0);
    await server.rescan();
  }
});
