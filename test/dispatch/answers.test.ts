/** Responses: their recipients, order and turns, and the life of their pages. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { pageBytes } from '../../src/addon/layout.js';
import { TritonError } from '../../src/index.js';
import { Bench } from './harness.js';
import { setEnvironment } from '../support/environment.js';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

const floats = (count: number, first = 0): number[][] => Array.from({ length: count }, (_, i) => [first + i]);

test('answers out of order go to their own requests', async () => {
  const bench = new Bench();
  const asked = await bench.askMany(15);
  for (const to of bench.port.sent.splice(0).reverse()) {
    for (let first = to.count - 1; first >= 0; first--) {
      const own = to.inputs[0]?.floats[first] ?? [];
      bench.port.answer({ to, first, outputs: [{ index: 0, floats: [own] }] });
    }
  }
  await bench.settled(asked);
  assert.deepEqual(
    asked.map(({ outcome }) => outcome),
    floats(15),
  );
  await bench.idle();
});

test('of several responses the first is the answer, and the final one frees the slot', async () => {
  const bench = new Bench();
  const asked = bench.ask([1]);
  await turn();
  const [to] = bench.port.sent.splice(0);
  assert.ok(to);
  const response = (value: number, final: boolean) => ({
    to,
    final,
    outputs: [{ index: 0, floats: [[value]] }],
  });
  bench.port.answer(response(10, false), response(11, false));
  assert.deepEqual(asked.outcome, [10]);
  const next = bench.ask([2]);
  await turn();
  assert.notEqual(bench.port.sent[0]?.slot, to.slot);
  bench.port.answer(response(12, true));
  await turn();
  bench.ask([3]);
  await turn();
  assert.equal(bench.port.sent[1]?.slot, to.slot);
  // This response belongs to another use of the slot.
  bench.port.answer(response(13, true));
  bench.echo();
  await bench.settled([next]);
  assert.deepEqual(next.outcome, [2]);
  await bench.idle();
});

test('an answer with an id, outputs in any order, and an array of the caller', async () => {
  const bench = new Bench();
  const y0 = new Float32Array(2);
  const asked = bench.ask([1], { id: 'mine', into: [y0] });
  await turn();
  const [to] = bench.port.sent.splice(0);
  assert.ok(to);
  bench.port.answer({
    to,
    outputs: [
      { index: 1, floats: [[3]] },
      { index: 0, floats: [[1, 2]] },
    ],
  });
  const value = asked.value as Record<string, unknown>;
  assert.deepEqual([value['id'], value['y0'], value['y1']], ['mine', Float32Array.of(1, 2), [3]]);
  assert.equal(value['y0'], y0);
  assert.deepEqual(
    Object.keys(value).filter((key) => key.startsWith('y')),
    ['y0', 'y1'],
  );
});

test('large outputs are taken once, also where nobody wants their request any more', async () => {
  const bench = new Bench();
  const asked = bench.ask([1]);
  const controller = new AbortController();
  const gone = bench.ask([1, 2], { signal: controller.signal });
  await turn();
  const [one, two] = bench.port.sent.splice(0);
  assert.ok(one && two);
  controller.abort();
  const large = [{ index: 0, floats: [[8, 9]], large: true }];
  bench.port.answer({ to: one, outputs: large }, { to: two, outputs: large });
  assert.deepEqual([asked.outcome, gone.outcome], [[8, 9], 'CANCELLED']);
});

test('an error names the model and the request, and says when there is too much in flight', async () => {
  const bench = new Bench();
  bench.version.groupRoom = 4;
  const asked = [bench.ask([1]), bench.ask([2], { id: 'b' })];
  await turn();
  const [to] = bench.port.sent.splice(0);
  assert.ok(to);
  bench.port.answer({ to, count: 2, code: 5, message: 'full', limited: true });
  assert.deepEqual(
    asked.map(({ error }) => error instanceof TritonError && [error.code, error.model, error.message]),
    [
      ['UNAVAILABLE', 'fake', 'full'],
      ['UNAVAILABLE', 'fake', '[request id: b] full'],
    ],
  );
});

test('at most 1,024 answers are delivered before the event loop has a turn', async () => {
  const bench = new Bench();
  bench.version.groupRoom = 1024;
  const asked = await bench.askMany(3000);
  const done = (): number => asked.filter(({ settled }) => settled).length;
  bench.port.answer(
    ...bench.port.sent
      .splice(0)
      .map((to) => ({ to, count: to.count, outputs: [{ index: 0, floats: floats(to.count) }] })),
  );
  let before = 0;
  for (let turns = 0; done() < 3000; turns++) {
    assert.ok(turns < 10_000);
    assert.ok(done() - before <= 1024);
    before = done();
    await turn();
  }
  await bench.idle();
});

test('a page comes back when it is read, and is seen anew if it was not kept', async () => {
  const bench = new Bench();
  const round = async (): Promise<void> => {
    const [asked] = await bench.askMany(1);
    bench.echo();
    await bench.idle();
    assert.deepEqual(asked?.outcome, [0]);
  };
  await round();
  await round();
  // Without shared memory, the memory of a page is never asked for.
  const seen = (...ids: number[]): number[] => (bench.port.external() ? ids : []);
  assert.deepEqual([bench.port.asked, bench.port.recycled], [seen(0), [0, 0]]);
  bench.port.keepsPages = false;
  await round();
  await round();
  assert.deepEqual([bench.port.asked, bench.port.recycled], [seen(0, 0), [0, 0, 0, 0]]);
});

for (const external of [true, false]) {
  test(`what a burst left is given back when nothing is in flight, ${external ? 'in place' : 'by copy'}`, async (t) => {
    setEnvironment(t, { TRITONTS_NO_EXTERNAL_BUFFERS: external ? '' : '1' });
    const bench = new Bench();
    // Each is a group of its own, with 4 KiB.
    const asked = Array.from({ length: 3000 }, (_, i) =>
      bench.ask(new Array<number>(1000 + (i % 2)).fill(i)),
    );
    await turn();
    assert.ok(bench.port.slabs.length > 4);
    const dropped = bench.port.slabs.slice(4).map((slab) => new WeakRef(slab));
    bench.echo();
    await bench.settled(asked);
    await bench.idle();
    assert.equal(bench.port.slabs.length, 4);
    assert.deepEqual(bench.port.asked, []);
    // No group refers to the views that it wrote to.
    await turn();
    collectGarbage();
    assert.equal(dropped.filter((slab) => slab.deref() !== undefined).length, 0);
    const [next] = await bench.askMany(1);
    bench.echo();
    await bench.settled(next ? [next] : []);
    assert.deepEqual(next?.outcome, [0]);
  });
}

test('where there is no memory for a copy of a page, its answers come all the same', async (t) => {
  setEnvironment(t, { TRITONTS_NO_EXTERNAL_BUFFERS: '1' });
  const bench = new Bench();
  bench.port.keepsPages = false;
  const round = async (): Promise<void> => {
    const asked = await bench.askMany(3);
    bench.echo();
    await bench.settled(asked);
    assert.deepEqual(
      asked.map(({ outcome }) => outcome),
      [[0], [1], [2]],
    );
  };
  await round();
  const { ArrayBuffer: real } = globalThis;
  t.after(() => (globalThis.ArrayBuffer = real));
  let made = 0;
  let refused = 0;
  globalThis.ArrayBuffer = new Proxy(real, {
    construct(target, [bytes]: [number], newTarget): object {
      // The port's own page comes first, and then the copy of it.
      if (bytes === pageBytes && ++made % 2 === 0) {
        refused++;
        throw new RangeError('Array buffer allocation failed');
      }
      return Reflect.construct(target, [bytes], newTarget) as object;
    },
  });
  await round();
  await round();
  assert.equal(refused, 2);
});

test('the epoch is acknowledged after the tick was flushed', () => {
  const bench = new Bench();
  bench.ask([1]);
  bench.port.epoch = 5;
  bench.port.onSubmit = () => {
    assert.equal(bench.port.acknowledged, 0);
    return 0;
  };
  bench.port.signal(0);
  assert.deepEqual([bench.port.submissions, bench.port.acknowledged], [1, 5]);
});

test('a closed port takes no more, and all that waits is rejected before detach() has ended', async () => {
  const bench = new Bench();
  bench.version.groupRoom = 1024;
  const sent = await bench.askMany(30_000);
  const late = bench.ask([1]);
  bench.port.closed = true;
  assert.equal(bench.connection.closed, true);
  const error = new TritonError('UNAVAILABLE', 'the server is closed');
  await bench.connection.detach(error);
  for (const { error: one } of [...sent, late]) assert.equal(one, error);
  assert.equal(bench.port.held, 0);
  assert.equal(bench.connection.epoch, -1);
  const { submissions } = bench.port;
  bench.port.signal(0);
  await turn();
  assert.equal(bench.port.submissions, submissions);
  await bench.idle();
});

test('the event loop is held while somebody waits, and not for those nobody waits for', async () => {
  const bench = new Bench();
  const controller = new AbortController();
  bench.ask([1], { signal: controller.signal });
  await turn();
  assert.equal(bench.port.held, 1);
  controller.abort();
  assert.equal(bench.port.held, 0);
  let idle = false;
  const waiting = bench.connection.idle().then(() => (idle = true));
  assert.equal(bench.port.held, 1);
  await turn();
  assert.equal(idle, false);
  bench.echo();
  await waiting;
  assert.equal(bench.port.held, 0);
});
