/** What becomes of loads when the network or the store fails in the middle. */

import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readdir, readFile, statfs, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test as nodeTest, type TestContext } from 'node:test';
import { createServer, type InferenceServer, type ServerOptions } from '../../src/index.js';
import { setEnvironment } from '../support/environment.js';
import { rejection, row, until } from '../support/harness.js';
import { addModel } from '../support/models.js';
import { temporaryFolder } from '../support/repository.js';
import { FaultProxy, type Fault } from './fault-proxy.js';
import { s3Environment, startS3, without, type TestStore } from './servers.js';

const test = (name: string, run: (t: TestContext) => Promise<void>): void =>
  void nodeTest(name, { skip: without('s3'), timeout: 120_000 }, run);

interface Setup {
  readonly store: TestStore;
  readonly proxy: FaultProxy;
  readonly address: string;
  readonly cache: string;
  readonly start: (options?: ServerOptions) => Promise<InferenceServer>;
}

/** A model with a large file beside its version, behind the proxy. */
async function setUp(t: TestContext, content: Uint8Array = randomBytes(5 * 2 ** 20)): Promise<Setup> {
  setEnvironment(t, s3Environment);
  const store = await startS3(t);
  await store.put('add/1/model.onnx', addModel());
  await store.put('add/data.bin', content);
  const proxy = new FaultProxy(store.port);
  const address = `s3://127.0.0.1:${await proxy.start(t)}/models`;
  const cache = await temporaryFolder(t);
  const start = async (options: ServerOptions = {}): Promise<InferenceServer> => {
    const server = await createServer(address, { repositoryCacheDirectory: cache, ...options });
    t.after(() => server.close());
    return server;
  };
  return { store, proxy, address, cache, start };
}

/** A fault of the first `count` requests for the large file. */
const first = (count: number, fault: Fault): FaultProxy['choose'] => {
  let left = count;
  return (method, url) => (method === 'GET' && url.includes('data.bin') && left-- > 0 ? fault : undefined);
};

/** The content that a load got of the large file. */
async function loaded(cache: string): Promise<Buffer> {
  const [own = ''] = await readdir(join(cache, 'processes'));
  const [load = ''] = (await readdir(join(cache, 'processes', own))).filter((name) => /^\d+$/.test(name));
  return await readFile(join(cache, 'processes', own, load, 'data.bin'));
}

const answer = async (server: InferenceServer): Promise<number> =>
  Number((await server.infer('add', { x: row() })).outputs['y']?.data[0]);

test('a download that is cut goes on where it was', async (t) => {
  const content = randomBytes(5 * 2 ** 20);
  const { proxy, cache, start } = await setUp(t, content);
  proxy.choose = first(2, { cutAt: 2 * 2 ** 20 });
  assert.equal(await answer(await start()), 1);
  assert.ok(content.equals(await loaded(cache)));
  const asked = proxy.seen.filter((one) => one.includes('data.bin'));
  assert.equal(asked.length, 3);
  assert.ok(
    asked.slice(1).every((one) => /bytes=[1-9]\d*-$/.test(one)),
    asked.join('\n'),
  );
});

test('an object that was uploaded in parts goes on where it was cut, too', async (t) => {
  const { store, proxy, cache, start } = await setUp(t);
  const parts = [randomBytes(5 * 2 ** 20), randomBytes(2 ** 20)];
  await store.putParts?.('add/data.bin', parts);
  proxy.choose = first(2, { cutAt: 2 * 2 ** 20 });
  assert.equal(await answer(await start()), 1);
  assert.ok(Buffer.concat(parts).equals(await loaded(cache)));
});

const mebibyte = 2 ** 20;

for (const [algorithm, ...sizes] of [
  ['CRC32', 5, 5, 1],
  ['CRC32C', 5, 1],
  ['SHA256', 5, 6, 5],
] as const) {
  test(`${algorithm}: damage in an object of ${sizes.length} parts is found by their checksums`, async (t) => {
    const { store, proxy, cache, start } = await setUp(t);
    const parts = sizes.map((size) => randomBytes(size * mebibyte));
    await store.putParts?.('add/data.bin', parts, algorithm);
    proxy.choose = first(1, { damageAt: 5 * mebibyte + 700 });
    await start();
    assert.ok(Buffer.concat(parts).equals(await loaded(cache)));
    assert.equal(proxy.seen.filter((one) => /^GET .*data\.bin/.test(one)).length, 2);
    proxy.choose = first(Infinity, { damageAt: 5 * mebibyte + 700 });
    const { message } = await rejection(start({ repositoryCacheDirectory: await temporaryFolder(t) }));
    assert.match(message, /downloading 'add\/data\.bin' failed 5 times.*do not have its checksum/);
  });
}

test('parts of any size are compared, and asked for one by one when that is needed', async (t) => {
  const { store, proxy, cache, start } = await setUp(t);
  // The first and the last part look as if all others were as large as the first.
  const parts = [6, 5, 7, 1].map((size) => randomBytes(size * mebibyte));
  await store.putParts?.('add/data.bin', parts, 'CRC32');
  await start();
  assert.ok(Buffer.concat(parts).equals(await loaded(cache)));
  const asked = (method: string): number =>
    proxy.seen.filter((one) => one.startsWith(method) && one.includes('data.bin')).length;
  // The object, its first and its last part; then the object, and the parts that were not asked for before.
  assert.deepEqual([asked('GET'), asked('HEAD')], [2, 6]);
});

test('the log says what was compared by its size alone', async (t) => {
  const { store, start } = await setUp(t);
  // The gateway has no checksum of a file that it has not written itself.
  await writeFile(join(store.folder, 'add', 'other.bin'), 'content');
  const lines: string[] = [];
  await start({ logger: { info: (line) => void lines.push(line) } });
  const told = lines.filter((line) => line.includes('checksum'));
  assert.equal(told.length, 1, lines.join('\n'));
  assert.match(told[0] ?? '', /^model 'add': .* only their sizes were compared: other\.bin$/);
});

test('a slow download tells how far it is', async (t) => {
  const { proxy, start } = await setUp(t);
  proxy.choose = first(1, { pauseMs: 20 });
  const told: number[] = [];
  await start({
    onProgress: ({ state, download }) => {
      assert.equal(download !== undefined, state === 'DOWNLOADING');
      if (download) told.push(download.done);
    },
  });
  assert.ok(told.length > 3, `${told.length} events`);
  assert.deepEqual(
    told,
    [...told].sort((a, b) => a - b),
  );
});

test('a damaged download is fetched again', async (t) => {
  const content = randomBytes(2 ** 20);
  const { proxy, cache, start } = await setUp(t, content);
  proxy.choose = first(1, { damageAt: 700_000 });
  await start();
  assert.ok(content.equals(await loaded(cache)));
  assert.equal(proxy.seen.filter((one) => one.includes('data.bin')).length, 2);
});

test('one that stays damaged fails, and leaves nothing', async (t) => {
  const { proxy, cache, start } = await setUp(t);
  proxy.choose = first(Infinity, { damageAt: 700_000 });
  const error = await rejection(start());
  assert.match(
    error.message,
    /model 'add': .*downloading 'add\/data\.bin' failed 5 times, last with: .*checksum/i,
  );
  assert.deepEqual(await readdir(join(cache, 'processes')), []);
  assert.ok((await readdir(join(cache, 'files'))).length <= 1);
});

test('a store that is busy for a moment is asked again', async (t) => {
  const { proxy, start } = await setUp(t);
  let left = 3;
  proxy.choose = () => (left-- > 0 ? { status: 503 } : undefined);
  assert.equal(await answer(await start()), 1);
});

test('a store that stays busy is told of, with what was tried', async (t) => {
  const { proxy, start } = await setUp(t);
  proxy.choose = () => ({ status: 503 });
  const { code, message } = await rejection(start());
  assert.equal(code, 'UNAVAILABLE');
  assert.match(message, /^model repository 's3:.*': listing it failed 5 times, last with: HTTP 503/);
});

test('an object that changes while it is downloaded fails the load; the next one has all of the new', async (t) => {
  const { store, proxy, cache, start } = await setUp(t);
  const content = randomBytes(5 * 2 ** 20);
  const cut = first(1, { cutAt: 2 ** 20 });
  let isChanged = false;
  proxy.choose = (method, url) => {
    const fault = cut(method, url, '');
    if (fault) void store.put('add/data.bin', content).then(() => (isChanged = true));
    // What goes on waits until the object is the new one.
    return fault ?? (isChanged || !url.includes('data.bin') ? undefined : { status: 503 });
  };
  const { code, reason, message } = await rejection(start());
  assert.deepEqual([code, reason], ['UNAVAILABLE', 'NOT_READY']);
  assert.match(
    message,
    /'add\/data\.bin' failed, because the object was changed or removed after the listing/,
  );
  assert.deepEqual(await readdir(join(cache, 'processes')), []);
  proxy.choose = () => undefined;
  await start();
  assert.ok(content.equals(await loaded(cache)));
});

test('a start is cancelled at once, whatever the store does', async (t) => {
  const { proxy, cache, start } = await setUp(t);
  for (const hangs of ['list-type', 'data.bin']) {
    const stop = new AbortController();
    proxy.seen.length = 0;
    proxy.choose = (_, url) => (url.includes(hangs) ? { hangs: true } : undefined);
    const starting = rejection(start({ signal: stop.signal }));
    await until(() => proxy.seen.some((one) => one.includes(hangs)));
    stop.abort();
    const since = performance.now();
    assert.equal((await starting).code, 'CANCELLED');
    assert.ok(performance.now() - since < 5000);
    await until(async () => (await readdir(join(cache, 'processes')).catch(() => [])).length === 0);
  }
});

test('an unload gives up a load whose store does not answer', async (t) => {
  const { proxy, start } = await setUp(t);
  const server = await start({
    modelControlMode: 'explicit',
    loadModels: [],
    workers: { unloadTimeoutMs: 200 },
  });
  for (const hangs of ['list-type', 'data.bin']) {
    proxy.seen.length = 0;
    proxy.choose = (_, url) => (url.includes(hangs) ? { hangs: true } : undefined);
    const load = rejection(server.loadModel('add'));
    await until(() => proxy.seen.some((one) => one.includes(hangs)));
    const since = performance.now();
    await server.unloadModel('add');
    const error = await load;
    assert.equal(error.code, 'CANCELLED');
    assert.match(error.message, /its load was given up, because an unload of it had waited for 0\.2 s/);
    assert.ok(performance.now() - since < 10_000);
  }
});

test('keys that are no paths are refused or left out, by name', async (t) => {
  const { proxy, start } = await setUp(t);
  const lines: string[] = [];
  const logger = { warn: (line: string) => void lines.push(line) };
  const listed = (part: string, other: string): FaultProxy['choose'] => {
    const rewrite = (body: string): string => body.replaceAll(part, other);
    return (_, url) => (url.includes('list-type') ? { rewrite } : undefined);
  };
  for (const [part, other, why] of [
    [
      'data.bin',
      '../../evil',
      /the key 'add\/\.\.\/\.\.\/evil' has a part that cannot be .*'\.\.' leads elsewhere/,
    ],
    ['data.bin', '/etc/passwd', /it is empty/],
    ['data.bin', '..\\..\\evil', /a backslash or a zero/],
    ['data.bin', 'n'.repeat(300), /longer than 255 bytes/],
    ['data.bin', '1', /'add\/1' is an object, and other keys have it as their folder/],
  ] as const) {
    proxy.choose = listed(part, other);
    const { code, message } = await rejection(start());
    assert.equal(code, 'INVALID_ARG', message);
    assert.match(message, why);
  }
  proxy.choose = listed('<Prefix>add/</Prefix>', '<Prefix>../</Prefix>');
  assert.match((await rejection(start({ logger }))).message, /has no models/);
  assert.match(lines.join('\n'), /keys that begin with '\.\.\/' are left out: '\.\.' leads elsewhere/);
});

test('a process that is killed in a download leaves nothing that counts, and the next one cleans up', async (t) => {
  const content = randomBytes(5 * 2 ** 20);
  const { proxy, address, cache, start } = await setUp(t, content);
  const library = JSON.stringify(new URL('../../src/index.js', import.meta.url).href);
  const code = `
    const { createServer } = await import(${library});
    await createServer(process.argv[1], { repositoryCacheDirectory: process.argv[2] });`;
  // The rest does not come.
  proxy.choose = (_, url, range) => {
    if (!url.includes('data.bin')) return undefined;
    return range === '' ? { cutAt: 3 * 2 ** 20 } : { hangs: true };
  };
  const child = spawn(process.execPath, ['--input-type=module', '-e', code, address, cache], {
    stdio: 'ignore',
  });
  t.after(() => child.kill('SIGKILL'));
  const parts = async (): Promise<string[]> =>
    (await readdir(cache, { recursive: true }).catch(() => [])).filter((name) => name.endsWith('.part'));
  await until(
    async () => (await parts()).length > 0 && proxy.seen.some((one) => /data\.bin.* bytes=/.test(one)),
  );
  child.kill('SIGKILL');
  await once(child, 'close');
  assert.ok((await parts()).length > 0);
  proxy.choose = () => undefined;
  await start();
  assert.deepEqual(await parts(), []);
  assert.ok(content.equals(await loaded(cache)));
});

const withoutMounts =
  process.getuid?.() !== 0 || spawnSync('mount', ['--version']).status !== 0
    ? 'only root can make a small file system'
    : false;

nodeTest(
  'a full disk is told of, and nothing is left on it',
  { skip: without('s3') || withoutMounts },
  async (t) => {
    // Before the folder is removed.
    const mounted: string[] = [];
    t.after(() => mounted.map((folder) => spawnSync('umount', [folder])));
    const { start } = await setUp(t);
    const small = await temporaryFolder(t);
    if (spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', small]).status !== 0) {
      t.skip('no file system can be mounted here');
      return;
    }
    mounted.push(small);
    const { code, reason, message } = await rejection(start({ repositoryCacheDirectory: small }));
    assert.deepEqual([code, reason], ['UNAVAILABLE', 'SYSTEM_REFUSED']);
    assert.match(message, /the cache folder of object stores '.*' cannot be written: its disk is full/);
    assert.deepEqual(await readdir(join(small, 'processes')), []);
    assert.ok((await statfs(small)).bfree > 200);
  },
);

test('servers of several processes share a cache, and download at the same time', async (t) => {
  const content = randomBytes(2 ** 20);
  const { address, cache, start } = await setUp(t, content);
  const library = JSON.stringify(new URL('../../src/index.js', import.meta.url).href);
  const code = `
    const { createServer } = await import(${library});
    const options = { repositoryCacheDirectory: process.argv[2] };
    const servers = await Promise.all([1, 2].map(() => createServer(process.argv[1], options)));
    for (const server of servers) await server.close();`;
  const children = [1, 2].map(() =>
    spawn(process.execPath, ['--input-type=module', '-e', code, address, cache], { stdio: 'ignore' }),
  );
  t.after(() => children.map((child) => child.kill('SIGKILL')));
  const codes = await Promise.all(
    children.map(async (child) => ((await once(child, 'close')) as [number])[0]),
  );
  assert.deepEqual(codes, [0, 0]);
  assert.deepEqual(await readdir(join(cache, 'processes')), []);
  assert.equal((await readdir(join(cache, 'files'))).length, 2);
  await start();
  assert.ok(content.equals(await loaded(cache)));
});
