import assert from 'node:assert/strict';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { test } from 'node:test';
import type { ModelMessage, RequestMessage } from '../../src/index.js';
import { temporaryFolder, writeRepository } from '../support/repository.js';
import { configText, identity, rejection, row, serve, start, type Context } from '../support/harness.js';

/** Keeps the messages of the channels of a kind, as `channel message`, until the end of the test. */
function listen<M>(t: Context, kind: string, names: readonly string[]): [string, M][] {
  const heard: [string, M][] = [];
  for (const name of names) {
    const channel = `tritonts:${kind}:${name}`;
    // The package publishes messages of one type to each channel.
    const listener = (message: unknown): void => void heard.push([name, message as M]);
    subscribe(channel, listener);
    t.after(() => {
      unsubscribe(channel, listener);
      return Promise.resolve();
    });
  }
  return heard;
}

const ofRequests = ['start', 'end', 'error'];

test('a request is told of when it is made and when it is answered, by the same object', async (t) => {
  const server = await serve(t, { m: identity() });
  const heard = listen<RequestMessage>(t, 'request', ofRequests);
  const asked = server.infer('m', { x: row() }, { id: 'one' });
  assert.deepEqual(
    heard.map(([name, { model, version, id }]) => [name, model, version, id]),
    [['start', 'm', undefined, 'one']],
  );
  const result = await asked;
  assert.deepEqual(
    heard.map(([name]) => name),
    ['start', 'end'],
  );
  assert.equal(heard[0]?.[1], heard[1]?.[1]);
  assert.equal(heard[1]?.[1].result, result);
  assert.equal(heard[1][1].version, '1');
});

test('requests that reject are told of, whether they were sent or not', async (t) => {
  const server = await serve(t, { m: identity({ delayMs: 50 }) });
  const heard = listen<RequestMessage>(t, 'request', ofRequests);
  const wrong = await rejection(server.infer('m', { y: row() }));
  const pinned = await rejection(server.model('m', 7).infer({ x: row() }));
  const stop = new AbortController();
  const asked = server.infer('m', { x: row() }, { signal: stop.signal });
  stop.abort();
  const cancelled = await rejection(asked);
  assert.deepEqual(
    heard.map(([name, { error }]) => [name, error]),
    [
      ['start', wrong],
      ['error', wrong],
      ['start', pinned],
      ['error', pinned],
      ['start', cancelled],
      ['error', cancelled],
    ],
  );
  assert.equal(heard[2]?.[1].version, '7');
});

test('items of map are requests, and what is classified is told of as it is answered', async (t) => {
  const server = await serve(t, { m: identity() });
  const heard = listen<RequestMessage>(t, 'request', ofRequests);
  const items = Array.from({ length: 20 }, (_, i) => ({ x: row(i) }));
  const results = [];
  for await (const result of server.model('m').map(items, { outputs: [{ name: 'y', classification: 1 }] })) {
    results.push(result);
  }
  const ended = heard.filter(([name]) => name === 'end').map(([, { result }]) => result);
  assert.equal(heard.filter(([name]) => name === 'start').length, 20);
  assert.deepEqual(new Set(ended), new Set(results));
  assert.equal(results[0]?.outputs['y']?.datatype, 'BYTES');
});

test('a subscriber may do what it likes: ask, and close the server', async (t) => {
  const server = await serve(t, { m: identity() });
  let nested: Promise<unknown> | undefined;
  let closed: Promise<void> | undefined;
  let asked = false;
  const onStart = (): void => {
    if (asked) return;
    asked = true;
    nested = server.infer('m', { x: row(1) });
  };
  const onEnd = (): void => {
    closed ??= server.close({ timeoutMs: 0 });
  };
  subscribe('tritonts:request:start', onStart);
  subscribe('tritonts:request:end', onEnd);
  try {
    const outcomes = await Promise.allSettled(
      Array.from({ length: 50 }, () => server.infer('m', { x: row() })),
    );
    assert.equal(outcomes.length, 50);
    await nested?.catch(() => undefined);
    assert.ok(closed);
    await closed;
  } finally {
    unsubscribe('tritonts:request:start', onStart);
    unsubscribe('tritonts:request:end', onEnd);
  }
});

test('models are told of as they are loaded, fail and are unloaded', async (t) => {
  const heard = listen<ModelMessage>(t, 'model', ['load', 'unload', 'fail']);
  const repository = await writeRepository(await temporaryFolder(t), { m: identity() });
  const server = await start(t, repository, { modelControlMode: 'explicit', loadModels: ['m'], logger: {} });
  await writeRepository(repository, {
    m: { config: `${configText({ backend: 'identity' })}\nname: "other"` },
  });
  const error = await rejection(server.loadModel('m'));
  await server.unloadModel('m');
  await server.unloadModel('m');
  const again = await rejection(server.loadModel('m'));
  assert.deepEqual(heard, [
    ['load', { model: 'm', versions: ['1'] }],
    ['fail', { model: 'm', versions: ['1'], error }],
    ['unload', { model: 'm', versions: ['1'] }],
    ['fail', { model: 'm', versions: [], error: again }],
  ]);
});
