/** Response caches that are plug-ins of Triton: those of the tests, and the one that Triton has. */

import assert from 'node:assert/strict';
import { mkdir, copyFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import type { CacheConfig } from '../../../src/cache-config.js';
import { createServer, type InferenceServer, type ServerOptions } from '../../../src/index.js';
import type { GivenModel } from '../../../src/options.js';
import { addressOf, connected, protocols } from '../../client/harness.js';
import {
  chain,
  ensemble,
  floats,
  onnx,
  rejection,
  row,
  serve,
  until,
  type Context,
} from '../../support/harness.js';
import { addModel } from '../../support/models.js';
import { agentFolder, cacheFolder, skip } from '../../support/plugin-folders.js';
import { temporaryFolder } from '../../support/repository.js';

const { TRITONTS_PLUGIN_CACHES: tritonCaches } = process.env;
const withoutTriton = tritonCaches === undefined ? 'npm test -- plugins has the caches of Triton' : false;
if (withoutTriton !== false) console.error(`skipped in part: ${withoutTriton}`);

const tensor = (name: string): object => ({ name, data_type: 'TYPE_FP32', dims: [16] });

/** A model of the program that adds the number of its runs to its input. */
function counting(): { readonly model: GivenModel; readonly runs: () => number } {
  let runs = 0;
  const model = {
    config: {
      max_batch_size: 8,
      input: [tensor('x')],
      output: [tensor('y')],
      response_cache: { enable: true },
    },
    execute: (requests: readonly { inputs: { x: { data: Float32Array } } }[]) => {
      runs++;
      return requests.map(({ inputs }) => ({ y: inputs.x.data.map((value) => value + runs) }));
    },
  };
  // The test's own model, whose types the package infers nowhere.
  return { model: model as unknown as GivenModel, runs: () => runs };
}

/** A server, what it runs, and its log. */
interface Served {
  readonly server: InferenceServer;
  readonly runs: () => number;
  readonly lines: string[];
}

async function served(
  t: Context,
  cacheConfig: CacheConfig,
  options: Partial<ServerOptions> = {},
): Promise<Served> {
  const { model, runs } = counting();
  const lines: string[] = [];
  const note = (line: string): unknown => lines.push(line);
  const server = await createServer({
    models: { m: model },
    logger: { warn: note, error: note },
    cacheDirectory: cacheFolder,
    cacheConfig,
    ...options,
  });
  t.after(() => server.close({ timeoutMs: 0 }));
  return { server, runs, lines };
}

const ask = async (server: InferenceServer, from = 0): Promise<readonly [number, boolean]> => {
  const { outputs, timings } = await server.infer('m', { x: row(from) });
  return [Number(outputs['y']?.data[0]), timings.cacheHit];
};

/** Asks until there is a hit: answers are stored after they were delivered. */
async function untilHit(server: InferenceServer, from = 0): Promise<number> {
  let value = 0;
  await until(async () => {
    const [found, hit] = await ask(server, from);
    value = found;
    return hit;
  });
  return value;
}

test('a plug-in answers equal requests, and ends with the server', { skip }, async (t) => {
  const { server, runs, lines } = await served(t, { map: {} });
  assert.deepEqual(await ask(server), [1, false]);
  const value = await untilHit(server);
  assert.equal(value, 1);
  const before = runs();
  assert.deepEqual(await Promise.all([ask(server), ask(server), ask(server)]), [
    [1, true],
    [1, true],
    [1, true],
  ]);
  assert.equal(runs(), before);
  const { cache_hit: hits } = server.statistics('m')[0]?.inference_stats ?? {};
  assert.ok(Number(hits?.count) >= 4);
  assert.equal(server.explain('m').cache?.up, true);
  await server.close();
  assert.deepEqual(lines, []);
});

test('many requests of several models are looked up at once', { skip }, async (t) => {
  const { server } = await served(t, { map: {} });
  const values = Array.from({ length: 200 }, (_, i) => i);
  const first = await Promise.all(values.map((value) => ask(server, value)));
  for (const value of values) await untilHit(server, value);
  const again = await Promise.all(values.map((value) => ask(server, value)));
  assert.deepEqual(
    again,
    first.map(([found]) => [found, true]),
  );
});

for (const protocol of protocols) {
  test(`clients get hits of a plug-in over ${protocol}`, { skip }, async (t) => {
    const { server, runs } = await served(t, { map: {} });
    const client = await connected(t, await addressOf(t, protocol, server));
    const once = async (): Promise<unknown> => (await client.infer('m', { x: row(5) })).outputs['y']?.data[0];
    const first = await once();
    await untilHit(server, 5);
    const before = runs();
    assert.equal(await once(), first);
    assert.equal(runs(), before);
  });
}

test('an ensemble is cached by a plug-in', { skip }, async (t) => {
  const server = await serve(
    t,
    {
      m: onnx(addModel({ addend: 1 })),
      e: ensemble(chain(['m']), { more: 'response_cache { enable: true }' }),
    },
    { cacheDirectory: cacheFolder, cacheConfig: { map: {} } },
  );
  await until(async () => (await server.infer('e', { x: row(1) })).timings.cacheHit);
  const executions = (): unknown => server.statistics('m')[0]?.execution_count;
  const before = executions();
  const answer = await server.infer('e', { x: row(1) });
  assert.deepEqual([answer.timings.cacheHit, floats(answer)[0]], [true, 2]);
  assert.equal(executions(), before);
});

for (const [fault, message] of [
  ['refuse', /^response cache 'faulty': the store is gone; requests run without it until it answers again$/],
  ['throw', /^response cache 'faulty': the plug-in threw no look-up; requests run without it/],
  ['two_lines', /^response cache 'faulty': one\\nline \\u001b\[2J; requests run without it/],
  ['insert_throw', /insert failed: the plug-in threw something that is no std::exception$/],
  ['no_copy', /TRITONCACHE_CacheLookup returned success, but the entry was not copied/],
  ['no_buffer', /expected 1 buffer of a cache entry but received 0/],
  ['two_buffers', /expected 1 buffer of a cache entry but received 2/],
  ['gpu', /buffer 0 of the cache entry: expected memory of the host but received memory of a GPU/],
  ['no_memory', /buffer 0 of the cache entry: expected memory but received null/],
  ['huge', /buffer 0 of the cache entry: expected 1 to \d+ bytes but received 18446744073709551615/],
  ['insert_refuse', /^response cache 'faulty': insert failed: the store is full$/],
  ['insert_no_copy', /TRITONCACHE_CacheInsert returned success, but the entry was not copied/],
  ['insert_small', /buffer 0 of the cache entry: expected \d+ bytes of memory but received 1$/],
  ['insert_gpu', /expected memory of the host but received memory of a GPU/],
] as const) {
  test(`requests run without a plug-in that breaks a rule: ${fault}`, { skip }, async (t) => {
    const { server, lines } = await served(t, { faulty: { fault } });
    for (let run = 1; run <= 5; run++) assert.deepEqual(await ask(server), [run, false]);
    await until(() => lines.length > 0);
    assert.equal(lines.length, 1);
    assert.match(lines[0] ?? '', message);
    if (!fault.startsWith('insert')) assert.equal(server.explain('m').cache?.up, false);
  });
}

test('what a plug-in returns is checked', { skip }, async (t) => {
  const { server, lines } = await served(t, { faulty: { fault: 'noise', times: 1 } });
  assert.deepEqual(await ask(server), [1, false]);
  assert.equal(server.explain('m').cache?.unusable, 1);
  assert.ok(!lines.some((line) => line.includes('without it')));
});

test('a plug-in answers again', { skip }, async (t) => {
  const { server, lines } = await served(t, { faulty: { fault: 'refuse', times: 1 } });
  await ask(server);
  await ask(server, 1);
  await until(() => lines.some((line) => line === "response cache 'faulty' answers again"));
  assert.equal(server.explain('m').cache?.up, true);
});

test('requests wait for a slow plug-in no longer than the limit', { skip }, async (t) => {
  const { server, lines } = await served(t, {
    faulty: { fault: 'slow', ms: 1500 },
    lookupTimeoutMs: 50,
  });
  for (let run = 1; run <= 3; run++) assert.deepEqual(await ask(server, run), [run + run, false]);
  await until(() => lines.length > 0);
  assert.match(lines[0] ?? '', /a look-up took longer than 50 ms; requests run without it/);
  assert.equal(server.explain('m').cache?.up, false);
});

test('a plug-in that hangs holds up neither requests nor the close', { skip }, async (t) => {
  const { server, lines } = await served(t, { faulty: { fault: 'hang' }, lookupTimeoutMs: 50 });
  assert.deepEqual(await ask(server), [1, false]);
  await until(() => lines.length > 0);
  await server.close();
  assert.match(lines.at(-1) ?? '', /it did not end within 2000 ms, so its thread was abandoned/);
});

test('a server does not start without its plug-in', { skip }, async (t) => {
  const start = (cacheConfig: CacheConfig, options: Partial<ServerOptions> = {}): Promise<Error> =>
    rejection(
      createServer({ models: { m: counting().model }, cacheDirectory: cacheFolder, cacheConfig, ...options }),
    );
  for (const [config, code, message] of [
    [{ faulty: { fault: 'start_throw' } }, 'INTERNAL', /response cache 'faulty': the plug-in threw no start/],
    [{ map: { fail: 'no such store' } }, 'INVALID_ARG', /response cache 'map': no such store/],
    [{ faulty: { fault: 'null' } }, 'INTERNAL', /CacheInitialize returned success, but there is no cache/],
    [{ none: {} }, 'INVALID_ARG', /unable to find 'libtritoncache_none\.so' for cache\. Searched: /],
    [
      { map: { size: [1] } },
      'INVALID_ARG',
      /a text, a number, true or false .*cacheConfig\['map'\]\['size'\]/,
    ],
    [{ local: { plugin: true, size: 1024 } }, 'INVALID_ARG', /unable to find 'libtritoncache_local\.so'/],
  ] as const) {
    const error = await start(config);
    assert.equal((error as Error & { code?: string }).code, code);
    assert.match(error.message, message);
  }
  assert.match(
    (await start({ map: {} }, { cacheDirectory: undefined })).message,
    /unknown key 'map' in options\.cacheConfig.*a plug-in of Triton needs options\.cacheDirectory/,
  );
  // An agent is no cache.
  const folder = await temporaryFolder(t);
  await mkdir(join(folder, 'journal'));
  await copyFile(
    join(agentFolder, 'journal', 'libtritonrepoagent_journal.so'),
    join(folder, 'journal', 'libtritoncache_journal.so'),
  );
  assert.match(
    (await start({ journal: {} }, { cacheDirectory: folder })).message,
    /has no function TRITONCACHE_CacheInitialize, which a cache needs/,
  );
});

test('a start can be cancelled while a plug-in begins', { skip }, async () => {
  const abort = new AbortController();
  const starting = rejection(
    createServer({
      models: { m: counting().model },
      cacheDirectory: cacheFolder,
      cacheConfig: { faulty: { fault: 'slow_start', ms: 300 } },
      signal: abort.signal,
    }),
  );
  setImmediate(() => {
    abort.abort();
  });
  assert.equal(((await starting) as Error & { code?: string }).code, 'CANCELLED');
});

test("Triton's own local cache", { skip: skip || withoutTriton }, async (t) => {
  const { server, runs, lines } = await served(
    t,
    { local: { plugin: true, size: 1 << 20 } },
    { cacheDirectory: tritonCaches },
  );
  assert.deepEqual(await ask(server), [1, false]);
  assert.equal(await untilHit(server), 1);
  const before = runs();
  assert.deepEqual(await ask(server), [1, true]);
  assert.equal(runs(), before);
  // Its thread updates them from time to time.
  await until(() => /^nv_cache_num_hits [1-9]/m.test(server.metrics()));
  const names: readonly string[] = server.metrics().match(/^# TYPE nv_cache_\w+/gm) ?? [];
  assert.equal(new Set(names).size, names.length);
  assert.ok(names.includes('# TYPE nv_cache_util'));
  await server.close();
  assert.deepEqual(lines, []);
});
