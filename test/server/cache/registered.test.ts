/** Caches that the program registers, as callers see them. */

import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { createServer, type InferenceServer } from '../../../src/index.js';
import { registerCache } from '../../../src/cache/registered-caches.js';
import type { CachedAnswer, CachedValue, ResponseCache } from '../../../src/cache/response-cache.js';
import type { CacheConfig } from '../../../src/cache-config.js';
import type { GivenModel, ServerOptions } from '../../../src/options.js';
import { row, turn, until } from '../../support/harness.js';

let names = 0;

/** A cache in a map, which notes its calls. */
class MapCache implements ResponseCache {
  readonly stored = new Map<string, Uint8Array>();
  readonly lookups: (readonly string[])[] = [];
  closed = 0;

  lookup(keys: readonly string[]): readonly CachedValue[] | Promise<readonly CachedValue[]> {
    this.lookups.push(keys);
    return keys.map((key) => this.stored.get(key));
  }

  insert(entries: readonly CachedAnswer[]): unknown {
    for (const { key, value } of entries) this.stored.set(key, value);
    return undefined;
  }

  close(): void {
    this.closed++;
  }
}

/** A model of the program that adds the number of its runs to its input, or the given amount. */
function counting(more: object = {}): { readonly model: GivenModel; readonly runs: () => number } {
  let runs = 0;
  const model = {
    config: {
      max_batch_size: 8,
      input: [{ name: 'x', data_type: 'TYPE_FP32', dims: [16] }],
      output: [{ name: 'y', data_type: 'TYPE_FP32', dims: [16] }],
      response_cache: { enable: true },
      ...more,
    },
    execute: (requests: readonly { inputs: { x: { data: Float32Array } } }[]) => {
      runs++;
      return requests.map(({ inputs }) => ({ y: inputs.x.data.map((value) => value + runs) }));
    },
  };
  // The test's own model, whose types the package infers nowhere.
  return { model: model as unknown as GivenModel, runs: () => runs };
}

interface Log {
  readonly lines: string[];
}

async function served(
  t: TestContext,
  cache: ResponseCache | ((settings: Readonly<Record<string, unknown>>) => ResponseCache),
  options: Partial<ServerOptions> & { readonly more?: object; readonly settings?: object } = {},
): Promise<{ server: InferenceServer; runs: () => number; log: Log }> {
  const name = `cache-${++names}`;
  registerCache(name, cache);
  const { more, settings = {}, cacheConfig, ...rest } = options;
  const { model, runs } = counting(more);
  const log: Log = { lines: [] };
  const server = await createServer({
    models: { m: model },
    logger: { warn: (message) => log.lines.push(message), error: (message) => log.lines.push(message) },
    ...rest,
    cacheConfig: { [name]: settings, ...cacheConfig },
  });
  t.after(() => server.close());
  return { server, runs, log };
}

const first = async (server: InferenceServer, from = 0): Promise<readonly [number, boolean]> => {
  const { outputs, timings } = await server.infer('m', { x: row(from) });
  return [Number(outputs['y']?.data[0]) - from, timings.cacheHit];
};

test('an equal request is answered from the cache', async (t) => {
  const cache = new MapCache();
  const { server, runs } = await served(t, cache);
  assert.deepEqual(await first(server), [1, false]);
  await until(() => cache.stored.size === 1);
  assert.deepEqual(await first(server), [1, true]);
  assert.equal(runs(), 1);
  const { cache_hit: hit, cache_miss: miss, success } = server.model('m').statistics().inference_stats;
  assert.deepEqual([hit.count, miss.count, success.count], [1, 1, 2]);
  assert.ok(hit.ns > 0 && miss.ns > 0);
  const explained = server.explain('m').cache;
  assert.deepEqual(explained, { hits: 1, misses: 1, up: true, failed: 0, unusable: 0, dropped: 0 });
  const text = server.metrics();
  assert.match(text, /^nv_cache_num_hits 1$/m);
  assert.match(text, /^nv_cache_num_lookups 2$/m);
  assert.match(text, /^nv_cache_num_hits_per_model\{.*\} 1$/m);
  assert.doesNotMatch(text, /nv_cache_util/);
});

test('a server closes the cache that was made for it, and not one that is shared', async (t) => {
  const shared = new MapCache();
  const own = new MapCache();
  for (const [cache, closed] of [
    [shared, 0],
    [() => own, 1],
  ] as const) {
    const { server } = await served(t, cache);
    await server.close();
    assert.equal((typeof cache === 'function' ? own : cache).closed, closed);
  }
});

test('the look-ups of a tick come together, and equal ones once', async (t) => {
  const cache = new MapCache();
  const { server } = await served(t, cache);
  const model = server.model('m');
  const all = await Promise.all(Array.from({ length: 40 }, (_, i) => model.infer({ x: row(i % 20) })));
  assert.deepEqual(
    cache.lookups.map((keys) => [keys.length, new Set(keys).size]),
    [[20, 20]],
  );
  assert.equal(all.filter(({ timings }) => timings.cacheHit).length, 20);
  await until(() => cache.stored.size === 20);
  const again = await Promise.all(Array.from({ length: 20 }, (_, i) => model.infer({ x: row(i) })));
  assert.ok(again.every(({ timings }) => timings.cacheHit));
  assert.equal(cache.lookups.length, 2);
});

test('without coalescing each request is looked up', async (t) => {
  const cache = new MapCache();
  const { server } = await served(t, cache, { cacheConfig: { coalesce: false } });
  await Promise.all([first(server), first(server)]);
  assert.deepEqual(
    cache.lookups.map((keys) => keys.length),
    [2],
  );
});

test('a cache may answer later, and from memory that threads share', async (t) => {
  const cache = new MapCache();
  const { server } = await served(t, {
    lookup: async (keys) => {
      await wait(5);
      return cache.lookup(keys);
    },
    insert: (entries) => {
      for (const { key, value } of entries) {
        const shared = new Uint8Array(new SharedArrayBuffer(value.byteLength));
        shared.set(value);
        cache.stored.set(key, shared);
      }
    },
  });
  await first(server);
  await until(() => cache.stored.size === 1);
  assert.deepEqual(await first(server), [1, true]);
});

test('another server with the same model finds the answers, and one with another model does not', async (t) => {
  const cache = new MapCache();
  const one = await served(t, cache);
  await first(one.server);
  await until(() => cache.stored.size === 1);
  await one.server.close();
  const two = await served(t, cache);
  assert.deepEqual(await first(two.server), [1, true]);
  const other = await served(t, cache, { more: { parameters: { other: { string_value: 'yes' } } } });
  assert.deepEqual(await first(other.server), [1, false]);
  await until(() => cache.stored.size === 2);
});

test('values that are no answer to the request are misses', async (t) => {
  const cache = new MapCache();
  const { server, runs } = await served(t, cache);
  await first(server, 0);
  await first(server, 5);
  await until(() => cache.stored.size === 2);
  const [[key, value] = ['', new Uint8Array()], [, other] = ['', new Uint8Array()]] = [...cache.stored];
  let seen = runs();
  const spoiled: Uint8Array[] = [
    new Uint8Array(),
    new Uint8Array(48),
    other,
    value.subarray(1),
    Buffer.alloc(1e6, 7),
  ];
  for (let i = 0; i < value.length; i++) {
    const flipped = Uint8Array.from(value);
    flipped[i] = (flipped[i] ?? 0) ^ 1;
    spoiled.push(flipped, value.slice(0, i));
  }
  for (const bytes of spoiled) {
    cache.stored.set(key, bytes);
    const [, hit] = await first(server);
    assert.ok(!hit);
    assert.equal(runs(), ++seen);
  }
  cache.stored.set(key, value);
  assert.deepEqual(await first(server), [1, true]);
  assert.ok((server.explain('m').cache?.unusable ?? 0) >= value.length);
});

test('a cache that fails is passed by, and the log says so once', async (t) => {
  const cache = new MapCache();
  let fails: 'throw' | 'reject' | 'wrong' | undefined = 'throw';
  const { server, log } = await served(t, {
    lookup: (keys) => {
      if (fails === 'throw') throw new Error('no luck');
      if (fails === 'reject') return Promise.reject(new Error('no luck'));
      // What JavaScript may return.
      if (fails === 'wrong') return 'values' as unknown as CachedValue[];
      return cache.lookup(keys);
    },
    insert: (entries) => cache.insert(entries),
  });
  for (fails of ['throw', 'reject', 'wrong'] as const) assert.deepEqual((await first(server))[1], false);
  assert.equal(log.lines.length, 1);
  assert.match(
    log.lines[0] ?? '',
    /^response cache 'cache-\d+': no luck; requests run without it until it answers/,
  );
  assert.deepEqual([server.explain('m').cache?.up, server.explain('m').cache?.failed], [false, 3]);
  fails = undefined;
  assert.deepEqual(await first(server, 3), [4, false]);
  await until(() => cache.stored.size > 0);
  assert.deepEqual(await first(server, 3), [4, true]);
  assert.equal(log.lines.length, 2);
  assert.match(log.lines[1] ?? '', /answers again/);
});

test('a look-up that hangs delays requests by its limit, and later ones not at all', async (t) => {
  const cache = new MapCache();
  let hangs = true;
  let aborted = 0;
  const { server, log } = await served(
    t,
    {
      lookup: (keys, signal) => {
        signal.addEventListener('abort', () => aborted++);
        return hangs ? new Promise(() => undefined) : cache.lookup(keys);
      },
      insert: (entries) => cache.insert(entries),
    },
    { cacheConfig: { lookupTimeoutMs: 500 } },
  );
  const begin = performance.now();
  assert.deepEqual(await first(server), [1, false]);
  assert.ok(performance.now() - begin >= 495);
  await until(() => aborted === 1);
  const later = performance.now();
  for (let i = 0; i < 20; i++) await first(server, i);
  // If each waited for the limit, they would take 10 s.
  assert.ok(performance.now() - later < 5000, `${performance.now() - later} ms`);
  assert.equal(log.lines.length, 1);
  assert.match(log.lines[0] ?? '', /a look-up took longer than 500 ms/);
  hangs = false;
  await until(async () => (await first(server, 3))[1]);
  assert.equal(log.lines.length, 2);
});

test('a cancelled request does not wait for its look-up, and those that share it go on', async (t) => {
  const cache = new MapCache();
  let release: (() => void) | undefined;
  const { server } = await served(t, {
    lookup: async (keys) => {
      await new Promise<void>((resolve) => (release = resolve));
      return cache.lookup(keys);
    },
    insert: (entries) => cache.insert(entries),
  });
  const abort = new AbortController();
  const model = server.model('m');
  const leader = model.infer({ x: row() }, { signal: abort.signal });
  const follower = model.infer({ x: row() });
  await until(() => release !== undefined);
  abort.abort();
  await assert.rejects(leader, { code: 'CANCELLED' });
  release?.();
  await turn();
  await until(() => {
    release?.();
    return cache.stored.size === 1;
  });
  assert.equal(Number((await follower).outputs['y']?.data[0]), 1);
});

test('close and unload do not wait for a look-up that hangs longer than they say', async (t) => {
  const hanging = (): ResponseCache => ({
    lookup: () => new Promise(() => undefined),
    insert: () => undefined,
    close: () => new Promise(() => undefined),
  });
  const { server } = await served(t, hanging());
  const waiting = server.model('m').infer({ x: row() });
  const ended = assert.rejects(waiting, { code: 'CANCELLED', message: /the server was closed before/ });
  await turn();
  const begin = performance.now();
  await server.close({ timeoutMs: 0 });
  await ended;
  assert.ok(performance.now() - begin < 2900);
  // With time enough, it is served.
  const patient = await served(t, hanging(), { cacheConfig: { lookupTimeoutMs: 100 } });
  const answer = first(patient.server);
  await turn();
  const closed = patient.server.close({ timeoutMs: 10_000 });
  assert.deepEqual(await answer, [1, false]);
  await closed;
});

test('caches are refused by name, and their makers may fail', async (t) => {
  const one: unknown = undefined;
  assert.throws(
    () => {
      registerCache('redis', new MapCache());
    },
    {
      code: 'INVALID_ARG',
      message: /name of the package/,
    },
  );
  assert.throws(() => {
    registerCache('a b', new MapCache());
  }, /letters, digits/);
  for (const name of ['toString', 'constructor', '__proto__', 'hasOwnProperty']) {
    assert.throws(
      () => {
        registerCache(name, new MapCache());
      },
      {
        code: 'INVALID_ARG',
        message: `registerCache: '${name}' is a name of each object; choose another one`,
      },
    );
  }
  assert.throws(() => {
    registerCache('no-cache', one as ResponseCache);
  }, /functions lookup and insert/);
  registerCache('twice', new MapCache());
  assert.throws(
    () => {
      registerCache('twice', new MapCache());
    },
    { code: 'ALREADY_EXISTS' },
  );
  const refused = async (cacheConfig: CacheConfig, message: RegExp): Promise<void> => {
    await assert.rejects(createServer({ models: { m: counting().model }, cacheConfig }), { message });
  };
  await refused({}, /expected the settings of one cache \(local, redis, .*\) .* but received none/);
  await refused({ twise: {} }, /unknown key 'twise' in options.cacheConfig \(did you mean twice\?\)/);
  await refused({ twice: {}, local: { size: 512 } }, /but received local and twice/);
  await refused({ twice: { size: 1 } }, /unknown key 'size' .*: the cache takes no settings/);
  await refused({ twice: 1 }, /expected the settings of the cache for options.cacheConfig\['twice'\]/);
  await refused({ twice: {}, lookupTimeoutMs: 0 }, /whole milliseconds from 1 .*lookupTimeoutMs/);
  await refused({ local: { size: 512 }, maxValueBytes: 600 }, /local cache has no such limit/);
  registerCache('broken', () => {
    throw new Error('no disk');
  });
  await refused({ broken: {} }, /response cache 'broken': it cannot be opened: no disk/);
  registerCache('empty', () => one as ResponseCache);
  await refused({ empty: {} }, /expected its function to make an object/);
  let settings: unknown;
  const { server } = await served(
    t,
    (given) => {
      settings = given;
      return new MapCache();
    },
    { settings: { folder: 'here' } },
  );
  assert.deepEqual(settings, { folder: 'here' });
  await server.close();
});

test('answers that are too large are not stored', async (t) => {
  const cache = new MapCache();
  const { server } = await served(t, cache, { cacheConfig: { maxValueBytes: 512 } });
  const large = new Float32Array(8 * 16);
  await server.infer('m', { x: [Array.from({ length: 16 }, () => 1)] });
  await until(() => cache.stored.size === 1);
  const { outputs } = await server.model('m').infer({ x: { data: large, shape: [8, 16] } });
  assert.equal(outputs['y']?.data.length, 128);
  await turn();
  assert.deepEqual([cache.stored.size, cache.lookups.length], [1, 1]);
});
