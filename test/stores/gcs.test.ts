/** Repositories in fake-gcs-server, which speaks the protocol of Google Cloud Storage. */

import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test as nodeTest, type TestContext } from 'node:test';
import { createServer, type InferenceServer } from '../../src/index.js';
import { setEnvironment } from '../support/environment.js';
import { rejection, row, until } from '../support/harness.js';
import { addModel } from '../support/models.js';
import { temporaryFolder } from '../support/repository.js';
import { FaultProxy } from './fault-proxy.js';
import { servesAndPolls } from './serves-and-polls.js';
import { putMany, startGcs, without, type TestStore } from './servers.js';

const test = (name: string, run: (t: TestContext) => Promise<void>): void =>
  void nodeTest(name, { skip: without('gs'), timeout: 120_000 }, run);

/** The store behind a proxy, whose address the package takes. */
async function behindProxy(t: TestContext, store: TestStore): Promise<FaultProxy> {
  const proxy = new FaultProxy(store.port);
  setEnvironment(t, { STORAGE_EMULATOR_HOST: `http://127.0.0.1:${await proxy.start(t)}` });
  return proxy;
}

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

test('a listing and a download that hang end with the signal, and with the process', async (t) => {
  const store = await started(t);
  await store.put('add/1/model.onnx', addModel());
  const proxy = await behindProxy(t, store);
  for (const part of ['delimiter=', 'alt=media']) {
    const stop = new AbortController();
    proxy.choose = (_, url) => (url.includes(part) ? { hangs: true } : undefined);
    const options = { repositoryCacheDirectory: await temporaryFolder(t), signal: stop.signal };
    const starting = rejection(createServer('gs://models', options));
    await until(() => proxy.hanging > 0);
    stop.abort();
    assert.equal((await starting).code, 'CANCELLED');
    // The package itself would end it after half a minute.
    const since = performance.now();
    await until(() => proxy.hanging === 0);
    assert.ok(performance.now() - since < 10_000, part);
  }
});

test('a download that is ended leaves others alone', async (t) => {
  const store = await started(t);
  const content = randomBytes(2 ** 21);
  for (const name of ['slow', 'ended']) {
    await store.put(`${name}/add/1/model.onnx`, addModel());
    await store.put(`${name}/add/data.bin`, content);
  }
  const proxy = await behindProxy(t, store);
  const isSlow = (one: string): boolean => /slow.*data\.bin/.test(one);
  proxy.choose = (_, url) => (url.includes('data.bin') ? { pauseMs: 20 } : undefined);
  const arrived = new Set<string>();
  const begin = async (folder: string, signal?: AbortSignal): Promise<InferenceServer> =>
    createServer(`gs://models/${folder}`, {
      repositoryCacheDirectory: await temporaryFolder(t),
      ...(signal && { signal }),
      onProgress: ({ download }) => {
        // More than the model's own file has.
        if (download && download.done > 2 ** 17) arrived.add(folder);
      },
    });
  const stop = new AbortController();
  const slow = begin('slow');
  const ended = rejection(begin('ended', stop.signal));
  await until(() => arrived.size === 2);
  stop.abort();
  assert.equal((await ended).code, 'CANCELLED');
  const server = await slow;
  t.after(() => server.close());
  assert.equal(proxy.seen.filter(isSlow).length, 1, proxy.seen.join('\n'));
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
