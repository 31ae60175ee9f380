/** The example `examples/native-frames`: an addon of C that sends frames from its own thread. */

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import { nativeApi, type InferenceServer } from '../../src/index.js';
import { adds, executing, script as javascript } from '../javascript/harness.js';
import { script as python, serving, skip as noPython } from '../python/harness.js';
import { noCompiler as skip } from '../support/c-compiler.js';
import { chain, ensemble, onnx, serve, statisticsAfter, until } from '../support/harness.js';

/** The addon's functions; see frames.c. */
interface Frames {
  start(
    api: unknown,
    engine: number,
    server: number,
    model: string,
    frames: number,
    outstanding: number,
  ): Promise<{ readonly frames: number; readonly seconds: number; readonly sum: number }>;
}

/** The addon, and the temporary folder that it lies in. */
let built: { readonly frames: Frames; readonly file: string; readonly folder: string } | undefined;

before(async () => {
  if (skip !== false) return;
  const folder = await mkdtemp(join(tmpdir(), 'tritonts-frames-'));
  const file = join(folder, 'frames.node');
  const program = fileURLToPath(new URL('../../../examples/native-frames/build.mjs', import.meta.url));
  const { status, stdout, stderr } = spawnSync(process.execPath, [program, file], { encoding: 'utf8' });
  assert.equal(status, 0, stdout + stderr);
  // It exports that.
  built = { frames: createRequire(import.meta.url)(file) as Frames, file, folder };
});

after(async () => {
  if (built) await rm(built.folder, { recursive: true, force: true });
});

function frames(): Frames {
  assert.ok(built);
  return built.frames;
}

/** Sends frames whose numbers are 0, 1, … 99, 0, … */
function send(
  { handle }: InferenceServer,
  model: string,
  count: number,
  outstanding = 64,
): ReturnType<Frames['start']> {
  return frames().start(nativeApi.external, handle.engine, handle.id, model, count, outstanding);
}

/** The sum of the first numbers of `count` responses of y = x + `added`. */
function sumOf(count: number, added: number): number {
  let sum = 0;
  for (let i = 0; i < count; i++) sum += (i % 100) + added;
  return sum;
}

test('frames are batched, counted, and answered', { skip }, async (t) => {
  const server = await serve(t, { add: onnx() });
  const { frames: answered, sum } = await send(server, 'add', 10_000);
  assert.equal(answered, 10_000);
  assert.equal(sum, sumOf(10_000, 1));
  const statistics = await statisticsAfter(server, 'add', 10_000);
  assert.equal(statistics.inference_stats.success.count, 10_000);
  assert.ok(statistics.execution_count < 10_000, 'frames share batches');
  assert.match(server.metrics(), /^nv_inference_request_success\{model="add"[^}]*\} 10000$/m);
});

test('frames are answered while the thread of JavaScript is blocked', { skip }, async (t) => {
  const server = await serve(t, { add: onnx() });
  const all = 5000;
  const done = new Int32Array(new SharedArrayBuffer(4));
  // It tells this thread, which cannot look itself.
  const watcher = new Worker(new URL('workers/frames-watcher.js', import.meta.url), {
    workerData: { handle: server.handle, done, all },
  });
  const ended = once(watcher, 'exit');
  await once(watcher, 'message');
  const answer = send(server, 'add', all);
  assert.equal(Atomics.wait(done, 0, 0, 60_000), 'ok');
  assert.equal((await answer).sum, sumOf(all, 1));
  assert.deepEqual(await ended, [0]);
});

test('models in JavaScript and ensembles get frames, too', { skip }, async (t) => {
  const server = await serve(t, {
    add: onnx(),
    script: javascript(executing(adds)),
    both: ensemble(chain(['add', 'script', 'add'])),
  });
  assert.equal((await send(server, 'script', 300)).sum, sumOf(300, 1));
  assert.equal((await send(server, 'both', 300)).sum, sumOf(300, 3));
});

test('so do models in Python', { skip: skip || noPython }, async (t) => {
  const server = await serving(t, {
    script: python(
      'def execute(self, requests):\n    return [answer(array(request) + 1) for request in requests]',
    ),
  });
  assert.equal((await send(server, 'script', 300)).sum, sumOf(300, 1));
});

test('errors of the server reach the caller', { skip }, async (t) => {
  const server = await serve(t, { add: onnx() });
  await assert.rejects(send(server, 'sub', 1), { message: /NOT_FOUND: unknown model 'sub'/ });
  await assert.rejects(frames().start(nativeApi.external, 1, server.handle.id, 'add', 1, 1), {
    message: /INVALID_ARG: attach: the handle belongs to another copy/,
  });
  assert.throws(() => frames().start({}, 1, 1, 'add', 1, 1), /expected nativeApi.external/);
  await server.close();
  await assert.rejects(send(server, 'add', 1), { message: 'UNAVAILABLE: the server is closed' });
});

test('a server that closes ends the feed of frames', { skip }, async (t) => {
  const server = await serve(t, { add: onnx() });
  const fed = assert.rejects(send(server, 'add', 2 ** 40), { message: /closed/ });
  await until(() => server.model('add').statistics().inference_stats.success.count > 1000);
  await server.close();
  await fed;
});

test('a worker that ends with its server ends the feed of frames', { skip }, async () => {
  assert.ok(built);
  const worker = new Worker(new URL('workers/frames-feeder.js', import.meta.url), {
    workerData: { file: built.file },
  });
  const [state] = (await once(worker, 'message')) as [string];
  assert.equal(state, 'fed');
  assert.equal(await worker.terminate(), 1);
});

test('a worker can end while frames wait for its own function', { skip }, async () => {
  assert.ok(built);
  const worker = new Worker(new URL('workers/frames-asker.js', import.meta.url), {
    workerData: { file: built.file },
  });
  const [state] = (await once(worker, 'message')) as [string];
  assert.equal(state, 'asked');
  assert.equal(await worker.terminate(), 1);
});

test('the process can exit while frames are fed', { skip }, () => {
  assert.ok(built);
  const program = fileURLToPath(new URL('children/frames-exit.js', import.meta.url));
  const { status, stderr } = spawnSync(process.execPath, [program, built.file], { encoding: 'utf8' });
  assert.equal(status, 7, stderr);
});
