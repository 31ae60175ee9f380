import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createServer, type InferenceServer, type LoadEvent } from '../../src/index.js';
import { addModel } from '../support/models.js';
import { temporaryFolder, writeRepository } from '../support/repository.js';
import {
  chain,
  configText,
  ensemble,
  identity,
  onnx,
  rejection,
  serve,
  threadCount,
  until,
} from '../support/harness.js';

/** An event as a line. */
function line({ model, version = '', state }: LoadEvent): string {
  return `${model}${version === '' ? '' : `/${version}`} ${state}`;
}

test('onProgress is called for each model and version', async (t) => {
  const events: LoadEvent[] = [];
  const config = configText({ more: 'version_policy { all { } }' });
  const models = { add: { config, versions: { '1': addModel(), '3': addModel() } } };
  await serve(t, models, { onProgress: (event) => events.push(event) });
  assert.deepEqual(events.map(line), [
    'add LOADING',
    'add/1 LOADING',
    'add/3 LOADING',
    'add/1 READY',
    'add/3 READY',
  ]);
});

test('done counts from nothing to all models, failed ones too', async (t) => {
  const events: LoadEvent[] = [];
  const models = { a: onnx(), b: onnx(Uint8Array.of(0)), c: identity() };
  await serve(t, models, { exitOnError: false, onProgress: (event) => events.push(event) });
  assert.ok(events.every(({ total }) => total === 3));
  const done = events.map((event) => event.done);
  assert.deepEqual(
    done,
    [...done].sort((a, b) => a - b),
  );
  assert.deepEqual([done[0], done.at(-1)], [0, 3]);
  assert.deepEqual(events.filter(({ state }) => state === 'UNAVAILABLE').map(line), ['b UNAVAILABLE']);
});

test('a name in loadModels that no repository has counts as done too', async (t) => {
  const events: LoadEvent[] = [];
  await serve(
    t,
    { a: identity() },
    {
      modelControlMode: 'explicit',
      loadModels: ['a', 'nothing'],
      exitOnError: false,
      onProgress: (event) => events.push(event),
    },
  );
  assert.deepEqual(events.filter(({ model }) => model === 'nothing').map(line), ['nothing UNAVAILABLE']);
  assert.equal(events.at(-1)?.done, 2);
});

test('later loads are reported, too, and done never exceeds total', async (t) => {
  const events: LoadEvent[] = [];
  const server = await serve(
    t,
    { a: identity(), b: identity() },
    { modelControlMode: 'explicit', loadModels: ['a'], onProgress: (event) => events.push(event) },
  );
  await server.loadModel('b');
  await server.loadModel('b');
  await rejection(server.loadModel('nothing'));
  assert.equal(events.filter((event) => line(event) === 'b/1 READY').length, 2);
  assert.ok(events.every(({ done, total }) => done <= total));
});

test('createServer rejects with what its listener throws, and releases everything', async (t) => {
  const fault = new Error('a fault of the listener');
  const names = Array.from({ length: 40 }, (_, i) => `m${i}`);
  const folder = await writeRepository(
    await temporaryFolder(t),
    Object.fromEntries(names.map((name) => [name, identity()])),
  );
  const before = await threadCount();
  for (const state of ['LOADING', 'READY'] as const) {
    const told: LoadEvent[] = [];
    const starting = createServer(folder, {
      onProgress: (event) => {
        told.push(event);
        if (event.state === state) throw fault;
      },
    });
    await assert.rejects(starting, (error) => error === fault);
    // onProgress is not called again after it has thrown.
    assert.equal(told.filter((event) => event.state === state).length, 1);
    assert.equal(told.at(-1)?.state, state);
  }
  await until(async () => (await threadCount()) <= before);
});

test('loadModel rejects with what the listener throws when the load has ended, as index() tells', async (t) => {
  const fault = new Error('a fault of the listener');
  let throws = false;
  const told: string[] = [];
  const server = await serve(
    t,
    { good: identity(), bad: onnx(new Uint8Array(9)) },
    {
      modelControlMode: 'explicit',
      onProgress: (event) => {
        told.push(line(event));
        if (throws) throw fault;
      },
    },
  );
  throws = true;
  for (const [name, state] of [
    ['good', 'READY'],
    ['bad', 'UNAVAILABLE'],
  ] as const) {
    await assert.rejects(server.loadModel(name), (error) => error === fault);
    assert.equal(server.index().find((model) => model.name === name)?.state, state);
  }
  assert.deepEqual(told, ['good LOADING', 'bad LOADING']);
  throws = false;
  await server.loadModel('good');
  assert.ok(server.model('good').ready);
});

test('a signal that is aborted already cancels loading at once', async (t) => {
  const reason = new Error('changed my mind');
  const error = await rejection(serve(t, { a: identity() }, { signal: AbortSignal.abort(reason) }));
  assert.equal(error.code, 'CANCELLED');
  assert.equal(error.cause, reason);
});

test('a signal cancels loading: loads that have not begun do not begin', async (t) => {
  const names = Array.from({ length: 12 }, (_, i) => `m${i}`);
  const folder = await writeRepository(
    await temporaryFolder(t),
    Object.fromEntries(names.map((name) => [name, onnx()])),
  );
  const controller = new AbortController();
  const begun: string[] = [];
  const loading = createServer(folder, {
    signal: controller.signal,
    onProgress: ({ model, version }) => {
      if (version === undefined) return;
      begun.push(model);
      controller.abort(new Error('enough'));
    },
  });
  const error = await rejection(loading);
  assert.equal(error.code, 'CANCELLED');
  assert.match(String(error.cause), /enough/);
  assert.equal(new Set(begun).size, 1);
});

test('a cancelled start releases everything', async (t) => {
  const models = { a: onnx(), b: onnx(), c: identity() };
  const cancel = async (): Promise<void> => {
    const controller = new AbortController();
    const options = {
      signal: controller.signal,
      onProgress: () => {
        controller.abort();
      },
    };
    assert.equal((await rejection(serve(t, models, options))).code, 'CANCELLED');
  };
  await cancel();
  const before = await threadCount();
  for (let i = 0; i < 3; i++) await cancel();
  await until(async () => (await threadCount()) <= before);
});

test('a signal that is aborted later does not concern the server any more', async (t) => {
  const controller = new AbortController();
  const server: InferenceServer = await serve(
    t,
    { a: identity() },
    { modelControlMode: 'explicit', signal: controller.signal },
  );
  controller.abort();
  await server.loadModel('a');
  assert.equal(server.model('a').ready, true);
});

test('what the listener throws for a step does not fail the load of its ensemble', async (t) => {
  const thrown = new Error('not a TritonError');
  const server = await serve(
    t,
    { a: identity(), e: ensemble(chain(['a'])) },
    {
      modelControlMode: 'explicit',
      onProgress: ({ model }) => {
        if (model === 'a') throw thrown;
      },
    },
  );
  await assert.rejects(server.loadModel('e'), thrown);
  assert.deepEqual(
    server.index({ ready: true }).map(({ name }) => name),
    ['a', 'e'],
  );
});
