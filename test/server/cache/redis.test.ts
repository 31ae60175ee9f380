/** The response cache in a real Redis: hits over processes' lives, and a Redis that is gone, slow, or full of other things. */

// Long: it starts many processes.

import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { test as nodeTest, type TestContext } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';

import { promisify } from 'node:util';
import { createClient } from 'redis';
import type { InferenceServer } from '../../../src/index.js';
import type { CacheConfig } from '../../../src/cache-config.js';
import type { RedisCacheOptions } from '../../../src/cache/redis/options.js';
import { addModel } from '../../support/models.js';
import { chain, ensemble, identity, onnx, rejection, row, serve, until } from '../../support/harness.js';
import { temporaryFolder } from '../../support/repository.js';
import { freePort } from '../../support/server-process.js';
import { Proxy, startRedis, withoutRedis } from './redis-server.js';

const cached = 'response_cache { enable: true }';

const test = (name: string, run: (t: TestContext) => Promise<void>): void =>
  void nodeTest(name, { skip: withoutRedis, timeout: 60_000 }, run);

type Asker = (...words: (string | Buffer)[]) => Promise<unknown>;

/** Sends commands to Redis apart from the cache. */
async function asker(t: TestContext, port: number): Promise<Asker> {
  const client = createClient({ socket: { host: '127.0.0.1', port } });
  client.on('error', () => undefined);
  await client.connect();
  t.after(() => {
    client.destroy();
  });
  return (...words) => client.sendCommand(words);
}

const config = (
  port: number,
  more: Partial<RedisCacheOptions> = {},
  common: CacheConfig = {},
): CacheConfig => ({
  redis: { host: '127.0.0.1', port, ...more },
  ...common,
});

const add = { add: onnx(addModel(), { more: cached }) };
const hit = async (server: InferenceServer, from = 0, model = 'add'): Promise<boolean> =>
  (await server.infer(model, { x: row(from) })).timings.cacheHit;

test('a server that restarts finds its answers, and others share them', async (t) => {
  const redis = await startRedis(t);
  const ask = await asker(t, redis.port);
  const one = await serve(t, add, { cacheConfig: config(redis.port) });
  assert.ok(!(await hit(one)));
  await until(async () => (await ask('DBSIZE')) === 1);
  assert.ok(await hit(one));
  const [key] = (await ask('KEYS', '*')) as string[];
  assert.match(key ?? '', /^tritonts:.*\/add\/1\/[0-9a-f]{32}\/[0-9a-f]{32}$/);
  assert.equal(await ask('TTL', key ?? ''), -1);
  await one.close();
  // The same files in another folder.
  const two = await serve(t, add, { cacheConfig: config(redis.port) });
  const again = await two.infer('add', { x: row() });
  assert.ok(again.timings.cacheHit);
  assert.deepEqual([...(again.outputs['y']?.data ?? [])].slice(0, 3), [1, 2, 3]);
  assert.deepEqual(two.explain('add').cache, {
    hits: 1,
    misses: 0,
    up: true,
    failed: 0,
    unusable: 0,
    dropped: 0,
  });
  // Other files, a prefix of its own, and another database.
  const other = { add: onnx(addModel({ addend: 2 }), { more: cached }) };
  for (const [models, more] of [
    [other, {}],
    [add, { prefix: 'mine:' }],
    [add, { db: 1 }],
  ] as const) {
    assert.ok(!(await hit(await serve(t, models, { cacheConfig: config(redis.port, more) }))));
  }
});

test('look-ups of a tick are one round trip', async (t) => {
  const redis = await startRedis(t);
  const proxy = new Proxy(redis.port);
  const server = await serve(t, add, { cacheConfig: config(await proxy.start(t)) });
  const ask = await asker(t, redis.port);
  const all = (): Promise<boolean[]> => Promise.all(Array.from({ length: 100 }, (_, i) => hit(server, i)));
  await all();
  await until(async () => (await ask('DBSIZE')) === 100);
  const before = proxy.pieces;
  assert.deepEqual([...new Set(await all())], [true]);
  assert.ok(proxy.pieces - before <= 2, `${proxy.pieces - before} pieces`);
});

test('answers expire if a time is set', async (t) => {
  const redis = await startRedis(t);
  const ask = await asker(t, redis.port);
  const server = await serve(t, add, { cacheConfig: config(redis.port, { ttlMs: 300 }) });
  // On a busy machine an answer may expire before it is asked for again.
  await until(() => hit(server));
  await until(async () => (await ask('DBSIZE')) === 0);
  assert.ok(!(await hit(server)));
});

test('requests run while Redis is gone, and are cached when it is back', async (t) => {
  const redis = await startRedis(t);
  const lines: string[] = [];
  const logger = { warn: (line: string) => lines.push(line) };
  const common = { lookupTimeoutMs: 20_000 };
  const server = await serve(t, add, { cacheConfig: config(redis.port, {}, common), logger });
  await hit(server);
  await until(() => hit(server));
  await redis.kill();
  for (let i = 0; i < 30; i++) {
    const begin = performance.now();
    assert.ok(!(await hit(server)));
    assert.ok(performance.now() - begin < 15_000, `${performance.now() - begin} ms`);
    await wait(10);
  }
  assert.equal(server.explain('add').cache?.up, false);
  assert.equal(lines.length, 1, lines.join('\n'));
  assert.match(lines[0] ?? '', /response cache 'redis': .*; requests run without it/);
  await redis.restart();
  await until(() => hit(server));
  assert.ok(server.explain('add').cache?.up);
  assert.match(lines.at(-1) ?? '', /answers again/);
});

test('a Redis that is silent costs the limit once, and then nothing', async (t) => {
  const redis = await startRedis(t);
  const proxy = new Proxy(redis.port);
  const port = await proxy.start(t);
  const lines: string[] = [];
  const logger = { warn: (line: string) => lines.push(line) };
  const common = { lookupTimeoutMs: 1000 };
  const server = await serve(t, add, { cacheConfig: config(port, {}, common), logger });
  await hit(server);
  await until(() => hit(server));
  proxy.hangs = true;
  const begin = performance.now();
  assert.ok(!(await hit(server)));
  assert.ok(performance.now() - begin >= 990);
  const later = performance.now();
  for (let i = 0; i < 50; i++) assert.ok(!(await hit(server)));
  // If each waited for the limit, they would take 50 s.
  assert.ok(performance.now() - later < 10_000);
  assert.match(lines.join('\n'), /^[^\n]*took longer than 1000 ms[^\n]*$/);
  proxy.hangs = false;
  await until(() => hit(server));
  // The silent connection was given up.
  assert.ok(proxy.connections >= 2);
});

test('a Redis that is paused by CLIENT PAUSE delays requests by the limit', async (t) => {
  const redis = await startRedis(t);
  const ask = await asker(t, redis.port);
  const server = await serve(t, add, { cacheConfig: config(redis.port, {}, { lookupTimeoutMs: 100 }) });
  await hit(server);
  await until(() => hit(server));
  await ask('CLIENT', 'PAUSE', '4000', 'ALL');
  const begin = performance.now();
  assert.ok(!(await hit(server)));
  assert.ok(performance.now() - begin < 3500);
  await until(() => hit(server));
});

test('foreign values under our keys are misses, and are replaced', async (t) => {
  const redis = await startRedis(t);
  const ask = await asker(t, redis.port);
  const common = { maxValueBytes: 4096 };
  const server = await serve(t, add, { cacheConfig: config(redis.port, {}, common) });
  await hit(server);
  await until(async () => (await ask('DBSIZE')) === 1);
  const [key = ''] = (await ask('KEYS', '*')) as string[];
  const spoil: readonly (readonly (string | Buffer)[])[] = [
    ['SET', key, 'x'],
    ['SET', key, ''],
    ['SETRANGE', key, '60', 'damage'],
    ['APPEND', key, 'more'],
    ['SET', key, Buffer.alloc(10_000_000, 1)],
    ['SET', key, Buffer.from('tritonts'.repeat(100))],
  ];
  for (const [i, words] of spoil.entries()) {
    await ask(...words);
    assert.ok(!(await hit(server)), words[0]?.toString());
    await until(() => hit(server));
    assert.equal(await ask('DBSIZE'), 1, String(i));
  }
  await ask('DEL', key);
  await ask('HSET', key, '0:b', 'what Triton stores');
  assert.ok(!(await hit(server)));
  await until(() => hit(server));
});

test('a full Redis and a password that is changed are no failure of requests', async (t) => {
  const redis = await startRedis(t);
  const ask = await asker(t, redis.port);
  const lines: string[] = [];
  const logger = { warn: (line: string) => lines.push(line) };
  const server = await serve(t, add, { cacheConfig: config(redis.port), logger });
  await ask('CONFIG', 'SET', 'maxmemory-policy', 'noeviction');
  await ask('CONFIG', 'SET', 'maxmemory', '1');
  for (let i = 0; i < 3; i++) {
    assert.ok(!(await hit(server, i)));
    await wait(20);
  }
  await until(() => lines.length > 0);
  assert.match(lines.join('\n'), /^response cache 'redis': insert failed: .*OOM[^\n]*$/);
  await ask('CONFIG', 'SET', 'maxmemory', '0');
  await until(() => hit(server));
});

test('users, passwords and a pool', async (t) => {
  const redis = await startRedis(t, ['--requirepass', 'secret']);
  const wrong = await rejection(serve(t, add, { cacheConfig: config(redis.port) }));
  assert.equal(wrong.code, 'INTERNAL');
  assert.match(wrong.message, /expected a Redis server that answers at 127\.0\.0\.1:\d+, but: NOAUTH/);
  const other = await rejection(serve(t, add, { cacheConfig: config(redis.port, { password: 'guess' }) }));
  assert.match(other.message, /WRONGPASS/);
  assert.doesNotMatch(other.message, /guess|secret/);
  const right = { user: 'default', password: 'secret', poolSize: 3 };
  const server = await serve(t, add, { cacheConfig: config(redis.port, right) });
  await hit(server);
  await until(() => hit(server));
  process.env['TRITONCACHE_REDIS_PASSWORD'] = 'secret';
  t.after(() => delete process.env['TRITONCACHE_REDIS_PASSWORD']);
  assert.ok(await hit(await serve(t, add, { cacheConfig: config(redis.port) })));
});

test('TLS, with certificates that are trusted and with others', async (t) => {
  const folder = await temporaryFolder(t);
  const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')];
  const asked = ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', '-subj', '/CN=localhost'];
  const names = ['-addext', 'subjectAltName=DNS:localhost,DNS:other.example,IP:127.0.0.1'];
  await promisify(execFile)('openssl', [...asked, ...names, '-keyout', key, '-out', cert]);
  const port = await freePort();
  const files = ['--tls-cert-file', cert, '--tls-key-file', key, '--tls-ca-cert-file', cert];
  await startRedis(t, ['--tls-port', String(port), ...files]);
  for (const tls of [
    { ca: cert, cert, key },
    { caDirectory: folder, cert, key, serverName: 'other.example' },
  ]) {
    const server = await serve(t, add, { cacheConfig: config(port, { tls }) });
    await hit(server);
    await until(() => hit(server));
  }
  for (const [tls, message] of [
    [true, /self-signed certificate/],
    [{ ca: cert, cert, key, serverName: 'wrong.example' }, /does not match certificate/],
    [{ ca: join(folder, 'none.pem') }, /ENOENT.*none\.pem/],
  ] as const) {
    assert.match((await rejection(serve(t, add, { cacheConfig: config(port, { tls }) }))).message, message);
  }
});

test('a server does not start without its Redis', async (t) => {
  const port = await freePort();
  const gone = await rejection(serve(t, add, { cacheConfig: config(port) }));
  assert.deepEqual([gone.code, /ECONNREFUSED/.test(gone.message)], ['INTERNAL', true]);
  const redis = await startRedis(t);
  const proxy = new Proxy(redis.port);
  proxy.hangs = true;
  const silentPort = await proxy.start(t);
  const silent = config(silentPort, { connectTimeoutMs: 200 });
  const late = await rejection(serve(t, add, { cacheConfig: silent }));
  assert.match(late.message, /did not answer PING within 200 ms/);
  const begin = performance.now();
  const signal = AbortSignal.timeout(50);
  const patient = config(silentPort, { connectTimeoutMs: 20_000 });
  await assert.rejects(serve(t, add, { cacheConfig: patient, signal }), { code: 'CANCELLED' });
  assert.ok(performance.now() - begin < 15_000);
});

test('ensembles are cached at their top, and know the models below', async (t) => {
  const redis = await startRedis(t);
  const models = (addend: number): Parameters<typeof serve>[1] => ({
    one: onnx(addModel({ addend })),
    e: ensemble(chain(['one']), { more: cached }),
  });
  const one = await serve(t, models(1), { cacheConfig: config(redis.port) });
  await hit(one, 0, 'e');
  await until(() => hit(one, 0, 'e'));
  await one.close();
  assert.ok(await hit(await serve(t, models(1), { cacheConfig: config(redis.port) }), 0, 'e'));
  assert.ok(!(await hit(await serve(t, models(2), { cacheConfig: config(redis.port) }), 0, 'e')));
});

test('a large answer, and one that is too large', async (t) => {
  const redis = await startRedis(t);
  const ask = await asker(t, redis.port);
  const common = { maxValueBytes: 4 * 2 ** 20 };
  const tensors = {
    inputs: [{ name: 'x', dims: [-1] }],
    outputs: [{ name: 'y', dims: [-1] }],
    more: cached,
  };
  const server = await serve(t, { echo: identity(tensors) }, { cacheConfig: config(redis.port, {}, common) });
  const infer = async (count: number): Promise<boolean> => {
    const x = new Float32Array(count).fill(count);
    const { outputs, timings } = await server.infer('echo', { x: { data: x, shape: [1, count] } });
    assert.deepEqual(outputs['y']?.data, x);
    return timings.cacheHit;
  };
  assert.ok(!(await infer(400_000)));
  await until(async () => (await ask('DBSIZE')) === 1);
  assert.ok(await infer(400_000));
  assert.ok(!(await infer(600_000)));
  await wait(50);
  assert.equal(await ask('DBSIZE'), 1);
});

test('an idle server keeps no process alive, also while Redis is gone', async (t) => {
  const redis = await startRedis(t);
  const code = `
    import { createServer } from ${JSON.stringify(new URL('../../../src/index.js', import.meta.url).href)};
    const tensor = (name) => [{ name, data_type: 'TYPE_FP32', dims: [1] }];
    const server = await createServer({
      cacheConfig: { redis: { host: '127.0.0.1', port: ${redis.port} } },
      models: {
        m: {
          config: { input: tensor('x'), output: tensor('y'), response_cache: { enable: true } },
          execute: (requests) => requests.map(({ inputs }) => ({ y: inputs.x.data })),
        },
      },
    });
    await server.infer('m', { x: [1] });
    if (process.argv[1] === 'gone') {
      console.log('up');
      await new Promise((resolve) => process.stdin.once('data', resolve));
      process.stdin.destroy();
      for (let i = 0; i < 3; i++) await server.infer('m', { x: [i] });
    }
    console.log('done');`;
  const args = ['--input-type=module', '-e', code];
  const { stdout } = await promisify(execFile)(process.execPath, args, { timeout: 60_000 });
  assert.equal(stdout, 'done\n');
  const child = spawn(process.execPath, [...args, 'gone'], { stdio: ['pipe', 'pipe', 'inherit'] });
  t.after(() => child.kill('SIGKILL'));
  let said = '';
  child.stdout.on('data', (bytes: Buffer) => (said += bytes.toString()));
  await until(() => said === 'up\n');
  await redis.kill();
  child.stdin.write('go\n');
  const [status] = (await once(child, 'close')) as [number];
  assert.deepEqual([status, said], [0, 'up\ndone\n']);
});

nodeTest('without the package redis the error says how to install it', async () => {
  const hook = `export async function resolve(name, context, next) {
    if (name === 'redis') throw Object.assign(new Error("Cannot find package 'redis'"), { code: 'ERR_MODULE_NOT_FOUND' });
    return next(name, context);
  }`;
  const code = `
    import { register } from 'node:module';
    register('data:text/javascript,' + encodeURIComponent(${JSON.stringify(hook)}));
    const { createServer } = await import(${JSON.stringify(new URL('../../../src/index.js', import.meta.url).href)});
    const cacheConfig = { redis: { host: 'localhost', port: 1 } };
    const error = await createServer({ models: { m: { execute: () => [] } }, cacheConfig }).catch((one) => one);
    console.log(error.code, error.message);`;
  const args = ['--input-type=module', '-e', code];
  const { stdout } = await promisify(execFile)(process.execPath, args, { timeout: 60_000 });
  assert.match(stdout, /^UNAVAILABLE cacheConfig\.redis needs the package redis, .*: npm install redis\n$/);
});
