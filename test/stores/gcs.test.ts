/** Repositories in fake-gcs-server, which speaks the protocol of Google Cloud Storage. */

import assert from 'node:assert/strict';
import { test as nodeTest, type TestContext } from 'node:test';
import { createServer } from '../../src/index.js';
import { rejection, row } from '../support/harness.js';
import { addModel } from '../support/models.js';
import { temporaryFolder } from '../support/repository.js';
import { servesAndPolls } from './serves-and-polls.js';
import { putMany, setEnvironment, startGcs, without, type TestStore } from './servers.js';

const test = (name: string, run: (t: TestContext) => Promise<void>): void =>
  void nodeTest(name, { skip: without('gs'), timeout: 120_000 }, run);

async function started(t: TestContext): Promise<TestStore> {
  const store = await startGcs(t);
  setEnvironment(t, {
    STORAGE_EMULATOR_HOST: `http://127.0.0.1:${store.port}`,
    GOOGLE_APPLICATION_CREDENTIALS: undefined,
    TRITON_CLOUD_CREDENTIAL_PATH: undefined,
  });
  return store;
}

test('models of a bucket are served, and a poll sees other generations', async (t) => {
  const store = await started(t);
  await servesAndPolls(t, store);
});

test('a bucket and a path that are not there are told in words', async (t) => {
  const store = await started(t);
  await store.put('add/1/model.onnx', addModel());
  const options = { repositoryCacheDirectory: await temporaryFolder(t) };
  const absent = await rejection(createServer('gs://other', options));
  assert.equal(absent.code, 'INTERNAL');
  assert.match(
    absent.message,
    /Unable to create GCS client\. Check account credentials\. .*404.*; used: endpoint http/,
  );
  const empty = await rejection(createServer('gs://models/nothing', options));
  assert.match(empty.message, /repository path is not a valid directory/);
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
