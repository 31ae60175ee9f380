/** Streams that end early: by their reader, a signal, the server, or a reload. */

import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { attachServer } from '../../src/index.js';
import { rejection, serve, start, statisticsAfter, until, type Context } from '../support/harness.js';
import { temporaryFolder, writeRepository, type RepositoryModel } from '../support/repository.js';
import { asking, numberOf, readAll, streaming, upTo } from './harness.js';

/** A model that makes a file when it learns that a request was cancelled. */
async function telling(t: Context): Promise<{ model: RepositoryModel; learned: () => boolean }> {
  const file = join(await temporaryFolder(t), 'cancelled');
  return { model: streaming({ parameters: { cancel_file: file } }), learned: () => existsSync(file) };
}

void suite('who leaves a stream cancels its request, and the model learns it', () => {
  test('break', async (t) => {
    const { model, learned } = await telling(t);
    const server = await serve(t, { m: model });
    let last = -1;
    for await (const result of server.model('m').stream(asking(1_000_000))) {
      last = numberOf(result);
      if (last === 4) break;
    }
    assert.equal(last, 4);
    await until(learned);
    const { inference_stats: counts } = await statisticsAfter(server, 'm', 1);
    assert.equal(counts.fail.count, 1);
  });

  test('return(), before anything was read', async (t) => {
    const { model, learned } = await telling(t);
    const server = await serve(t, { m: model });
    const stream = server.model('m').stream(asking(1_000_000));
    // A request that was cancelled before it ran does not reach the model.
    await until(() => server.statistics('m')[0]?.inference_stats.queue.count === 0);
    assert.deepEqual((await stream.next()).done, false);
    assert.deepEqual(await stream.return?.(), { done: true, value: undefined });
    assert.deepEqual(await stream.next(), { done: true, value: undefined });
    await until(learned);
  });

  test('throw()', async (t) => {
    const { model, learned } = await telling(t);
    const server = await serve(t, { m: model });
    const stream = server.model('m').stream(asking(1_000_000));
    await stream.next();
    const mine = new Error('mine');
    await assert.rejects(stream.throw?.(mine) ?? Promise.resolve(), mine);
    await until(learned);
  });

  test('a signal, with its reason as the cause', async (t) => {
    const { model, learned } = await telling(t);
    const server = await serve(t, { m: model });
    const controller = new AbortController();
    const stream = server.model('m').stream(asking(1_000_000), { signal: controller.signal });
    await stream.next();
    const reason = new Error('enough');
    controller.abort(reason);
    const error = await rejection(stream.next());
    assert.equal(error.code, 'CANCELLED');
    assert.equal(error.cause, reason);
    assert.deepEqual(await stream.next(), { done: true, value: undefined });
    await until(learned);
  });

  test('a signal that fires while a call of next() waits', async (t) => {
    const { model, learned } = await telling(t);
    const server = await serve(t, { m: model });
    const controller = new AbortController();
    const stream = server.model('m').stream(asking(0, 'open'), { signal: controller.signal });
    const next = stream.next();
    await until(() => server.statistics('m').length > 0);
    setImmediate(() => {
      controller.abort();
    });
    assert.equal((await rejection(next)).code, 'CANCELLED');
    await statisticsAfter(server, 'm', 1);
    t.diagnostic(`the model learned it: ${learned()}`);
  });

  test('a signal that fires when the stream has ended takes what was not read', async (t) => {
    const server = await serve(t, { m: streaming() });
    const controller = new AbortController();
    const stream = server.model('m').stream(asking(5), { signal: controller.signal });
    await statisticsAfter(server, 'm', 1);
    controller.abort();
    assert.equal((await rejection(stream.next())).code, 'CANCELLED');
  });

  test('a signal that has fired before', async (t) => {
    const server = await serve(t, { m: streaming() });
    const { error } = await readAll(server.model('m').stream(asking(5), { signal: AbortSignal.abort() }));
    assert.equal(error?.code, 'CANCELLED');
  });

  test('a thousand readers leave at once', async (t) => {
    const server = await serve(t, { m: streaming() });
    const streams = Array.from({ length: 1000 }, () => server.model('m').stream(asking(1_000_000)));
    await Promise.all(streams.map((stream) => stream.next()));
    for (const stream of streams) await stream.return?.();
    await statisticsAfter(server, 'm', 1000);
    assert.deepEqual((await readAll(server.model('m').stream(asking(10)))).numbers, upTo(10));
  });
});

void suite('open streams and the server', () => {
  test('close() lets a stream end', async (t) => {
    const server = await serve(t, { m: streaming() });
    const stream = server.model('m').stream(asking(2000));
    await stream.next();
    const reading = readAll(stream);
    await server.close();
    const { numbers, error } = await reading;
    assert.equal(error, undefined);
    assert.deepEqual(numbers, upTo(2000).slice(1));
  });

  test('close() without time ends it with an error behind what came before', async (t) => {
    const server = await serve(t, { m: streaming() });
    const stream = server.model('m').stream(asking(1_000_000));
    await stream.next();
    await server.close({ timeoutMs: 0 });
    const { numbers, error } = await readAll(stream);
    assert.deepEqual(numbers, upTo(numbers.length + 1).slice(1));
    assert.ok(error !== undefined);
    assert.ok(['CANCELLED', 'UNAVAILABLE'].includes(error.code), error.code);
  });

  test('a version that is unloaded serves its streams to their end', async (t) => {
    const server = await serve(t, { m: streaming() }, { modelControlMode: 'explicit', loadModels: ['m'] });
    const stream = server.model('m').stream(asking(5000));
    await stream.next();
    const unloaded = server.unloadModel('m');
    assert.deepEqual((await readAll(stream)).numbers, upTo(5000).slice(1));
    await unloaded;
    assert.equal((await readAll(server.stream('m', asking(1)))).error?.code, 'NOT_FOUND');
  });

  test('a reload leaves the streams of the old version as they are', async (t) => {
    const folder = await writeRepository(await temporaryFolder(t), { m: streaming() });
    const server = await start(t, folder, { modelControlMode: 'explicit', loadModels: ['m'] });
    const streams = Array.from({ length: 20 }, () => server.model('m').stream(asking(300)));
    await Promise.all(streams.map((stream) => stream.next()));
    await writeRepository(folder, { m: streaming({ parameters: { ahead: 4 } }) });
    await server.loadModel('m');
    assert.deepEqual((await readAll(server.stream('m', asking(30)))).numbers, upTo(30));
    for (const stream of streams) {
      assert.deepEqual((await readAll(stream)).numbers, upTo(300).slice(1));
    }
  });

  test('an attached server streams, and its end cancels its streams', async (t) => {
    const { model, learned } = await telling(t);
    const owner = await serve(t, { m: model });
    const attached = await attachServer(structuredClone(owner.handle));
    assert.deepEqual((await readAll(attached.stream('m', asking(100)))).numbers, upTo(100));
    const stream = attached.stream('m', asking(1_000_000));
    await stream.next();
    await attached.close({ timeoutMs: 0 });
    assert.ok((await readAll(stream)).error !== undefined);
    await until(learned);
    assert.deepEqual((await readAll(owner.stream('m', asking(100)))).numbers, upTo(100));
  });

  test('a stream that waits in a queue that is full is refused', async (t) => {
    const server = await serve(t, {
      m: streaming({ maxBatchSize: 1, batching: 'default_queue_policy { max_queue_size: 1 }' }),
    });
    const inputs = { count: [[3]], how: [[1]], size: [[1]] };
    const all = await Promise.all(Array.from({ length: 200 }, () => readAll(server.stream('m', inputs))));
    for (const { numbers, error } of all) {
      if (error === undefined) assert.deepEqual(numbers, upTo(3));
      else assert.equal(error.code, 'UNAVAILABLE');
    }
  });
});
