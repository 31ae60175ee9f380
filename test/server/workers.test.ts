// Own process: it measures the memory of the process.
// Long: it starts many processes.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { attachServer, type ServerHandle } from '../../src/index.js';
import { addModel, mlpModel } from '../support/models.js';
import { temporaryFolder, writeRepository } from '../support/repository.js';
import {
  configText,
  floats,
  identity,
  onnx,
  rejection,
  row,
  serve,
  start,
  statisticsAfter,
  threadCount,
  turn,
  until,
} from '../support/harness.js';
import { attach, startWorker } from './workers/client.js';

const explicit = { modelControlMode: 'explicit', loadModels: ['*'] } as const;

test('two workers and their owner use one model: the counts add up', async (t) => {
  const server = await serve(t, { add: onnx() });
  const [first, second] = await Promise.all([attach(t, server.handle), attach(t, server.handle)]);
  const answers = await Promise.all([
    first.ask('infer', { name: 'add', count: 30 }),
    second.ask('infer', { name: 'add', count: 20 }),
    server.infer('add', { x: row(10) }).then((result) => floats(result)[0]),
  ]);
  const upTo = (count: number): number[] => Array.from({ length: count }, (_, i) => i + 1);
  assert.deepEqual(answers, [upTo(30), upTo(20), 11]);
  assert.equal((await statisticsAfter(server, 'add', 51)).inference_count, 51);
});

test('a worker sees the same models, instances and library', async (t) => {
  const server = await serve(t, { add: onnx(undefined, { instances: 2 }) });
  const worker = await attach(t, server.handle);
  const seen = await worker.ask('info', { name: 'add' });
  assert.deepEqual(seen, [server.index(), server.model('add').runtimeInfo()]);
});

test('the weights exist once, however many workers there are', async (t) => {
  const width = 2048;
  const weights = 2 * width * width * 4;
  const model = onnx(mlpModel([16, width, width, width, 16]), { maxBatchSize: 4 });
  const server = await serve(t, { big: model });
  const workers = await Promise.all([
    attach(t, server.handle),
    attach(t, server.handle),
    attach(t, server.handle),
  ]);
  await server.infer('big', { x: row() });
  const before = process.memoryUsage.rss();
  for (const worker of workers) await worker.ask('infer', { name: 'big', count: 4 });
  const grown = process.memoryUsage.rss() - before;
  assert.ok(
    grown < weights,
    `${Math.round(grown / 2 ** 20)} MiB more, the weights have ${weights / 2 ** 20}`,
  );
});

test('requests of several environments run in one batch', async (t) => {
  const batching = 'preferred_batch_size: [ 4 ] max_queue_delay_microseconds: 60000000';
  const server = await serve(t, { echo: identity({ batching }) });
  const [first, second] = await Promise.all([attach(t, server.handle), attach(t, server.handle)]);
  const results = await Promise.all([
    server.infer('echo', { x: row(7) }),
    server.infer('echo', { x: row(8) }),
    first.ask('infer', { name: 'echo' }),
    second.ask('infer', { name: 'echo' }),
  ]);
  assert.equal(results[0].timings.batchSize, 4);
});

test('a reloaded model is reloaded for workers, too, and their requests never fail', async (t) => {
  const folder = await writeRepository(await temporaryFolder(t), { add: onnx() });
  const server = await start(t, folder, explicit);
  const workers = await Promise.all([attach(t, server.handle), attach(t, server.handle)]);
  await Promise.all(workers.map((worker) => worker.ask('stream', { name: 'add' })));
  for (let addend = 2; addend <= 8; addend++) {
    await writeFile(join(folder, 'add', '1', 'model.onnx'), addModel({ addend }));
    await server.loadModel('add');
  }
  const counts = await Promise.all(workers.map((worker) => worker.ask('stop')));
  for (const count of counts) assert.ok(typeof count === 'number' && count > 0);
  for (const worker of workers) assert.deepEqual(await worker.ask('infer', { name: 'add' }), [8]);
});

test('a changed config reaches workers', async (t) => {
  const folder = await writeRepository(await temporaryFolder(t), { add: onnx() });
  const server = await start(t, folder, explicit);
  const worker = await attach(t, server.handle);
  assert.equal(await worker.ask('config', { name: 'add' }), 64);
  await writeFile(join(folder, 'add', 'config.pbtxt'), configText({ maxBatchSize: 3 }));
  await server.loadModel('add');
  assert.equal(await worker.ask('config', { name: 'add' }), 3);
});

test('an unloaded model is NOT_FOUND for workers', async (t) => {
  const server = await serve(t, { echo: identity() }, explicit);
  const worker = await attach(t, server.handle);
  await worker.ask('infer', { name: 'echo' });
  await server.unloadModel('echo');
  assert.equal((await rejection(worker.ask('infer', { name: 'echo' }))).code, 'NOT_FOUND');
});

test('a model that is unloaded while a worker stands still loses none of its requests', async (t) => {
  const server = await serve(t, { echo: identity(), fresh: identity() }, explicit);
  const worker = await attach(t, server.handle);
  const gate = new SharedArrayBuffer(4);
  const blocked = worker.ask('block', { name: 'fresh', gate });
  await turn();
  await server.unloadModel('fresh');
  Atomics.store(new Int32Array(gate), 0, 1);
  Atomics.notify(new Int32Array(gate), 0);
  const error = await rejection(blocked);
  assert.ok(['UNAVAILABLE', 'NOT_FOUND'].includes(error.code), error.message);
  assert.deepEqual(await worker.ask('infer', { name: 'echo' }), [0]);
});

test('an attached server neither loads nor unloads', async (t) => {
  const server = await serve(t, { echo: identity() }, explicit);
  const worker = await attach(t, server.handle);
  const error = await rejection(worker.ask('load', { name: 'echo' }));
  assert.equal(error.code, 'UNSUPPORTED');
  assert.match(error.message, /an attached server cannot load/);
});

test('a worker that is terminated during a run harms nobody', async (t) => {
  const batching = 'preferred_batch_size: [ 2 ] max_queue_delay_microseconds: 60000000';
  const server = await serve(t, { slow: identity({ delayMs: 100, batching }) });
  const [doomed, other] = await Promise.all([attach(t, server.handle), attach(t, server.handle)]);
  await doomed.ask('begin', { name: 'slow' });
  const mate = server.infer('slow', { x: row(3) });
  await turn();
  await doomed.worker.terminate();
  assert.equal(floats(await mate)[0], 3);
  const [answer] = await Promise.all([
    server.infer('slow', { x: row(4) }),
    other.ask('infer', { name: 'slow' }),
  ]);
  assert.equal(floats(answer)[0], 4);
});

for (const [title, end] of [
  ['ends', 'close'],
  ['calls process.exit()', 'exit'],
] as const) {
  test(`a worker that ${title} ends alone`, async (t) => {
    const server = await serve(t, { echo: identity() });
    const attached = await attach(t, server.handle);
    await attached.ask('infer', { name: 'echo' });
    const ended = once(attached.worker, 'exit');
    void attached.ask(end).catch(() => undefined);
    await ended;
    assert.equal(floats(await server.infer('echo', { x: row(2) }))[0], 2);
  });
}

test('workers that come and go leave no thread behind', async (t) => {
  const server = await serve(t, { echo: identity() });
  const come = async (): Promise<void> => {
    const attached = await attach(t, server.handle);
    await attached.ask('infer', { name: 'echo', count: 5 });
    await attached.worker.terminate();
  };
  await come();
  const before = await threadCount();
  for (let i = 0; i < 3; i++) await come();
  await until(async () => (await threadCount()) <= before);
});

test("when the owner closes, a worker's requests say that the server is closed", async (t) => {
  const server = await serve(t, { echo: identity() });
  const worker = await attach(t, server.handle);
  await worker.ask('infer', { name: 'echo' });
  await server.close();
  const error = await rejection(worker.ask('infer', { name: 'echo' }));
  assert.deepEqual([error.code, error.message], ['UNAVAILABLE', 'the server is closed']);
  await worker.ask('close');
});

test('when the owner closes, requests of workers are answered first', async (t) => {
  const server = await serve(t, { slow: identity({ delayMs: 60 }) });
  const worker = await attach(t, server.handle);
  await worker.ask('begin', { name: 'slow' });
  const request = worker.ask('answered');
  await server.close();
  assert.equal(await request, true);
});

test('a server whose owner was a worker that ends is closed', async (t) => {
  const repository = await writeRepository(await temporaryFolder(t), {
    slow: identity({ delayMs: 600_000 }),
    echo: identity(),
  });
  const owner = startWorker(t, 'owner', { repository });
  const [handle] = (await once(owner, 'message')) as [ServerHandle];
  const server = await attachServer(handle);
  t.after(() => server.close());
  assert.equal(floats(await server.infer('echo', { x: row(3) }))[0], 3);
  const running = rejection(server.infer('slow', { x: row() }));
  await turn();
  await owner.terminate();
  assert.ok(['CANCELLED', 'UNAVAILABLE'].includes((await running).code));
  assert.equal((await rejection(server.infer('echo', { x: row() }))).code, 'UNAVAILABLE');
});
