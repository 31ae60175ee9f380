// Long: it plays many random cases.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { type InferenceServer } from '../../src/index.js';
import {
  floats,
  rejection,
  row,
  serve,
  threadCount,
  threadNames,
  turn,
  until,
  type Context,
} from '../support/harness.js';
import { adds, byFirst, executing, script } from './harness.js';

/** The reason of the model's version in the index. */
function reasonOf(server: InferenceServer): string {
  return server.index()[0]?.reason ?? '';
}

const uncaught: Readonly<Record<string, readonly [string, RegExp]>> = {
  'an error that nobody catches': ['setTimeout(() => { throw new Error("from a timer"); });', /from a timer/],
  'a rejection that nobody handles': ['void Promise.reject(new Error("from a promise"));', /from a promise/],
  'an error that is no error': ['setTimeout(() => { throw "a word"; });', /a word/],
};
for (const [what, [body, reason]] of Object.entries(uncaught)) {
  test(`${what} ends the thread, fails what ran, and the instance is started anew`, async (t) => {
    const hangs = byFirst({ 7: `${body} return new Promise(() => undefined);` });
    const server = await serve(t, { m: script(executing(hangs)) });
    const error = await rejection(server.infer('m', { x: row(7) }));
    assert.equal(error.code, 'UNAVAILABLE');
    assert.match(error.message, /model 'm': the thread of instance 'm_0_0' ended while/);
    assert.deepEqual(floats(await server.infer('m', { x: row(1) })), [...row(2)]);
    assert.match(reasonOf(server), /'m_0_0' was restarted once, most recently because/);
    assert.match(reasonOf(server), reason);
  });
}

for (const [what, text] of Object.entries({
  'loops for ever in initialize': 'export default class { initialize() { for (;;); } execute() {} }',
  'never ends completeConfig':
    'export default class { static completeConfig() { return new Promise(() => undefined); } execute() {} }',
  'loops for ever where its file is loaded': 'for (;;); export default class { execute() {} }',
})) {
  test(`close ends a load whose model ${what}`, async (t) => {
    const before = await threadCount();
    const known = await threadNames();
    const server = await serve(t, { m: script(text) }, { modelControlMode: 'explicit' });
    const load = rejection(server.loadModel('m'));
    await until(() => server.index().some(({ state }) => state === 'LOADING'));
    await until(async () => [...(await threadNames()).keys()].filter((id) => !known.has(id)).length > 1);
    await server.close({ timeoutMs: 0 });
    assert.equal((await load).code, 'CANCELLED');
    await until(async () => (await threadCount()) <= before);
  });
}

test('completeConfig that throws or rejects fails the load with its message and stack', async (t) => {
  for (const body of [
    'throw new TypeError("no shapes");',
    'return Promise.reject(new TypeError("no shapes"));',
  ]) {
    const text = `export default class { static completeConfig() { ${body} } execute() {} }`;
    const error = await rejection(serve(t, { m: script(text) }));
    assert.equal(error.code, 'INTERNAL');
    assert.match(error.message, /model 'm': completeConfig failed: no shapes \(model\.js:1\)/);
  }
});

const outcomes = ['ok', 'UNAVAILABLE', 'CANCELLED', 'NOT_FOUND'];

/** Sends requests until it is stopped, and collects their outcomes. */
function callers(
  context: Context,
  server: InferenceServer,
  count: number,
): { readonly ended: string[]; stop(): Promise<void> } {
  const ended: string[] = [];
  let stopped = false;
  context.after(() => {
    stopped = true;
    return Promise.resolve();
  });
  const loop = async (i: number): Promise<void> => {
    while (!stopped) {
      const first = 10 + i;
      const outcome = await server.infer('m', { x: row(first, 16) }).then(
        (result) => {
          assert.deepEqual(floats(result), [...row(first + 1)]);
          return 'ok';
        },
        (error: unknown) => (error as { code: string }).code,
      );
      ended.push(outcome);
      // Refusals come at once, so let the event loop turn.
      if (outcome !== 'ok') await turn();
    }
  };
  const all = Promise.all(Array.from({ length: count }, (_, i) => loop(i)));
  return {
    ended,
    async stop(): Promise<void> {
      stopped = true;
      await all;
      for (const outcome of ended) assert.ok(outcomes.includes(outcome), outcome);
    },
  };
}

test('a storm of reloads and unloads in the midst of requests loses none', async (t) => {
  const waits = `return Math.random() < 0.5
    ? new Promise((resolve) => setTimeout(() => resolve(requests.map(({ inputs }) => ({ y: inputs.x.data.map((value) => value + 1) }))), Math.random() * 3))
    : requests.map(({ inputs }) => ({ y: inputs.x.data.map((value) => value + 1) }));`;
  const server = await serve(
    t,
    { m: script(executing(waits), { instances: 2, parameters: { max_concurrency: 3 } }) },
    { modelControlMode: 'explicit', loadModels: ['m'], workers: { unloadTimeoutMs: 0 } },
  );
  const config = server.model('m').config;
  const calling = callers(t, server, 24);
  for (let i = 0; i < 6; i++) {
    const answers = calling.ended.length;
    await until(() => calling.ended.length > answers + 50);
    if (i % 2 === 0) {
      await server.loadModel('m', { config: { ...config, max_batch_size: 65 + i } });
    } else {
      await server.unloadModel('m');
      await server.loadModel('m');
    }
  }
  const answers = calling.ended.length;
  await until(() => calling.ended.slice(answers).includes('ok'));
  await calling.stop();
});

test('a storm of threads that end, loop for ever and are out of memory ends with close', async (t) => {
  const before = await threadCount();
  const storm = byFirst({
    1: 'process.exit(1);',
    2: 'for (;;);',
    3: 'setImmediate(() => { throw new Error("late"); });' + adds,
    4: 'return new Promise(() => undefined);',
  });
  const server = await serve(t, {
    m: script(executing(storm), { instances: 3, batching: false, parameters: { max_concurrency: 2 } }),
  });
  const calling = callers(t, server, 8);
  for (const first of [1, 3, 1, 4, 3, 2]) {
    void rejection(server.infer('m', { x: row(first) })).catch(() => undefined);
    const answers = calling.ended.length;
    await until(() => calling.ended.length > answers + 20);
  }
  const closed = server.close({ timeoutMs: 20 });
  await calling.stop();
  await closed;
  await until(async () => (await threadCount()) <= before);
});

test("a server that is closed in the midst of its instances' starts ends their threads", async (t) => {
  const before = await threadCount();
  const text = `export default class {
    async initialize() { await new Promise((resolve) => setTimeout(resolve, Math.random() * 30)); }
    execute(requests) { ${adds} }
  }`;
  for (let i = 0; i < 4; i++) {
    const server = await serve(t, { m: script(text, { instances: 3 }) }, { modelControlMode: 'explicit' });
    const load = server.loadModel('m').catch(() => undefined);
    await new Promise((resolve) => setTimeout(resolve, i * 25));
    await server.close({ timeoutMs: 0 });
    await load;
  }
  await until(async () => (await threadCount()) <= before);
});

test('an environment that ends with requests under way harms neither the model nor others', async (t) => {
  const body =
    'return new Promise((resolve) => setTimeout(() => resolve(requests.map(({ inputs }) => ({ y: inputs.x }))), 2));';
  const server = await serve(t, { m: script(executing(body), { instances: 2 }) });
  const code = `
    const { workerData } = require('node:worker_threads');
    import(workerData.module).then(async ({ attachServer }) => {
      const server = await attachServer(workerData.handle);
      for (;;) await Promise.all(Array.from({ length: 32 }, () => server.infer('m', { x: new Float32Array(16) })));
    });`;
  for (let i = 0; i < 3; i++) {
    const module = new URL('../../src/index.js', import.meta.url).href;
    const worker = new Worker(code, { eval: true, workerData: { module, handle: server.handle } });
    const count = server.model('m').statistics().inference_count;
    await until(() => server.model('m').statistics().inference_count > count + 100);
    const own = Promise.all(Array.from({ length: 32 }, (_, k) => server.infer('m', { x: row(k) })));
    await worker.terminate();
    for (const [k, result] of (await own).entries()) assert.deepEqual(floats(result), [...row(k)]);
  }
});
