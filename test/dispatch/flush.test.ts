/**
 * Flushes: the requests of the tick that they send, refused requests, and submissions in the middle of a request.
 */

import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { TritonError } from '../../src/index.js';
import { Asked, Bench, moreThanFits } from './harness.js';

const noMemory = { code: 5, message: 'no memory for the request' };

test('a refused flush rejects its requests, each with an error of its own that names the model', async () => {
  const bench = new Bench();
  bench.port.onSubmit = () => noMemory;
  const asked = await bench.askMany(3);
  assert.equal(new Set(asked.map(({ error }) => error)).size, 3);
  for (const { error } of asked) {
    assert.ok(error instanceof TritonError);
    assert.deepEqual([error.code, error.model, error.message], ['UNAVAILABLE', 'fake', noMemory.message]);
  }
  bench.port.onSubmit = () => 0;
  const [next] = await bench.askMany(1);
  bench.echo();
  assert.deepEqual(next?.outcome, [0]);
  await bench.idle();
  assert.equal(bench.port.held, 0);
});

/** Makes more groups than a submission has room for. The last record does not fit. */
function askTooMany(bench: Bench, signal?: AbortSignal): Asked[] {
  return Array.from({ length: moreThanFits }, (_, i) =>
    bench.ask(new Array<number>(1 + (i % 2)).fill(i), { signal }),
  );
}

test('a submission that is refused in the middle of a request rejects those that were written, and no others', async () => {
  const bench = new Bench();
  let refused = 0;
  bench.port.onSubmit = (groups) => {
    if (refused > 0) return 0;
    refused = groups.length;
    return noMemory;
  };
  const { signal } = new AbortController();
  const asked = askTooMany(bench, signal);
  assert.equal(bench.port.submissions, 1);
  await turn();
  assert.equal(bench.port.submissions, 2);
  await bench.settled(asked.slice(0, refused));
  for (const [i, { outcome }] of asked.entries())
    assert.equal(outcome, i < refused ? 'UNAVAILABLE' : undefined);
  // Requests that were not refused keep their signals, which have listeners.
  assert.equal(getEventListeners(signal, 'abort').length, 1);
  bench.echo();
  await bench.settled(asked);
  for (const [i, { outcome }] of asked.entries()) {
    if (i >= refused) assert.deepEqual(outcome, new Array<number>(1 + (i % 2)).fill(i));
  }
  assert.equal(getEventListeners(signal, 'abort').length, 0);
  await bench.idle();
});

test('the signal of a request cancels it, though the submission before its own was refused', async () => {
  const bench = new Bench();
  let calls = 0;
  bench.port.onSubmit = () => (calls++ === 0 ? noMemory : 0);
  const controller = new AbortController();
  const asked = askTooMany(bench, controller.signal);
  await turn();
  const last = bench.port.sent.at(-1);
  assert.ok(last);
  controller.abort();
  await bench.settled(asked);
  assert.equal(asked.at(-1)?.outcome, 'CANCELLED');
  const cancelled = new Set(bench.port.cancelled.flat().map(([slot]) => slot));
  assert.deepEqual(cancelled, new Set(bench.port.sent.map(({ slot }) => slot)));
});

test('answers that come in the middle of a request are delivered after it, though their callers ask for more', async () => {
  const bench = new Bench();
  const [first] = await bench.askMany(1);
  const [sent] = bench.port.sent.splice(0);
  assert.ok(first && sent);
  const more: Asked[] = [];
  first.then = () => more.push(bench.ask([1000, 1001, 1002]));
  let submissions = 0;
  bench.port.onSubmit = () =>
    submissions++ === 0 ? bench.port.write([{ to: sent, outputs: [{ index: 0, floats: [[5]] }] }]) : 0;
  const asked = askTooMany(bench);
  assert.equal(submissions, 1);
  assert.equal(first.settled, false);
  await turn();
  await turn();
  assert.deepEqual(first.outcome, [5]);
  bench.echo();
  await bench.settled([...asked, ...more]);
  for (const [i, { outcome }] of asked.entries())
    assert.deepEqual(outcome, new Array<number>(1 + (i % 2)).fill(i));
  assert.deepEqual(more[0]?.outcome, [1000, 1001, 1002]);
  await bench.idle();
});

test('what a signal has of its own in place of its methods is not called', async () => {
  const bench = new Bench();
  const controller = new AbortController();
  const { signal } = controller;
  for (const name of ['addEventListener', 'removeEventListener', 'aborted', 'reason']) {
    const fail = (): never => assert.fail(`${name} is called`);
    const isMethod = name.endsWith('Listener');
    Object.defineProperty(signal, name, isMethod ? { value: fail } : { get: fail });
  }
  const answered = bench.ask([1], { signal });
  await turn();
  bench.echo();
  const cancelled = bench.ask([2], { signal });
  await turn();
  controller.abort('enough');
  assert.deepEqual([answered.outcome, cancelled.outcome], [[1], 'CANCELLED']);
  assert.equal(cancelled.error?.cause, 'enough');
});

test('a request that is made while the stack of another one is kept has its own answer, though that fails', async () => {
  const bench = new Bench({ captureStacks: true });
  bench.version.groupRoom = 8;
  const before = Reflect.getOwnPropertyDescriptor(Error, 'prepareStackTrace');
  const inner: Asked[] = [];
  let thrown: unknown;
  try {
    Error.prepareStackTrace = () => {
      if (inner.length > 0) return 'Error\n    at nowhere';
      inner.push(new Asked());
      inner.push(bench.ask([2]));
      throw new RangeError('no stack');
    };
    try {
      bench.ask([1]);
    } catch (error) {
      thrown = error;
    }
  } finally {
    Reflect.deleteProperty(Error, 'prepareStackTrace');
    if (before) Object.defineProperty(Error, 'prepareStackTrace', before);
  }
  assert.ok(thrown instanceof RangeError);
  await turn();
  bench.echo();
  await bench.settled(inner.slice(1));
  assert.deepEqual(inner[1]?.outcome, [2]);
  await bench.idle();
});

test('a version that was unloaded hands its requests to the next one, of which each has its own', async () => {
  const bench = new Bench();
  const other = new Bench().version;
  bench.version.next = () => other;
  const asked = await bench.askMany(4);
  const [first, ...rest] = bench.port.sent.splice(0);
  assert.ok(first);
  bench.port.answer({ to: first, count: first.count, code: 5, message: 'unloaded', unserved: true });
  await turn();
  bench.port.sent.unshift(...rest);
  bench.echo();
  await bench.settled(asked);
  assert.deepEqual(
    asked.map(({ outcome }) => outcome),
    [[0], [1], [2], [3]],
  );
});

/** A group of eight requests: the first two are refused by the limit, and no version took the others. */
async function partly(options?: { readonly pinned?: boolean; readonly signal?: AbortSignal }): Promise<{
  readonly bench: Bench;
  readonly other: Bench['version'];
  readonly asked: readonly Asked[];
}> {
  const bench = new Bench();
  bench.version.groupRoom = 8;
  const other = new Bench().version;
  bench.version.next = () => other;
  const asked = await bench.askMany(8, options);
  const [group, ...more] = bench.port.sent.splice(0);
  assert.ok(group?.count === 8 && more.length === 0);
  bench.port.answer(
    { to: group, first: 2, count: 6, code: 5, message: 'unloaded', unserved: true },
    { to: group, first: 0, count: 2, code: 5, message: 'too much', limited: true },
  );
  await turn();
  return { bench, other, asked };
}

test('those of a group that no version took are sent again, though others of it were refused', async () => {
  const { bench, asked } = await partly();
  assert.deepEqual(
    bench.port.sent.map(({ inputs: [input] }) => input?.floats.flat()).flat(),
    [2, 3, 4, 5, 6, 7],
  );
  bench.echo();
  await bench.settled([...asked]);
  assert.deepEqual(
    asked.map(({ outcome }) => outcome),
    ['UNAVAILABLE', 'UNAVAILABLE', [2], [3], [4], [5], [6], [7]],
  );
  await bench.idle();
});

test('they go to the successor, which says so where it does not take them, and not where they are pinned', async () => {
  const bench = new Bench();
  bench.version.groupRoom = 4;
  bench.version.next = () => {
    throw new TritonError('NOT_FOUND', 'no such version', { model: 'fake' });
  };
  const asked = await bench.askMany(4);
  const [group] = bench.port.sent.splice(0);
  assert.ok(group);
  bench.port.answer(
    { to: group, first: 0, count: 1, outputs: [{ index: 0, floats: [[9]] }] },
    { to: group, first: 1, count: 3, code: 5, message: 'unloaded', unserved: true },
  );
  await bench.settled(asked);
  assert.deepEqual(
    asked.map(({ outcome }) => outcome),
    [[9], 'NOT_FOUND', 'NOT_FOUND', 'NOT_FOUND'],
  );
  const pinned = await partly({ pinned: true });
  await pinned.bench.settled([...pinned.asked]);
  assert.deepEqual(new Set(pinned.asked.map(({ outcome }) => outcome)), new Set(['UNAVAILABLE']));
  assert.equal(pinned.bench.port.sent.length, 0);
  await pinned.bench.idle();
});

test('their signals still cancel them, and are let go of', async () => {
  const controller = new AbortController();
  const { bench, asked } = await partly({ signal: controller.signal });
  await turn();
  controller.abort();
  await bench.settled([...asked]);
  assert.deepEqual(
    asked.map(({ outcome }) => outcome),
    ['UNAVAILABLE', 'UNAVAILABLE', ...new Array<string>(6).fill('CANCELLED')],
  );
  assert.equal(getEventListeners(controller.signal, 'abort').length, 0);
  bench.echo();
  await bench.idle();
});

/** Requests whose lazy model was unloaded before it took them. It cannot be loaded again. */
async function unloaded(options: { readonly abortsInLoad: boolean }): Promise<{
  readonly outcomes: readonly unknown[];
  readonly loads: number;
}> {
  const bench = new Bench();
  bench.version.groupRoom = 3;
  const controller = new AbortController();
  let loads = 0;
  bench.version.reload = () => {
    loads++;
    if (options.abortsInLoad) controller.abort();
    return Promise.reject(new TritonError('INVALID_ARG', 'no weights', { model: 'fake' }));
  };
  bench.version.next = () => {
    throw new TritonError('UNAVAILABLE', 'unloaded', { model: 'fake' });
  };
  const asked = await bench.askMany(3, { signal: controller.signal });
  const [group] = bench.port.sent.splice(0);
  assert.ok(group);
  if (!options.abortsInLoad) controller.abort();
  bench.port.answer({ to: group, count: 3, code: 5, message: 'unloaded', unserved: true });
  await bench.settled(asked);
  await bench.idle();
  // An error of the load that nobody handled would fail the test by now.
  await turn();
  return { outcomes: asked.map(({ outcome }) => outcome), loads };
}

const allCancelled = ['CANCELLED', 'CANCELLED', 'CANCELLED'];

test('no load begins for requests of a lazy model that are all cancelled', async () => {
  assert.deepEqual(await unloaded({ abortsInLoad: false }), { outcomes: allCancelled, loads: 0 });
});

test('the error of a load that nobody waits for any more is handled', async () => {
  assert.deepEqual(await unloaded({ abortsInLoad: true }), { outcomes: allCancelled, loads: 1 });
});
