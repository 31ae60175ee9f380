// Long: it starts many processes.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { attachServer, type ServerHandle } from '../../src/index.js';
import { addModel } from '../support/models.js';
import { temporaryFolder, writeRepository, type RepositoryModel } from '../support/repository.js';
import {
  anyLength,
  floats,
  identity,
  onnx,
  rejection,
  row,
  serve,
  statisticsAfter,
  turn,
  until,
} from '../support/harness.js';
import { call, noMoreThanNow } from './harness.js';

/** Number of FP32 values, which take 600 kB. */
const wide = 150_000;

/** An identity model with inputs of any width. By default each request runs alone. */
function echo(delayMs = 0, batching: string | false = false): RepositoryModel {
  return identity({ ...anyLength, delayMs, batching });
}

test('the main thread and eight workers use one server at once', async (t) => {
  const server = await serve(t, { echo: echo(0, '') });
  const workers = Array.from({ length: 8 }, (_, i) =>
    call(t, {
      handle: server.handle,
      model: 'echo',
      // Some are small, and some are large.
      width: i % 2 === 0 ? 16 : wide,
      count: i % 2 === 0 ? 300 : 20,
      then: 'close',
    }),
  );
  const mine = Promise.all(Array.from({ length: 300 }, (_, i) => server.infer('echo', { x: row(i) })));
  const counts = await Promise.all(workers.map((worker) => worker.next()));
  assert.deepEqual(counts, [300, 20, 300, 20, 300, 20, 300, 20]);
  for (const [i, result] of (await mine).entries()) assert.equal(floats(result)[0], i);
  assert.deepEqual(
    await Promise.all(workers.map(({ ended }) => ended)),
    Array.from({ length: 8 }, () => 0),
  );
  const total = 4 * 300 + 4 * 20 + 300;
  assert.equal((await statisticsAfter(server, 'echo', total)).inference_stats.success.count, total);
});

test('workers come and go 24 times, by themselves or not, and nothing of them stays', async (t) => {
  const server = await serve(t, { echo: echo(), slow: echo(20) });
  const come = async (i: number): Promise<void> => {
    const ends = ['end', 'close', 'stream', 'wait'] as const;
    const then = ends[i % ends.length] ?? 'end';
    const worker = call(t, { handle: server.handle, model: i % 8 < 4 ? 'echo' : 'slow', count: 3, then });
    await worker.next();
    if (then === 'stream' || then === 'wait') await worker.worker.terminate();
    await worker.ended;
  };
  for (let i = 0; i < 8; i++) await come(i);
  const asBefore = await noMoreThanNow();
  for (let i = 0; i < 24; i += 2) await Promise.all([come(i), come(i + 1)]);
  await asBefore();
  assert.deepEqual(floats(await server.infer('echo', { x: row(4) })), [...row(4)]);
});

test('workers that are terminated during runs of 200 ms with outputs of 600 kB harm nobody', async (t) => {
  const server = await serve(t, { slow: echo(200), echo: echo() });
  for (let i = 0; i < 6; i++) {
    const { worker, next } = call(t, {
      handle: server.handle,
      model: 'slow',
      width: wide,
      count: 3,
      then: 'wait',
    });
    assert.equal(await next(), 'sent');
    // Each is terminated at another point of the run.
    await new Promise((resolve) => setTimeout(resolve, i * 45));
    await worker.terminate();
    assert.deepEqual(floats(await server.infer('echo', { x: row(i) })), [...row(i)]);
  }
  const { outputs } = await server.infer('slow', { x: row(1, wide) });
  assert.deepEqual(outputs['y']?.data, row(1, wide));
});

test('a worker that is terminated while outputs are on their way to it harms nobody', async (t) => {
  const server = await serve(t, { echo: echo() });
  for (let i = 0; i < 8; i++) {
    const { worker, next } = call(t, {
      handle: server.handle,
      model: 'echo',
      width: i % 2 === 0 ? wide : 16,
      count: 16,
      then: 'stream',
    });
    assert.equal(await next(), 'streaming');
    await worker.terminate();
  }
  assert.deepEqual(floats(await server.infer('echo', { x: row(4) })), [...row(4)]);
});

// From then on Node-API refuses some calls, while the worker's JavaScript still executes some instructions.
test('workers that are terminated while they run batches themselves harm nobody', async (t) => {
  const server = await serve(t, { echo: echo(0, '') }, { inline: 10_000 });
  for (let i = 0; i < 10; i++) {
    const workers = [1, 4].map((count) =>
      call(t, { handle: server.handle, model: 'echo', count, then: 'stream' }),
    );
    for (const { next } of workers) assert.equal(await next(), 'streaming');
    // Each is terminated at another point.
    for (let turn = 0; turn < i % 5; turn++) await server.infer('echo', { x: row(turn) });
    await Promise.all(workers.map(({ worker }) => worker.terminate()));
  }
  assert.deepEqual(floats(await server.infer('echo', { x: row(4) })), [...row(4)]);
});

test('a server that is closed by its owner ends what attached workers have pending', async (t) => {
  const server = await serve(t, { late: echo(60_000) });
  const workers = Array.from({ length: 4 }, () =>
    call(t, { handle: server.handle, model: 'late', count: 50, then: 'wait' }),
  );
  for (const worker of workers) assert.equal(await worker.next(), 'sent');
  await server.close({ timeoutMs: 0 });
  for (const worker of workers) {
    assert.deepEqual(
      await worker.next(),
      Array.from({ length: 50 }, () => 'CANCELLED'),
    );
    // Nothing keeps it alive any more.
    assert.equal(await worker.ended, 0);
  }
});

test('an owner that dies ends what others have pending, and they live on', async (t) => {
  const repository = await writeRepository(await temporaryFolder(t), {
    late: echo(60_000),
    echo: echo(),
  });
  const asBefore = await noMoreThanNow();
  const owner = call(t, { repository, model: 'echo', count: 0, then: 'stay' });
  const handle = (await owner.next()) as ServerHandle;
  const server = await attachServer(handle);
  const workers = Array.from({ length: 3 }, () =>
    call(t, { handle, model: 'late', count: 20, then: 'wait' }),
  );
  for (const worker of workers) assert.equal(await worker.next(), 'sent');
  const mine = rejection(server.infer('late', { x: row() }));
  // Its request goes to the engine at the end of this turn. Sent to a closed server, it would be UNAVAILABLE.
  await turn();
  await owner.worker.terminate();
  assert.equal((await mine).code, 'CANCELLED');
  for (const worker of workers) {
    const codes = (await worker.next()) as string[];
    for (const code of codes) assert.ok(['CANCELLED', 'UNAVAILABLE'].includes(code), code);
    assert.equal(await worker.ended, 0);
  }
  assert.equal((await rejection(server.infer('echo', { x: row() }))).code, 'UNAVAILABLE');
  await server.close();
  await assert.rejects(attachServer(handle), { code: 'UNAVAILABLE' });
  await asBefore();
});

test('an attached worker outlives its server, with the outputs it has', async (t) => {
  const server = await serve(t, { echo: echo() });
  const attached = await attachServer(server.handle);
  const { outputs } = await attached.infer('echo', { x: row(7, wide) });
  await server.close();
  await attached.close();
  await until(() => !attached.ready);
  assert.deepEqual(outputs['y']?.data, row(7, wide));
});

test('servers of one process do not know of each other', async (t) => {
  const servers = await Promise.all(
    [1, 2, 3, 4, 5].map((addend) => serve(t, { add: onnx(addModel({ addend })) })),
  );
  const ask = (): Promise<number[]> =>
    Promise.all(
      servers.map(async (server) =>
        server.ready ? (floats(await server.infer('add', { x: row(0) }))[0] ?? 0) : 0,
      ),
    );
  assert.deepEqual(await ask(), [1, 2, 3, 4, 5]);
  await servers[1]?.close();
  await servers[3]?.close();
  assert.deepEqual(await ask(), [1, 0, 3, 0, 5]);
});
