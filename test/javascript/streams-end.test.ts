/** Decoupled models in JavaScript: readers that are slow or leave, and streams that end before their end. */
// Own process: it measures the memory of the process.
// Long: it waits for limits of time.

import assert from 'node:assert/strict';
import { readFileSync, existsSync } from 'node:fs';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { attachServer, type InferOptions, type InferenceServer, type InferResult } from '../../src/index.js';
import { rejection, serve, start, threadCount, until, type Context } from '../support/harness.js';
import { temporaryFolder, writeRepository } from '../support/repository.js';
import { sanitized } from '../support/sanitizer.js';
import { numberOf, readAll, upTo } from '../streams/harness.js';
import { asking, counts, generating } from './decoupled.js';

/** Options with which models write notes, and a function that reads the notes. */
async function noting(t: Context): Promise<{ options: InferOptions; notes: () => string[] }> {
  const file = join(await temporaryFolder(t), 'notes');
  const notes = (): string[] => (existsSync(file) ? readFileSync(file, 'utf8').split('\n').slice(0, -1) : []);
  return { options: { parameters: { file } }, notes };
}

/** Counts, and notes the number of items that were taken, and the call of `return()`. */
const tells = `
  let taken = 0;
  try { for (; taken < count; taken++) yield y(taken); }
  finally { note(request, 'taken ' + taken); }`;

void suite('a reader who is slow', () => {
  for (const kind of ['function*', 'async function*'] as const) {
    test(`a ${kind} is pulled 16 responses ahead, and others are served meanwhile`, async (t) => {
      const { options, notes } = await noting(t);
      const body = `for (let k = 0; k < count; k++) { if (count > 5000) note(request, String(k)); yield y(k); }`;
      const server = await serve(t, { m: generating(body, kind) });
      const stream = server.stream('m', asking(10_000), options);
      await until(() => notes().length >= 16);
      assert.deepEqual((await readAll(server.stream('m', asking(5000), options))).numbers, upTo(5000));
      assert.equal(notes().length, 16, 'the generator was asked for more than is read');
      for (let k = 0; k < 100; k++) assert.equal(numberOf((await stream.next()).value as InferResult), k);
      await stream.return?.();
    });
  }

  test('large responses wait for the reader where there is no room for their bytes', async (t) => {
    const body =
      'for (let k = 0; k < count; k++) yield { y: { data: new Int32Array(1 << 20).fill(k), shape: [1, 1 << 20] } };';
    const server = await serve(t, { m: generating(body, 'function*') });
    const stream = server.stream('m', asking(40));
    await sleep(20);
    assert.deepEqual((await readAll(stream)).numbers, upTo(40));
  });

  test('a limit of bytes in flight that is reached ends no stream of many', async (t) => {
    const body =
      'for (let k = 0; k < count; k++) yield { y: { data: new Int32Array(4000).fill(k), shape: [1, 4000] } };';
    const server = await serve(t, { m: generating(body) }, { maxInFlightBytes: 1 << 20 });
    const all = Array.from({ length: 30 }, () => server.stream('m', asking(60)));
    await sleep(20);
    for (const read of await Promise.all(all.map(readAll))) {
      assert.deepEqual(read, { numbers: upTo(60), error: undefined });
    }
  });
});

void suite('who leaves a stream has its iterator ended, and the signal of its request aborted', () => {
  const ways: Readonly<Record<string, (server: InferenceServer, options: InferOptions) => Promise<void>>> = {
    async break(server, options) {
      for await (const result of server.stream('m', asking(1_000_000), options))
        if (numberOf(result) === 4) break;
    },
    async 'return()'(server, options) {
      const stream = server.stream('m', asking(1_000_000), options);
      await stream.next();
      await stream.return?.();
    },
    async 'a signal'(server, options) {
      const controller = new AbortController();
      const stream = server.stream('m', asking(1_000_000), { ...options, signal: controller.signal });
      await stream.next();
      controller.abort();
      assert.equal((await rejection(stream.next())).code, 'CANCELLED');
    },
    async 'close()'(server, options) {
      const stream = server.stream('m', asking(1_000_000), options);
      await stream.next();
      await server.close({ timeoutMs: 0 });
      assert.ok(['CANCELLED', 'UNAVAILABLE'].includes((await readAll(stream)).error?.code ?? ''));
    },
  };
  for (const [way, leave] of Object.entries(ways)) {
    test(`${way}, of a generator that waits for its reader`, async (t) => {
      const { options, notes } = await noting(t);
      const server = await serve(t, { m: generating(tells, 'function*') });
      await leave(server, options);
      await until(() => notes().length === 1);
    });

    test(`${way}, of a generator that waits for something else`, async (t) => {
      const { options, notes } = await noting(t);
      const body = `
        try {
          for (let k = 0; k < 10; k++) yield y(k);
          await new Promise((resolve) => request.signal.addEventListener('abort', resolve));
          note(request, 'aborted');
        } finally { note(request, 'left'); }`;
      const server = await serve(t, { m: generating(body) });
      await leave(server, options);
      await until(() => notes().length === 2);
      assert.deepEqual(notes(), ['aborted', 'left']);
    });
  }

  test('a thousand readers leave at once, and the next one is served', async (t) => {
    const { options, notes } = await noting(t);
    const server = await serve(t, { m: generating(tells) });
    const streams = Array.from({ length: 1000 }, () => server.stream('m', asking(1_000_000), options));
    await Promise.all(streams.map((stream) => stream.next()));
    for (const stream of streams) await stream.return?.();
    await until(() => notes().length === 1000);
    assert.deepEqual((await readAll(server.stream('m', asking(10), options))).numbers, upTo(10));
  });

  test('a return() that throws warns, and harms nobody', async (t) => {
    const body = `try { for (;;) yield y(0); } finally { throw new Error('no end'); }`;
    const server = await serve(t, { m: generating(body) });
    for await (const result of server.stream('m', asking(1))) if (numberOf(result) === 0) break;
    assert.equal((await server.stream('m', asking(1)).next()).done, false);
  });
});

void suite('open streams and the end of their instance', () => {
  test('a thread that dies fails its streams behind what they got, and is started anew', async (t) => {
    // The thread dies when two streams have ended, and the others have sent as much as they may.
    const body = `
      const arrive = () => { globalThis.arrived = (globalThis.arrived ?? 0) + 1; };
      for (let k = 0; k < count; k++) {
        yield y(k);
        if (k !== 40) continue;
        arrive();
        while (globalThis.arrived < 4) await sleep(1);
        await sleep(20);
        process.exit(4);
      }
      arrive();`;
    const server = await serve(t, { m: generating(body) });
    const all = [10, 30, 1000, 2000].map((count) => readAll(server.stream('m', asking(count))));
    const [ten, thirty, ...lost] = await Promise.all(all);
    assert.deepEqual(ten, { numbers: upTo(10), error: undefined });
    assert.deepEqual(thirty, { numbers: upTo(30), error: undefined });
    for (const { numbers, error } of lost) {
      assert.deepEqual(numbers, upTo(41));
      assert.equal(error?.code, 'UNAVAILABLE');
      assert.match(error.message, /model 'm': the thread of instance 'm_0_0' ended/);
    }
    assert.deepEqual((await readAll(server.stream('m', asking(20)))).numbers, upTo(20));
  });

  test('a reload and an unload serve streams to their end', async (t) => {
    const folder = await writeRepository(await temporaryFolder(t), { m: generating(counts) });
    const server = await start(t, folder, { modelControlMode: 'explicit', loadModels: ['m'] });
    const streams = Array.from({ length: 20 }, () => server.stream('m', asking(300)));
    await Promise.all(streams.map((stream) => stream.next()));
    await writeRepository(folder, { m: generating(counts.replace('y(k)', 'y(-k)')) });
    await server.loadModel('m');
    assert.equal((await readAll(server.stream('m', asking(3)))).numbers.at(-1), -2);
    for (const stream of streams) assert.deepEqual((await readAll(stream)).numbers, upTo(300).slice(1));
    const last = server.stream('m', asking(300));
    await last.next();
    const unloaded = server.unloadModel('m');
    assert.equal((await readAll(last)).numbers.length, 299);
    await unloaded;
  });

  test('an unload ends streams that nobody reads when its time is over', async (t) => {
    const before = await threadCount();
    const { options, notes } = await noting(t);
    const server = await serve(
      t,
      { m: generating(tells, 'function*') },
      { modelControlMode: 'explicit', loadModels: ['m'], workers: { unloadTimeoutMs: 50 } },
    );
    const stream = server.stream('m', asking(1_000_000), options);
    await stream.next();
    await server.unloadModel('m');
    const { numbers, error } = await readAll(stream);
    assert.deepEqual(numbers, upTo(numbers.length + 1).slice(1));
    assert.equal(error?.code, 'CANCELLED');
    assert.ok(notes().length <= 1);
    await server.close();
    await until(async () => (await threadCount()) <= before);
  });

  test('a stream that never answers holds up no close', async (t) => {
    const server = await serve(t, { m: generating('await new Promise(() => undefined); yield y(0);') });
    const next = rejection(server.stream('m', asking(1)).next());
    await sleep(10);
    await server.close({ timeoutMs: 50 });
    assert.ok(['CANCELLED', 'UNAVAILABLE'].includes((await next).code));
  });

  test('an attached server streams, and its end cancels its streams', async (t) => {
    const { options, notes } = await noting(t);
    const owner = await serve(t, { m: generating(tells) });
    const attached = await attachServer(structuredClone(owner.handle));
    assert.deepEqual((await readAll(attached.stream('m', asking(100), options))).numbers, upTo(100));
    const stream = attached.stream('m', asking(1_000_000), options);
    await stream.next();
    await attached.close({ timeoutMs: 0 });
    assert.ok((await readAll(stream)).error !== undefined);
    await until(() => notes().length === 2);
  });
});

test('a thousand streams at once come whole', async (t) => {
  const server = await serve(t, { m: generating(counts, 'async function*', { instances: 2 }) });
  const all = await Promise.all(upTo(1000).map((i) => readAll(server.stream('m', asking(i % 200)))));
  for (const [i, read] of all.entries()) assert.deepEqual(read, { numbers: upTo(i % 200), error: undefined });
});

// test/streams has one of a million.
test('a stream of 300,000 responses keeps the memory flat', { timeout: 300_000 }, async (t) => {
  // Otherwise a collection that has not come yet looks like a leak.
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const server = await serve(t, { m: generating(counts, 'function*') });
  const samples: number[] = [];
  let next = 0;
  for await (const result of server.stream('m', asking(300_000))) {
    assert.equal(numberOf(result), next++);
    if (next % 30_000 !== 0) continue;
    collect();
    samples.push(process.memoryUsage.rss());
  }
  assert.equal(next, 300_000);
  // A sanitizer keeps freed memory.
  if (sanitized) return;
  // Compare after the first tenths, in which heaps and pools reach their size.
  const [early = 0, last = 0] = [samples[2], samples.at(-1)];
  assert.ok(last - early < 32 << 20, `grew by ${(last - early) >> 20} MiB: ${samples.join()}`);
});
