/** Cancelled requests: the calls to the engine, and the time of the rejections. */

import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { performance } from 'node:perf_hooks';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { Bench, type Asked } from './harness.js';

test('one signal cancels with one call, neighbours as one, and leaves others alone', async () => {
  const bench = new Bench();
  bench.version.groupRoom = 16;
  const controller = new AbortController();
  const { signal } = controller;
  const own = new AbortController().signal;
  const signals = [signal, signal, undefined, signal, own, signal, signal, own];
  const asked = signals.map((one, i) => bench.ask([i], { signal: one }));
  const other = bench.ask([1, 2], { signal });
  await turn();
  assert.equal(getEventListeners(signal, 'abort').length, 1);
  controller.abort();
  const [first, second] = bench.port.sent;
  assert.ok(first && second);
  const of = (at: number, count: number): number[] => [first.slot, first.generation, at, count];
  assert.deepEqual(bench.port.cancelled, [
    [of(0, 2), of(3, 1), of(5, 2), [second.slot, second.generation, 0, 1]],
  ]);
  bench.echo();
  await bench.settled(asked);
  assert.deepEqual(
    [...asked, other].map(({ outcome }) => outcome),
    ['CANCELLED', 'CANCELLED', [2], 'CANCELLED', [4], 'CANCELLED', 'CANCELLED', [7], 'CANCELLED'],
  );
  assert.equal(getEventListeners(own, 'abort').length, 0);
  await bench.idle();
});

test('one that was aborted in its tick is sent and cancelled, with its reason', async () => {
  const bench = new Bench();
  const controller = new AbortController();
  const asked = bench.ask([1], { signal: controller.signal });
  controller.abort('why');
  await turn();
  assert.deepEqual([asked.outcome, asked.error?.cause], ['CANCELLED', 'why']);
  assert.equal(bench.port.cancelled.flat().length, 1);
});

test('a call that takes long leaves the rejections to the next turns', async () => {
  const bench = new Bench();
  const controller = new AbortController();
  const asked = await bench.askMany(20_000, { signal: controller.signal });
  bench.port.onCancel = () => {
    const end = performance.now() + 2;
    while (performance.now() < end);
  };
  controller.abort();
  assert.equal(bench.port.cancelled.length, 1);
  // At most one portion: the requests rejected before the clock is first read.
  assert.ok(asked.filter(({ settled }) => settled).length <= 32);
  bench.echo();
  await bench.settled(asked);
  assert.ok(asked.every(({ outcome }) => outcome === 'CANCELLED'));
  await bench.idle();
});

test('of many that fail together the first errors have frames', async () => {
  const bench = new Bench();
  bench.version.groupRoom = 64;
  const asked = await bench.askMany(64);
  const [to] = bench.port.sent;
  assert.ok(to);
  bench.port.answer({ to, count: 64, code: 5, message: 'the server is closing' });
  await bench.settled(asked);
  const stacks = asked.map(({ error }) => error?.stack ?? '');
  assert.ok(stacks.slice(0, 32).every((stack) => stack.includes('\n    at ')));
  assert.ok(stacks.slice(32).every((stack) => stack === 'TritonError: the server is closing'));
  await bench.idle();
});

test('they count together, however many responses say so, until all are read', async () => {
  const bench = new Bench();
  for (const round of [1, 2]) {
    bench.version.groupRoom = 16;
    const asked = await bench.askMany(64);
    const sent = bench.port.sent.splice(0);
    assert.ok(sent.length > 2, `round ${round}`);
    bench.port.answer(
      ...sent.map((to) => ({ to, count: to.count, code: 5, message: 'the server is closing' })),
    );
    await bench.settled(asked);
    const framed = asked.map(({ error }) => error?.stack?.includes('\n    at ') === true);
    assert.deepEqual(
      framed,
      asked.map((_, i) => i < 32),
    );
  }
  await bench.idle();
});

test('one that is answered or fails after its signal fired is cancelled all the same', async () => {
  const bench = new Bench();
  const controller = new AbortController();
  const { signal } = controller;
  const asked = await bench.askMany(20_000, { signal });
  const sent = bench.port.sent.splice(0);
  controller.abort('why');
  // More requests than one turn rejects.
  const waiting = asked.filter(({ settled }) => !settled);
  assert.ok(waiting.length > 0);
  for (const [i, to] of sent.reverse().entries()) {
    const { count } = to;
    const fails = { to, count, code: 8, message: 'cancelled by the engine' };
    const answers = { to, count, outputs: [{ index: 0, floats: to.inputs[0]?.floats ?? [] }] };
    bench.port.answer(i % 2 === 0 ? fails : answers);
  }
  await bench.settled(asked);
  for (const { error } of asked) {
    assert.deepEqual([error?.code, error?.cause], ['CANCELLED', 'why']);
    assert.match(error?.message ?? '', /by its signal/);
  }
  await bench.idle();
});

test('those of one signal are cancelled by one call that names their groups, and rejected in turns of the event loop', async (t) => {
  const bench = new Bench();
  bench.version.groupRoom = 1024;
  const controller = new AbortController();
  const asked = await bench.askMany(50_000, { signal: controller.signal });
  // Each reading of this clock is 10 ms after the previous one.
  let looked = 0;
  const now = t.mock.method(performance, 'now', () => 10 * looked++);
  controller.abort();
  now.mock.restore();
  // The clock is first read after 32 rejections, and ends the slice.
  assert.ok(asked.filter(({ settled }) => settled).length <= 32);
  assert.equal(bench.port.cancelled.length, 1);
  assert.equal(bench.port.cancelled[0]?.length, bench.port.sent.length);
  await bench.settled(asked);
  assert.deepEqual(new Set(asked.map(({ outcome }) => outcome)), new Set(['CANCELLED']));
});

test('more than the submission words name at once are cancelled with a call for each fill', async () => {
  const bench = new Bench();
  const controller = new AbortController();
  const { signal } = controller;
  const asked: Asked[] = [];
  for (let i = 0; i < 20_000; i++) asked.push(bench.ask(i % 2 === 0 ? [1] : [1, 2], { signal }));
  await turn();
  controller.abort();
  assert.deepEqual(
    bench.port.cancelled.map(({ length }) => length),
    [16_384, 3616],
  );
  await bench.settled(asked);
});

test('signals are listened to also where there are always more answers', async (t) => {
  // By this clock a turn has time for some hundred answers. A fast processor delivers 4,096 in a millisecond.
  let looked = 0;
  t.mock.method(performance, 'now', () => (looked += 0.05));
  const bench = new Bench();
  bench.version.groupRoom = 1024;
  const controller = new AbortController();
  const { signal } = controller;
  // One turn cannot deliver all of them, so some page is always left.
  await bench.askMany(4096);
  const refill = async (): Promise<void> => {
    for (const to of bench.port.sent.splice(0)) {
      if (to.count === 1) continue;
      const floats = to.inputs[0]?.floats ?? [];
      bench.port.answer({ to, count: to.count, outputs: [{ index: 0, floats }] });
    }
    for (let i = 0; i < 4096; i++) bench.ask([i]);
    await turn();
  };
  await refill();
  const waiting = bench.ask([1, 2, 3], { signal });
  await turn();
  let rounds = 0;
  for (; getEventListeners(signal, 'abort').length === 0; rounds++) {
    assert.ok(rounds < 50, 'nobody listens');
    await refill();
  }
  // The listener came later, because requests whose responses are in pages need none.
  assert.ok(rounds > 0);
  assert.ok(bench.port.pages.size > 0);
  controller.abort();
  assert.equal(waiting.outcome, 'CANCELLED');
});

test('whoever stops cancels what is its own alone', async () => {
  const bench = new Bench();
  bench.version.groupRoom = 16;
  const owner = {};
  const asked = [owner, undefined, owner, owner, {}].map((one, i) => bench.ask([i], { owner: one }));
  bench.connection.cancelAll(owner);
  const [to] = bench.port.sent;
  assert.deepEqual(bench.port.cancelled, [
    [
      [to?.slot, to?.generation, 0, 1],
      [to?.slot, to?.generation, 2, 2],
    ],
  ]);
  bench.echo();
  await bench.settled(asked);
  assert.deepEqual(
    asked.map(({ outcome }) => outcome),
    ['CANCELLED', [1], 'CANCELLED', 'CANCELLED', [4]],
  );
});
