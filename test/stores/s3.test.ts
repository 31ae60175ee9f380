/** Repositories in a real S3 server: loads, polls, the cache, credentials, and what is told of faults. */

import assert from 'node:assert/strict';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test as nodeTest, type TestContext } from 'node:test';
import { inspect } from 'node:util';
import { run as runServe, anyPorts } from '../cli/serve/harness.js';
import { tritonts } from '../cli/run.js';
import { checkRepository } from '../../src/registry/check-repository.js';
import { createServer, type InferenceServer, type LoadEvent, type ServerOptions } from '../../src/index.js';
import { setEnvironment } from '../support/environment.js';
import { rejection, row, until } from '../support/harness.js';
import { addModel } from '../support/models.js';
import { temporaryFolder } from '../support/repository.js';
import { s3Environment, s3Key, startS3, without, type TestStore } from './servers.js';

const test = (name: string, run: (t: TestContext) => Promise<void>): void =>
  void nodeTest(name, { skip: without('s3'), timeout: 120_000 }, run);

/** A server with a repository in the store, and a cache of its own unless one is given. */
async function serve(t: TestContext, address: string, options: ServerOptions = {}): Promise<InferenceServer> {
  const server = await createServer(address, {
    repositoryCacheDirectory: await temporaryFolder(t),
    ...options,
  });
  t.after(() => server.close());
  return server;
}

const answer = async (server: InferenceServer, model = 'add'): Promise<number> =>
  Number((await server.infer(model, { x: row() })).outputs['y']?.data[0]);

const isReady = (server: InferenceServer, model: string): boolean =>
  server.index().some(({ name, state }) => name === model && state === 'READY');

async function started(t: TestContext): Promise<TestStore> {
  setEnvironment(t, s3Environment);
  return await startS3(t);
}

test('models of a bucket are served, and again from the cache without a download', async (t) => {
  const store = await started(t);
  await store.put('team a/größe/add/1/model.onnx', addModel());
  await store.put('team a/größe/add/labels.txt', 'one\n');
  await store.put('team a/größe/add/2/model.onnx', addModel({ addend: 2 }));
  const cache = await temporaryFolder(t);
  const events: LoadEvent[] = [];
  const options = {
    repositoryCacheDirectory: cache,
    onProgress: (event: LoadEvent) => void events.push(event),
  };
  const server = await serve(t, `${store.address}//team a/größe/`, options);
  assert.equal(await answer(server), 2);
  const downloads = events.flatMap(({ download }) => download ?? []);
  assert.equal(downloads[0]?.done, 0);
  assert.deepEqual(downloads.at(-1), { done: downloads[0].total, total: downloads[0].total });
  // The newest version, and what is beside the versions.
  assert.equal((await readdir(join(cache, 'files'))).length, 2);
  await server.close();
  assert.deepEqual(await readdir(join(cache, 'processes')), []);
  events.length = 0;
  const again = await serve(t, `${store.address}/team a/größe`, options);
  assert.equal(await answer(again), 2);
  assert.deepEqual(
    events.filter(({ state }) => state === 'DOWNLOADING'),
    [],
  );
});

test('a poll loads what was added or changed, and unloads what was removed', async (t) => {
  const store = await started(t);
  await store.put('add/1/model.onnx', addModel());
  const server = await serve(t, store.address, { modelControlMode: 'poll', repositoryPollMs: 0 });
  assert.equal(await answer(server), 1);
  await store.put('add/2/model.onnx', addModel({ addend: 2 }));
  await store.put('more/1/model.onnx', addModel({ addend: 3 }));
  await until(async () => {
    await server.rescan();
    return isReady(server, 'more') && (await answer(server)) === 2;
  });
  assert.equal(await answer(server, 'more'), 3);
  // The same content has the same etag.
  await store.put('add/2/model.onnx', addModel({ addend: 2 }));
  for (let i = 0; i < 3; i++) assert.deepEqual((await server.rescan()).reloaded, []);
  await store.put('add/2/model.onnx', addModel({ addend: 4 }));
  await until(async () => {
    await server.rescan();
    return (await answer(server)) === 4;
  });
  await store.remove('more/1/model.onnx');
  await until(async () => {
    await server.rescan();
    return !isReady(server, 'more');
  });
  // A store that is away unloads nothing, and is polled again.
  await store.kill();
  const { unlisted } = await server.rescan();
  assert.match(
    unlisted[0]?.error.message ?? '',
    /listing it failed 5 times, last with: .*ECONNREFUSED.*; used: endpoint/,
  );
  assert.equal(await answer(server), 4);
  await store.restart();
  assert.deepEqual((await server.rescan()).unlisted, []);
});

test('more objects than a page has are listed, and those of the version are downloaded', async (t) => {
  const store = await started(t);
  await store.put('add/2/model.onnx', addModel());
  const names = Array.from({ length: 50 }, (_, i) => `add/2/extra/${i} ü&+%.txt`);
  await Promise.all(names.map((name) => store.put(name, name)));
  // Through the gateway these would take longer than all else here.
  await mkdir(join(store.folder, 'add', '1'));
  await writeFile(join(store.folder, 'add', '1', 'model.onnx'), addModel());
  for (let i = 0; i < 3000; i++) await writeFile(join(store.folder, 'add', '1', `${i} ü&+%.txt`), '');
  const cache = await temporaryFolder(t);
  const poll = { modelControlMode: 'poll', repositoryPollMs: 0 } as const;
  const server = await serve(t, store.address, { repositoryCacheDirectory: cache, ...poll });
  assert.equal(await answer(server), 1);
  const [own = ''] = await readdir(join(cache, 'processes'));
  const load = join(cache, 'processes', own, '1');
  assert.deepEqual(await readdir(load), ['2']);
  assert.equal((await readdir(join(load, '2', 'extra'))).length, 50);
  assert.equal(await readFile(join(load, '2', 'extra', '7 ü&+%.txt'), 'utf8'), 'add/2/extra/7 ü&+%.txt');
  // The last one of the last page is new, and belongs to a version that is not served.
  await writeFile(join(store.folder, 'add', '1', 'z.txt'), '');
  for (let i = 0; i < 3; i++) assert.deepEqual((await server.rescan()).reloaded, []);
  await store.put('add/zzz.txt', 'shared');
  await until(async () => (await server.rescan()).reloaded.length > 0);
});

test('check reads a repository in a store', async (t) => {
  const store = await started(t);
  await store.put('add/1/model.onnx', addModel());
  await store.put('broken/1/model.onnx', 'no model');
  const told: unknown[] = [];
  const models = await checkRepository(
    { modelRepository: store.address, repositoryCacheDirectory: await temporaryFolder(t) },
    (model, done, total, download) => told.push([model, done, total, download?.done]),
  );
  assert.deepEqual(
    models.map(({ name, ok }) => [name, ok]),
    [
      ['add', true],
      ['broken', false],
    ],
  );
  assert.deepEqual(told[1], ['add', 0, 2, 0]);
});

test('a wrong key, bucket, path and place are told in words, without the secret', async (t) => {
  const store = await started(t);
  await store.put('add/1/model.onnx', addModel());
  const failure = async (address: string): Promise<string> => {
    const error = await rejection(serve(t, address));
    // Neither the text, nor what a program prints of the error, has the secret or a signature.
    const printed = inspect(error, { depth: 20, showHidden: true });
    assert.doesNotMatch(printed, /secret-of|wrong-secret|AWS4-HMAC|Signature=/);
    return `${error.code}: ${error.message}`;
  };
  const used = new RegExp(
    `; used: endpoint http://127\\.0\\.0\\.1:${store.port}, region us-east-1, key id ${s3Key.id} of the environment$`,
  );
  const absent = await failure(store.address.replace('models', 'other'));
  assert.match(
    absent,
    /^INTERNAL: .*Unable to create S3 filesystem client\. Check account credentials\. .*NoSuchBucket/,
  );
  assert.match(absent, used);
  assert.match(
    await failure(`${store.address}/nothing`),
    /^INVALID_ARG: .*repository path is not a valid directory/,
  );
  assert.match(
    await failure(`${store.address}/add`),
    /^INVALID_ARG: '.*' is a model's folder\. Pass its parent 's3:\/\/127/,
  );
  setEnvironment(t, { AWS_SECRET_ACCESS_KEY: 'a-wrong-secret' });
  const wrong = await failure(store.address);
  assert.match(wrong, /^INTERNAL: .*Check account credentials\. .*SignatureDoesNotMatch/);
  assert.match(wrong, used);
});

test('of the file with credentials the longest name counts, and it is read again after a refusal', async (t) => {
  const store = await started(t);
  await store.put('deep/er/add/1/model.onnx', addModel());
  const file = join(await temporaryFolder(t), 'credentials.json');
  const good = { key_id: s3Key.id, secret_key: s3Key.secret, region: 'us-east-1' };
  const bad = { key_id: 'wrong', secret_key: 'wrong' };
  const write = (content: unknown): Promise<void> => writeFile(file, JSON.stringify(content));
  setEnvironment(t, {
    AWS_ACCESS_KEY_ID: 'not-used',
    AWS_SECRET_ACCESS_KEY: 'not-used',
    TRITON_CLOUD_CREDENTIAL_PATH: file,
  });
  await write({ s3: { '': bad, [store.address]: bad, [`${store.address}/deep`]: good } });
  const server = await serve(t, `${store.address}/deep/er`, {
    modelControlMode: 'poll',
    repositoryPollMs: 0,
  });
  assert.equal(await answer(server), 1);
  const refused = await rejection(serve(t, store.address));
  assert.match(refused.message, /key id wrong of the entry "s3:.*" of "s3" in '.*credentials\.json'/);
  await store.rotate?.('another-secret');
  assert.equal((await server.rescan()).unlisted.length, 1);
  await write({ s3: { '': { ...good, secret_key: 'another-secret' } } });
  assert.deepEqual((await server.rescan()).unlisted, []);
  await write({ gs: {} });
  assert.equal((await rejection(serve(t, store.address))).code, 'NOT_FOUND');
  await writeFile(file, '{"secret_key":"hidden"');
  const damaged = await rejection(serve(t, store.address));
  assert.match(damaged.message, /is no JSON/);
  assert.ok(!damaged.message.includes('hidden'));
});

test('the commands serve and check take an address, and say what is downloaded', async (t) => {
  const store = await started(t);
  await store.put('add/1/model.onnx', addModel());
  const cache = `--repository-cache-directory=${await temporaryFolder(t)}`;
  const served = runServe(t, store.address, cache, ...anyPorts);
  await served.place('HTTPService');
  assert.match(served.log(), /model repository s3:\/\/127\.0\.0\.1:\d+\/models\n/);
  assert.match(served.log(), /model 'add': downloading 0\.0 of 0\.\d MiB/);
  served.child.kill('SIGTERM');
  assert.equal((await served.ended).code, 0);
  // Nothing has to be downloaded any more.
  const again = await tritonts('check', store.address, cache);
  assert.equal(again.code, 0, again.stderr);
  assert.ok(!again.stderr.includes('downloading'));
  const first = await tritonts(
    'check',
    store.address,
    `--repository-cache-directory=${await temporaryFolder(t)}`,
  );
  assert.match(first.stdout, /^ok {5}add \(onnxruntime, version 1\)/);
  assert.match(first.stderr, /^add: downloading 0\.0 of 0\.\d MiB$/m);
  const absent = await tritonts('check', `${store.address}/absent`, cache);
  assert.equal(absent.code, 2);
});
