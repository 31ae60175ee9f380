/** Two sources in two namespaces, which have models of the same names. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { unavailable } from '../../src/errors.js';
import type { InferenceServer } from '../../src/index.js';
import {
  chain,
  configText,
  ensemble,
  floats,
  rejection,
  row,
  thrown,
  until,
  type Context,
} from '../support/harness.js';
import { addModel } from '../support/models.js';
import { MapSource } from './sources/map-source.js';
import { serve as serveSources } from './sources/serve.js';

/** A source with models that add these numbers, and ensembles of these steps. */
function sourceOf(
  namespace: string,
  addends: Readonly<Record<string, number>>,
  ensembles: Readonly<Record<string, readonly string[]>> = {},
): MapSource {
  const source = new MapSource({});
  source.namespace = namespace;
  source.place = `map://${namespace}`;
  for (const [name, addend] of Object.entries(addends)) add(source, name, addend);
  for (const [name, steps] of Object.entries(ensembles)) {
    const { config } = ensemble(chain([...steps]));
    source.write(`${name}/config.pbtxt`, String(config));
    source.write(`${name}/1/empty`, '');
  }
  return source;
}

function add(source: MapSource, name: string, addend: number): void {
  source.write(`${name}/config.pbtxt`, configText());
  source.write(`${name}/1/model.onnx`, addModel({ addend }));
}

/** A server in explicit mode with these sources. */
function serve(t: Context, sources: readonly MapSource[], loadModels: string[]): Promise<InferenceServer> {
  return serveSources(t, sources, { loadModels, modelNamespacing: true });
}

const sum = async (server: InferenceServer, model: string): Promise<number | undefined> =>
  floats(await server.infer(model, { x: row(0) }))[0];

const ambiguous =
  /^There are 2 identifiers of model 'm' in global map, model namespace must be provided to resolve ambiguity\. The namespaces are 'a', 'b'\.$/;

test('a name of one namespace is served, and a name of two is refused', async (t) => {
  const server = await serve(t, [sourceOf('a', { m: 1, only: 2 }), sourceOf('b', { m: 3 })], ['*']);
  assert.equal(await sum(server, 'only'), 2);
  for (const refused of [
    thrown(() => server.model('m')),
    thrown(() => server.model('m', 1)),
    thrown(() => server.explain('m')),
    thrown(() => server.statistics('m')),
    await rejection(server.infer('m', { x: row(0) })),
  ]) {
    assert.deepEqual([refused.code, refused.model], ['INVALID_ARG', 'm']);
    assert.match(refused.message, ambiguous);
  }
});

test('what explains a model takes its namespace, and options of an odd kind are refused', async (t) => {
  const server = await serve(t, [sourceOf('a', { m: 1 }), sourceOf('b', { m: 3 })], ['m']);
  const [a, b] = ['a', 'b'].map((namespace) => server.model('m', { namespace }));
  assert.ok(a && b);
  await b.infer({ x: row(0) });
  const batches = ['a', 'b'].map((namespace) => server.explain('m', { namespace }).batches.length);
  assert.deepEqual(batches, [0, 1]);
  assert.deepEqual([a.explain().batches.length, b.explain().batches.length], batches);
  assert.match(thrown(() => server.explain('m', { namespace: 'c' })).message, /not in the namespace 'c'/);
  for (const [odd, name] of [
    [new Map(), 'Map'],
    [new Set(), 'Set'],
    [Promise.resolve(), 'Promise'],
  ] as const) {
    const refused = thrown(() => server.model('m', odd as object));
    assert.equal(refused.message, `expected an object with keys for model options but received a ${name}`);
  }
});

test('requests and statistics take the namespace of a model', async (t) => {
  const server = await serve(t, [sourceOf('a', { m: 1, only: 2 }), sourceOf('b', { m: 3 })], ['*']);
  const x = row(0);
  for (const [namespace, expected] of [
    ['a', 1],
    ['b', 3],
  ] as const) {
    assert.equal(floats(await server.infer('m', { x }, { namespace, version: 1 }))[0], expected);
    for await (const result of server.stream('m', { x }, { namespace }))
      assert.equal(floats(result)[0], expected);
  }
  await server.infer('m', { x }, { namespace: 'b' });
  const counts = (name: string | undefined, which: Parameters<InferenceServer['statistics']>[1]): string[] =>
    server.statistics(name, which).map((one) => `${one.namespace ?? ''}::${one.name} ${one.inference_count}`);
  assert.deepEqual(counts('m', { namespace: 'a' }), ['a::m 2']);
  assert.deepEqual(counts('m', { namespace: 'b', version: 1 }), ['b::m 3']);
  assert.deepEqual(counts(undefined, { namespace: 'a' }), ['a::m 2', 'a::only 0']);
  assert.deepEqual(counts('only', undefined), ['a::only 0']);
  assert.match(
    thrown(() => server.statistics('only', { namespace: 'b' })).message,
    /'only' is not in the namespace 'b'; these have it: 'a'/,
  );
  const odd = 5 as unknown as string;
  for (const [refused, options] of [
    [thrown(() => server.statistics('m', { namespace: odd })), 'statistics options'],
    [await rejection(server.infer('m', { x }, { namespace: odd })), 'infer options'],
    [await rejection(server.stream('m', { x }, { namespace: odd }).next()), 'infer options'],
  ] as const) {
    assert.equal(refused.code, 'INVALID_ARG');
    assert.match(refused.message, new RegExp(`expected the repository of the model.*${options}\\.namespace`));
  }
});

test('reports have the models of one name side by side, and the metrics tell their namespaces', async (t) => {
  const server = await serve(t, [sourceOf('a', { m: 1 }), sourceOf('b', { m: 3 })], ['m']);
  const ready = { name: 'm', version: '1', state: 'READY' };
  assert.deepEqual(
    server.index(),
    ['a', 'b'].map((namespace) => ({ ...ready, namespace })),
  );
  const told = server.statistics().map(({ name, namespace }) => `${namespace ?? ''}::${name}`);
  assert.deepEqual(told, ['a::m', 'b::m']);
  for (const namespace of ['a', 'b']) {
    assert.match(
      server.metrics(),
      new RegExp(`nv_inference_count\\{model="m",namespace="${namespace}",version="1"\\} 0`),
    );
  }
});

test('a load and an unload are for the models of all namespaces', async (t) => {
  const [a, b] = [sourceOf('a', { m: 1 }), sourceOf('b', { m: 3 })];
  const server = await serve(t, [a, b], []);
  assert.deepEqual(server.index(), [
    { name: 'm', namespace: 'a' },
    { name: 'm', namespace: 'b' },
  ]);
  assert.deepEqual(await server.loadModel('m'), { changed: true });
  assert.equal(server.index({ ready: true }).length, 2);
  // A change of one is enough.
  add(b, 'm', 5);
  assert.deepEqual(await server.loadModel('m'), { changed: true });
  assert.deepEqual(await server.loadModel('m'), { changed: false });
  await server.unloadModel('m');
  assert.deepEqual(
    server.index().map(({ state, reason }) => [state, reason]),
    [
      ['UNAVAILABLE', 'unloaded'],
      ['UNAVAILABLE', 'unloaded'],
    ],
  );
});

test('a handle stays with the model that its name meant, and the name is refused once another one comes', async (t) => {
  const [a, b] = [sourceOf('a', { m: 1 }), sourceOf('b', {})];
  const server = await serve(t, [a, b], ['m']);
  const model = server.model('m');
  assert.equal(server.model('m'), model);
  add(b, 'm', 3);
  await server.loadModel('m');
  assert.match(thrown(() => server.model('m')).message, ambiguous);
  assert.equal(floats(await model.infer({ x: row(0) }))[0], 1);
});

test("a step means the model of the ensemble's namespace, whatever else there is", async (t) => {
  const a = sourceOf('a', { m: 1 }, { ea: ['m'] });
  const b = sourceOf('b', { m: 10 }, { eb: ['m'] });
  const server = await serve(t, [a, b], ['ea', 'eb']);
  assert.deepEqual([await sum(server, 'ea'), await sum(server, 'eb')], [1, 10]);
  // A new version of one changes one ensemble.
  add(b, 'm', 20);
  await server.loadModel('m');
  assert.deepEqual([await sum(server, 'ea'), await sum(server, 'eb')], [1, 20]);
  const error = await rejection(server.unloadModel('m'));
  assert.match(error.message, /model '[ab]::m' cannot be unloaded: the ensemble '[ab]::e[ab]' needs it/);
});

test('a step means the only model of another namespace, until its own has one', async (t) => {
  const a = sourceOf('a', {}, { e: ['m'] });
  const server = await serve(t, [a, sourceOf('b', { m: 10 })], ['e']);
  assert.equal(await sum(server, 'e'), 10);
  add(a, 'm', 1);
  await server.loadModel('m');
  assert.equal(await sum(server, 'e'), 1);
});

test('a step that two other namespaces have fails the ensemble, with its line', async (t) => {
  const sources = [sourceOf('a', { m: 1 }), sourceOf('b', { m: 3 }), sourceOf('c', {}, { e: ['m'] })];
  const server = await serve(t, sources, []);
  const error = await rejection(server.loadModel('e'));
  assert.deepEqual([error.code, error.model], ['INVALID_ARG', 'e']);
  assert.match(error.message, /There are 2 identifiers of model 'm' in global map/);
  assert.match(error.message, /ensemble c::e contains models that are not available or ambiguous: m/);
  assert.match(error.message, /ensemble_scheduling\.step\[0\]\.model_name/);
});

test('a step becomes ambiguous by a model that nobody loads, and a poll loads the ensemble once that has gone', async (t) => {
  const [a, b, c] = [sourceOf('a', {}, { e: ['m'] }), sourceOf('b', { m: 1 }), sourceOf('c', {})];
  const server = await serve(t, [a, b, c], ['*']);
  assert.equal(await sum(server, 'e'), 1);
  add(c, 'm', 5);
  const { failed } = await server.rescan();
  assert.deepEqual(
    failed.map(({ name }) => name),
    ['e'],
  );
  const text = 'contains models that are not available or ambiguous: m';
  assert.ok((await rejection(sum(server, 'e'))).message.includes(text));
  assert.equal(server.index({ ready: true }).length, 1);
  for (const path of [...c.files.keys()]) c.files.delete(path);
  await until(async () => (await server.rescan()).loaded.length > 0);
  assert.equal(await sum(server, 'e'), 1);
});

test('a name is not ambiguous because of a model that has gone and is not served', async (t) => {
  const [a, b] = [sourceOf('a', { m: 1 }), sourceOf('b', {})];
  const server = await serve(t, [a, b], ['m']);
  for (const path of [...a.files.keys()]) a.files.delete(path);
  add(b, 'm', 3);
  // The first one is still served.
  await rejection(server.loadModel('m'));
  assert.match(thrown(() => server.model('m')).message, ambiguous);
  await server.unloadModel('m');
  assert.equal(server.index().length, 1);
  assert.deepEqual(await server.loadModel('m'), { changed: true });
  assert.equal(await sum(server, 'm'), 3);
});

test('a listing forgets an unloaded model that has gone once another namespace has its name', async (t) => {
  const [a, b] = [sourceOf('a', { m: 1 }), sourceOf('b', {})];
  const server = await serve(t, [a, b], ['m']);
  await server.unloadModel('m');
  for (const path of [...a.files.keys()]) a.files.delete(path);
  add(b, 'm', 3);
  assert.deepEqual(await server.loadModel('m'), { changed: true });
  assert.equal(await sum(server, 'm'), 3);
});

test('a source that cannot be listed, or does not answer, fails no load of a model that another one has', async (t) => {
  const [a, b] = [sourceOf('a', { m: 1, other: 2 }), sourceOf('b', { k: 5 })];
  const server = await serve(t, [a, b], []);
  b.faults.set('list', unavailable('NOT_READY', 'the store is away'));
  assert.deepEqual(await server.loadModel('m'), { changed: true });
  // These may be there, or are.
  assert.match((await rejection(server.loadModel('x'))).message, /the store is away/);
  assert.match((await rejection(server.loadModel('k'))).message, /the store is away/);
  assert.equal(server.index().length, 3);
  b.faults.delete('list');
  let answer = (): void => undefined;
  b.waits.set('list', new Promise<void>((resolve) => void (answer = resolve)));
  assert.deepEqual(await server.loadModel('other'), { changed: true });
  const waiting = server.loadModel('k');
  answer();
  assert.deepEqual(await waiting, { changed: true });
});

test('an unload of two models is refused as a whole if one is needed', async (t) => {
  const server = await serve(t, [sourceOf('a', { m: 1 }, { e: ['m'] }), sourceOf('b', { m: 3 })], ['*']);
  const error = await rejection(server.unloadModel('m'));
  assert.match(error.message, /model 'a::m' cannot be unloaded: the ensemble 'a::e' needs it/);
  assert.equal(server.index({ ready: true }).length, 3);
  // An unload of the ensemble that comes first counts.
  const [, unloaded] = await Promise.allSettled([server.unloadModel('e'), server.unloadModel('m')]);
  assert.equal(unloaded.status, 'fulfilled');
  assert.deepEqual(server.index({ ready: true }), []);
});

test('a handle may be of the model of one namespace', async (t) => {
  const sources = [sourceOf('a', { m: 1, only: 3 }), sourceOf('b', { m: 2 })];
  const server = await serve(t, sources, ['*']);
  assert.equal(thrown(() => server.model('m')).code, 'INVALID_ARG');
  for (const [namespace, addend] of [
    ['a', 1],
    ['b', 2],
  ] as const) {
    const model = server.model('m', { namespace });
    assert.equal(server.model('m', { namespace }), model);
    assert.deepEqual(floats(await model.infer({ x: row(0) })), [...row(addend)]);
    const pinned = server.model('m', { namespace, version: 1 });
    assert.deepEqual(floats(await pinned.infer({ x: row(0) })), [...row(addend)]);
    assert.equal(model.metadata.name, 'm');
  }
  assert.equal(server.model('only', {}), server.model('only'));
  assert.equal(server.model('only', { version: 1 }).version, '1');
  const absent = thrown(() => server.model('only', { namespace: 'b' }));
  assert.deepEqual(
    [absent.code, absent.message],
    ['NOT_FOUND', "model 'only' is not in the namespace 'b'; these have it: 'a'"],
  );
  assert.equal(thrown(() => server.model('none', { namespace: 'b' })).code, 'NOT_FOUND');
  for (const which of [{ namespace: 1 }, { namespaces: 'a' }, { namespace: '\ud800' }, { version: -1 }]) {
    const { code, message } = thrown(() => server.model('only', which as { readonly namespace: string }));
    assert.equal(code, 'INVALID_ARG', message);
  }
});
