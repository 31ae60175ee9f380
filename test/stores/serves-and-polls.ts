/** What holds of each kind of store. */

import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { createServer } from '../../src/index.js';
import { row, until } from '../support/harness.js';
import { addModel } from '../support/models.js';
import { temporaryFolder } from '../support/repository.js';
import { exitOf, type TestStore } from './servers.js';

/** Serves a model of a store, and polls while it is changed and removed. */
export async function servesAndPolls(t: TestContext, store: TestStore): Promise<void> {
  await store.put('team a/größe/add/1/model.onnx', addModel());
  const server = await createServer(`${store.address}/team a/größe`, {
    repositoryCacheDirectory: await temporaryFolder(t),
    modelControlMode: 'poll',
    repositoryPollMs: 0,
  });
  t.after(() => server.close());
  const answer = async (): Promise<number> =>
    Number((await server.infer('add', { x: row() })).outputs['y']?.data[0]);
  assert.equal(await answer(), 1);
  assert.equal(await exitOf(t, `${store.address}/team a/größe`), 0);
  await store.put('team a/größe/add/1/model.onnx', addModel({ addend: 2 }));
  await until(async () => {
    await server.rescan();
    return (await answer()) === 2;
  });
  await store.remove('team a/größe/add/1/model.onnx');
  await until(async () => {
    await server.rescan();
    return server.index().every(({ state }) => state !== 'READY');
  });
}
