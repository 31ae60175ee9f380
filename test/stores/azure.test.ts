/** Repositories in azurite, which speaks the protocol of Azure Blob Storage. */

import assert from 'node:assert/strict';
import { test as nodeTest, type TestContext } from 'node:test';
import { createServer } from '../../src/index.js';
import { setEnvironment } from '../support/environment.js';
import { rejection, row } from '../support/harness.js';
import { addModel } from '../support/models.js';
import { temporaryFolder } from '../support/repository.js';
import { servesAndPolls } from './serves-and-polls.js';
import { azuriteAccount, putMany, startAzure, without, type TestStore } from './servers.js';

const test = (name: string, run: (t: TestContext) => Promise<void>): void =>
  void nodeTest(name, { skip: without('as'), timeout: 120_000 }, run);

async function started(t: TestContext): Promise<TestStore> {
  const store = await startAzure(t);
  setEnvironment(t, {
    AZURE_STORAGE_ACCOUNT: azuriteAccount.name,
    AZURE_STORAGE_KEY: azuriteAccount.key,
    AZURE_STORAGE_AUTH_TYPE: undefined,
    AZURE_STORAGE_CLIENT_ID: undefined,
    TRITON_CLOUD_CREDENTIAL_PATH: undefined,
  });
  return store;
}

test('models of a container are served, and a poll sees other etags', async (t) => {
  const store = await started(t);
  await servesAndPolls(t, store);
});

test('a wrong key, a container and a path that are not there are told in words', async (t) => {
  const store = await started(t);
  await store.put('add/1/model.onnx', addModel());
  const options = { repositoryCacheDirectory: await temporaryFolder(t) };
  const used = /; used: endpoint http:.*, account 'devstoreaccount1', a key of the environment$/;
  const absent = await rejection(createServer(store.address.replace(/models$/, 'other'), options));
  assert.equal(absent.code, 'INTERNAL');
  assert.match(absent.message, /Unable to create Azure filesystem client\. .*ContainerNotFound/);
  assert.match(absent.message, used);
  const empty = await rejection(createServer(`${store.address}/nothing`, options));
  assert.match(empty.message, /repository path is not a valid directory/);
  setEnvironment(t, { AZURE_STORAGE_KEY: Buffer.from('a-wrong-key').toString('base64') });
  const wrong = await rejection(createServer(store.address, options));
  assert.match(wrong.message, /^.*Check account credentials\. .*HTTP 403/);
  assert.match(wrong.message, used);
  assert.ok(!wrong.message.includes(process.env['AZURE_STORAGE_KEY'] ?? ''));
});

test('more objects than a page has', async (t) => {
  const store = await started(t);
  await store.put('add/1/model.onnx', addModel());
  await putMany(store, 1050, (i) => `add/1/extra/${i} ü.txt`);
  await store.put('add/2/model.onnx', addModel({ addend: 2 }));
  const options = { repositoryCacheDirectory: await temporaryFolder(t) };
  const server = await createServer(store.address, options);
  t.after(() => server.close());
  // The newest version is on the last page.
  assert.equal((await server.infer('add', { x: row() })).outputs['y']?.data[0], 2);
});
