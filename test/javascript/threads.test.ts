// Long: it starts many processes.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { fileURLToPath } from 'node:url';
import { test } from 'node:test';
import { createServer, type InferenceServer, type ModelConfigInput } from '../../src/index.js';
import { floats, rejection, row, serve, threadCount, turn, until } from '../support/harness.js';
import { temporaryFolder, writeRepository } from '../support/repository.js';
import { adds, byFirst, executing, script } from './harness.js';

const loops = byFirst({ 7: 'for (;;);' });
const hangs = byFirst({ 7: 'return new Promise(() => undefined);' });
const exits = byFirst({ 7: 'process.exit(4);' });

/** The reason of the model's version in the index. */
function reasonOf(server: InferenceServer, model = 'm'): string {
  return server.index().find(({ name }) => name === model)?.reason ?? '';
}

for (const [what, body] of [
  ['loops for ever', loops],
  ['never answers', hangs],
]) {
  test(`close ends a model that ${String(what)}`, async (t) => {
    const before = await threadCount();
    const server = await serve(t, { m: script(executing(body ?? '')) });
    const asked = rejection(server.infer('m', { x: row(7) }));
    await turn();
    await server.close({ timeoutMs: 50 });
    assert.equal((await asked).code, 'CANCELLED');
    await until(async () => (await threadCount()) <= before);
  });

  test(`an unload ends a model that ${String(what)}, when its time is over`, async (t) => {
    const server = await serve(
      t,
      { m: script(executing(body ?? '')) },
      { modelControlMode: 'explicit', loadModels: ['m'], workers: { unloadTimeoutMs: 50 } },
    );
    const asked = rejection(server.infer('m', { x: row(7) }));
    await turn();
    await server.unloadModel('m');
    assert.equal((await asked).code, 'CANCELLED');
    await server.loadModel('m');
    assert.deepEqual(floats(await server.infer('m', { x: row(1) })), [...row(2)]);
  });
}

test('a model that ends its thread fails its batch only, and is started anew', async (t) => {
  const server = await serve(t, { m: script(executing(exits), { batching: false }) });
  for (let i = 1; i <= 3; i++) {
    const failed = rejection(server.infer('m', { x: row(7) }));
    const waiting = Array.from({ length: 20 }, (_, k) => server.infer('m', { x: row(k + 10) }));
    const error = await failed;
    assert.equal(error.code, 'UNAVAILABLE');
    assert.match(error.message, /model 'm': the thread of instance 'm_0_0' ended while/);
    for (const [k, result] of (await Promise.all(waiting)).entries()) {
      assert.deepEqual(floats(result), [...row(k + 11)]);
    }
    const times = i === 1 ? 'once' : `${i} times`;
    assert.match(
      reasonOf(server),
      new RegExp(`'m_0_0' was restarted ${times}, most recently because.*code 4`),
    );
  }
});

test('of 1,000 requests that wait when a thread is killed, those that ran are lost and no others', async (t) => {
  const server = await serve(t, { m: script(executing(exits), { maxBatchSize: 4 }) });
  const all = Array.from({ length: 1000 }, (_, i) => server.infer('m', { x: row(i === 500 ? 7 : i + 100) }));
  const outcomes = await Promise.allSettled(all);
  const lost = outcomes.filter(({ status }) => status === 'rejected').length;
  assert.ok(lost >= 1 && lost <= 4, `${lost} were lost`);
  assert.equal(outcomes[500]?.status, 'rejected');
});

test('while one of two instances is down, the other one answers', async (t) => {
  const server = await serve(t, { m: script(executing(exits), { instances: 2, batching: false }) });
  for (let i = 0; i < 3; i++) {
    await rejection(server.infer('m', { x: row(7) }));
    const all = await Promise.all(
      Array.from({ length: 50 }, (_, k) => server.infer('m', { x: row(k + 10) })),
    );
    all.forEach((result, k) => {
      assert.deepEqual(floats(result), [...row(k + 11)]);
    });
  }
});

test('a thread without memory ends alone, and is started anew', async (t) => {
  const eats = byFirst({
    7: 'const all = []; for (;;) all.push(new Array(10000).fill(0).map((_, i) => ({ i })));',
  });
  const server = await serve(
    t,
    { m: script(executing(eats)) },
    { workers: { resourceLimits: { maxOldGenerationSizeMb: 32 } } },
  );
  const error = await rejection(server.infer('m', { x: row(7) }));
  assert.equal(error.code, 'UNAVAILABLE');
  assert.deepEqual(floats(await server.infer('m', { x: row(1) })), [...row(2)]);
  assert.match(reasonOf(server), /restarted once, most recently because.*memory/);
});

test('a model that cannot be started anew is tried again and again, and close does not wait for it', async (t) => {
  const text = `
    import { existsSync, writeFileSync } from 'node:fs';
    const mark = new URL('./mark', import.meta.url);
    export default class {
      initialize() { if (existsSync(mark)) throw new Error('no second life'); writeFileSync(mark, ''); }
      execute(requests) { ${exits} }
    }`;
  const server = await serve(t, { m: script(text) });
  await rejection(server.infer('m', { x: row(7) }));
  await until(() =>
    reasonOf(server).includes("3 times, most recently because model 'm': initialize failed: no second life"),
  );
  const waiting = rejection(server.infer('m', { x: row(1) }));
  await turn();
  await server.close({ timeoutMs: 50 });
  assert.ok(['CANCELLED', 'UNAVAILABLE'].includes((await waiting).code));
});

test('a close during initialize ends the load', async (t) => {
  const text = `export default class { initialize() { return new Promise(() => undefined); } execute() {} }`;
  const server = await serve(t, { m: script(text) }, { modelControlMode: 'explicit' });
  const load = rejection(server.loadModel('m'));
  await until(() => server.index().some(({ state }) => state === 'LOADING'));
  await server.close({ timeoutMs: 0 });
  assert.equal((await load).code, 'CANCELLED');
});

test('a close while initialize runs cancels the load', async (t) => {
  const folder = await temporaryFolder(t);
  const file = join(folder, 'runs');
  const text = `import { writeFileSync } from 'node:fs';
    export default class {
      initialize() { writeFileSync(${JSON.stringify(file)}, ''); return new Promise(() => undefined); }
      execute() {}
    }`;
  const server = await serve(t, { m: script(text) }, { modelControlMode: 'explicit' });
  const load = rejection(server.loadModel('m'));
  await until(() => existsSync(file));
  await server.close({ timeoutMs: 0 });
  const { code, message } = await load;
  assert.deepEqual([code, message], ['CANCELLED', "model 'm': loading was cancelled"]);
});

test('a model of the program whose load is cancelled is finalized once it is initialized', async () => {
  let go: () => void = () => undefined;
  const initialized = new Promise<void>((resolve) => (go = resolve));
  const calls: string[] = [];
  const controller = new AbortController();
  const config: ModelConfigInput = {
    input: [{ name: 'x', data_type: 'TYPE_FP32', dims: [1] }],
    output: [{ name: 'y', data_type: 'TYPE_FP32', dims: [1] }],
  };
  const m = {
    config,
    initialize: (): Promise<void> => {
      calls.push('initialize');
      return initialized;
    },
    execute: (): never[] => [],
    finalize: (): void => {
      calls.push('finalize');
    },
  };
  const load = rejection(createServer({ models: { m }, signal: controller.signal }));
  await until(() => calls.length > 0);
  controller.abort();
  assert.equal((await load).code, 'CANCELLED');
  go();
  await until(() => calls.includes('finalize'));
});

const run = promisify(execFile);
const child = fileURLToPath(new URL('children/idle.js', import.meta.url));

// Node aborts the process if a thread is terminated while it requires an ES module.
test('a thread requires no ES module of the package', async (t) => {
  const text = `import { createRequire } from 'node:module';
    const required = Object.keys(createRequire(import.meta.url).cache).filter((file) => !file.includes('node_modules'));
    if (required.some((file) => !file.endsWith('.cjs'))) throw new Error('required: ' + required);
    ${executing(adds)}`;
  const server = await serve(t, { m: script(text) });
  assert.deepEqual(floats(await server.infer('m', { x: row(1) })), [...row(2)]);
});

test('an idle server with threads does not keep the process alive, whose output names instances', async (t) => {
  const text = executing(`console.log('one\\ntwo'); console.error('three'); ${adds}`);
  const repository = await writeRepository(await temporaryFolder(t), { m: script(text) });
  const { stdout, stderr } = await run(process.execPath, [child, repository]);
  assert.match(stdout, /^\[m_0_0\] one$/m);
  assert.match(stdout, /^\[m_0_0\] two$/m);
  assert.match(stdout, /^1x16$/m);
  assert.match(stderr, /^\[m_0_0\] three$/m);
});

test('threads that end at any point of a stream of batches harm nobody', async (t) => {
  const body = byFirst({ 7: 'setTimeout(() => process.exit(0), Math.random() * 5);' + adds });
  const server = await serve(t, { m: script(executing(body), { instances: 2 }) });
  let stop = false;
  const ended: string[] = [];
  const loop = async (first: number): Promise<void> => {
    while (!stop) {
      await server.infer('m', { x: row(first, 16) }).then(
        () => ended.push('ok'),
        (error: unknown) => ended.push((error as { code: string }).code),
      );
    }
  };
  const callers = Promise.all(Array.from({ length: 32 }, (_, i) => loop(i + 100)));
  for (let i = 0; i < 8; i++) {
    await server.infer('m', { x: row(7) }).catch(() => undefined);
    const answers = ended.length;
    await until(() => ended.length > answers + 100);
  }
  stop = true;
  await callers;
  for (const outcome of ended) assert.ok(outcome === 'ok' || outcome === 'UNAVAILABLE', outcome);
});
