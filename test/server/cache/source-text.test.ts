/** What tells the code of models apart that are values of the program, and settings of backends. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { runInThisContext } from 'node:vm';
import { versionIdentity } from '../../../src/cache/identity.js';
import { registerCache } from '../../../src/cache/registered-caches.js';
import type { CachedAnswer, ResponseCache } from '../../../src/cache/response-cache.js';
import { sourceText } from '../../../src/cache/source-text.js';
import { createServer, type InferenceServer } from '../../../src/index.js';
import type { GivenModel } from '../../../src/options.js';
import { row, until } from '../../support/harness.js';

/** The value of an expression; the same text gives the same code. */
function made(code: string): unknown {
  return runInThisContext(`(${code})`);
}

const run = 'execute(requests) { return requests; }';

test('the same code has the same text, and other code another one', () => {
  const texts = [
    `({ ${run} })`,
    `({ ${run}, scale: 2 })`,
    `({ ${run}, scale: '2' })`,
    `({ ${run}, scale: 2n })`,
    `({ ${run}, scale: [2, { deep: [null, true] }] })`,
    `({ ${run}, scale: [2, { deep: [undefined, true] }] })`,
    `({ ${run}, scale: [2, { deep: { 0: undefined, 1: true, length: 2 } }] })`,
    `({ ${run}, get scale() { return 2; } })`,
    `({ ${run}, get scale() { return 3; } })`,
    `({ ${run}, set scale(to) { this.to = to; } })`,
    `({ ${run}, helper: () => 1 })`,
    `({ ${run}, helpers: { one: () => 1 } })`,
    `({ ${run}, *rows() { yield 1; }, async *later() { yield 1; }, async once() { return 1; } })`,
    `class { ${run} }`,
    `class { ${run} static scale = 2 }`,
    `((M) => { M.scale = 2; return M; })(class { ${run} })`,
    `((M) => { M.scale = 3; return M; })(class { ${run} })`,
    `((M) => { M.prototype.helper = () => 1; return M; })(class { ${run} })`,
    `((M) => { M.prototype.helper = () => 2; return M; })(class { ${run} })`,
    `((Base) => class extends Base { ${run} })(class { scale() { return 1; } })`,
    `((Base) => class extends Base { ${run} })(class { scale() { return 2; } })`,
    `((Base) => class extends Base { ${run} })(class extends class { scale() { return 2; } } {})`,
    `new (class { ${run} scale = 2 })()`,
    `new (class { ${run} constructor() { this.scale = 3; } })()`,
    `((Base) => new (class extends Base { ${run} })())(class { scale() { return 1; } })`,
    `((Base) => new (class extends Base { ${run} })())(class { scale() { return 2; } })`,
    `Object.assign(function M() {}, { prototype: { ${run} } })`,
  ];
  const found = texts.map((text) => sourceText(made(text)));
  for (const [i, text] of found.entries()) {
    assert.ok(text !== undefined, texts[i]);
    assert.equal(sourceText(made(texts[i] ?? '')), text);
  }
  assert.equal(new Set(found).size, texts.length);
});

test('code that has no text of its own is not known, and none of it runs', () => {
  const hostile =
    '{ get: () => { throw new Error("ran"); }, getPrototypeOf: () => { throw new Error("ran"); } }';
  for (const text of [
    `({ execute: function (requests) { return requests; }.bind({ scale: 2 }) })`,
    `({ execute: Math.max })`,
    `new Proxy({ ${run} }, ${hostile})`,
    `new Proxy(class { ${run} }, ${hostile})`,
    `({ execute: new Proxy((requests) => requests, ${hostile}) })`,
    `({ ${run}, table: new Proxy({}, ${hostile}) })`,
    `Object.create(new Proxy({}, ${hostile}), { execute: { value: () => [] } })`,
    `({ ${run}, table: new Map() })`,
    `({ ${run}, weights: new Float32Array(2) })`,
    `({ ${run}, table: [new Date(0)] })`,
    `({ ${run}, key: Symbol('key') })`,
    `((M) => { M.table = new Map(); return M; })(class { ${run} })`,
    `class extends Map { ${run} }`,
    `((m) => { m.self = { m: [m.self] }; m.self.m.push(m.self); return m; })({ ${run} })`,
    `({ ${run}, text: 'x'.repeat(2 ** 20) })`,
    `({ ${run}, list: new Array(2 ** 19).fill(0) })`,
    `({ ${run}, list: new Array(2 ** 32 - 1) })`,
    `({ ${run}, deep: Array.from({ length: 5000 }).reduce((inner) => [inner], []) })`,
    `({ ${run}, list: Object.setPrototypeOf([], { at: () => 1 }) })`,
  ])
    assert.equal(sourceText(made(text)), undefined, text);
});

test('the settings of a backend count, in any order', async () => {
  const of = (settings: Readonly<Record<string, string | number | boolean>>): Promise<string> =>
    versionIdentity({
      ...{ namespace: '', model: 'm', version: 1, config: '{}', paths: [], files: undefined, code: [] },
      settings,
    });
  const all = await Promise.all([
    of({}),
    of({ threads: '1' }),
    of({ threads: 1 }),
    of({ a: 1, b: 2 }),
    of({ a: 2, b: 1 }),
  ]);
  assert.equal(new Set(all).size, all.length);
  assert.equal(await of({ b: 2, a: 1 }), all[3]);
});

test('a model whose code is not known runs each request, and the log says why', async (t) => {
  const stored = new Map<string, Uint8Array>();
  const cache: ResponseCache = {
    lookup: (keys) => keys.map((key) => stored.get(key)),
    insert: (entries: readonly CachedAnswer[]) => {
      for (const { key, value } of entries) stored.set(key, value);
    },
  };
  registerCache('source-text', cache);
  const lines: string[] = [];
  const tensor = (name: string): object => ({ name, data_type: 'TYPE_FP32', dims: [16] });
  const config = { input: [tensor('x')], output: [tensor('y')], response_cache: { enable: true } };
  const execute = (requests: readonly { inputs: { x: { data: Float32Array } } }[]): object[] =>
    requests.map(({ inputs }) => ({ y: inputs.x.data }));
  const served = async (model: object, backendConfig = {}): Promise<InferenceServer> => {
    const server = await createServer({
      // The test's own models, whose types the package infers nowhere.
      models: { m: { config, ...model } as unknown as GivenModel },
      logger: { warn: (line) => lines.push(line) },
      cacheConfig: { 'source-text': {} },
      backendConfig,
    });
    t.after(() => server.close());
    return server;
  };
  const asks = async (server: InferenceServer): Promise<boolean> =>
    (await server.infer('m', { x: row() })).timings.cacheHit;

  assert.equal(await asks(await served({ execute })), false);
  await until(() => stored.size === 1);
  assert.equal(lines.length, 0);
  assert.equal(await asks(await served({ execute })), true);

  const bound = await served({ execute: execute.bind(undefined) });
  assert.match(
    lines[0] ?? '',
    /^model 'm': parts of its code cannot be told apart .* answers are not cached/,
  );
  assert.deepEqual([await asks(bound), await asks(bound)], [false, false]);
  await wait(20);
  assert.deepEqual([stored.size, lines.length], [1, 1]);
});
