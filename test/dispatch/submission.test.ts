/** The records written for requests, and the cleanup after refused ones. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { Submission } from '../../src/dispatch/requests/submission.js';
import { EncodedInputs } from '../../src/tensor/encoded.js';
import { Asked, Bench, moreThanFits, type Options, usual } from './harness.js';

/** The groups as `length×count`, in the order in which they were sent. */
function sentOf({ port }: Bench): string[] {
  return port.sent.map(({ count, inputs }) => `${inputs[0]?.shape[1] ?? 0}×${count}`);
}

test('requests of a tick that differ in their bytes alone are one record, with all their bytes', async () => {
  const bench = new Bench();
  await bench.askMany(1);
  await bench.askMany(5);
  await bench.askMany(5);
  // There is room for as many as recent groups had: 1, then 1, 2 and 4, then the rest.
  assert.deepEqual(sentOf(bench), ['1×1', '1×1', '1×2', '1×2', '1×4', '1×1']);
  assert.equal(bench.port.submissions, 3);
  const two = bench.port.sent[2];
  assert.deepEqual(two?.inputs[0]?.floats, [[1], [2]]);
  assert.deepEqual([two.uid, two.rows, two.wanted], [7, 1, []]);
});

test('other shapes, outputs, inputs and versions are records of their own', async () => {
  const bench = new Bench();
  bench.version.groupRoom = 64;
  const asks: readonly (readonly [
    input: readonly number[],
    options?: Options,
    second?: readonly number[],
  ])[] = [
    [[1]],
    [[2], { id: 'one', ownOutputs: true }],
    [[1, 2]],
    [[3, 4]],
    [[5, 6], { wanted: [1, 0] }],
    [[7, 8], { wanted: [1, 0] }],
    [[9, 10], { pinned: true }],
    [[11, 12], {}, [13]],
  ];
  for (const [input, options, second] of asks) bench.ask(input, options, second);
  await turn();
  assert.deepEqual(sentOf(bench), ['1×2', '2×2', '2×2', '2×1', '2×1']);
  assert.deepEqual(
    bench.port.sent.map(({ wanted }) => wanted),
    [[], [], [1, 0], [], []],
  );
  const { inputs = [] } = bench.port.sent[4] ?? {};
  assert.deepEqual(
    inputs.map(({ index, shape, floats }) => [index, shape, floats]),
    [
      [0, [1, 2], [[11, 12]]],
      [1, [1, 1], [[13]]],
    ],
  );
});

test('the inputs of a version are let go of when the tick is over', async () => {
  const bench = new Bench();
  await bench.askMany(3);
  assert.equal(bench.version.released, 1);
});

test('large inputs are staged, one request a record', async () => {
  const bench = new Bench();
  const large = Array.from({ length: 1100 }, (_, i) => i);
  bench.ask(large);
  bench.ask(large, undefined, [5]);
  await turn();
  assert.deepEqual(
    bench.port.sent.map(({ inputs }) => inputs.map(({ staged, floats }) => [staged, floats[0]?.length])),
    [
      [[true, 1100]],
      [
        [true, 1100],
        [true, 1],
      ],
    ],
  );
  assert.equal(bench.port.blocks.size, 0);
});

test('what does not fit into one submission comes in several, in order', async () => {
  const bench = new Bench();
  for (let i = 0; i < moreThanFits; i++) bench.ask(new Array<number>(1 + (i % 2)).fill(i));
  await turn();
  assert.equal(bench.port.submissions, 2);
  assert.deepEqual(
    bench.port.sent.map(({ inputs }) => inputs[0]?.floats[0]?.[0]),
    Array.from({ length: moreThanFits }, (_, i) => i),
  );
});

test('a request that is too big for a record is refused, and keeps nothing', async () => {
  const bench = new Bench();
  const wanted = new Array<number>(70_000).fill(0);
  // The ranges of all these would need two slabs.
  for (let i = 0; i < 600; i++) {
    assert.throws(
      () => bench.ask(new Array<number>(1024).fill(i), { wanted }),
      /exceed the limit of a request/,
    );
  }
  bench.ask([1]);
  await turn();
  assert.deepEqual(sentOf(bench), ['1×1']);
  assert.equal(bench.port.slabs.length, 1);
  // No group is in use.
  assert.equal(bench.port.sent[0]?.slot, 0);
});

test('a first input that another thread has made longer meanwhile is refused, and keeps nothing', async () => {
  const bench = new Bench();
  const { connection, version } = bench;
  const grown = new EncodedInputs(2);
  // The array had four bytes when it was counted.
  grown.set(0, [1, 1], new Float32Array(64), 4);
  const asked = new Asked();
  assert.throws(() => {
    connection.send(version, grown, usual, asked, () => undefined);
  }, /fake.*enlarged/);
  // It must not wait for a flush, because none is scheduled.
  await connection.idle();
  const next = bench.ask([3]);
  await turn();
  assert.deepEqual(sentOf(bench), ['1×1']);
  bench.echo();
  assert.deepEqual([asked.settled, next.outcome], [false, [3]]);
});

test('what such an input came with is not that of the next request in its group', async () => {
  const bench = new Bench();
  const { connection, version } = bench;
  version.groupRoom = 8;
  const first = bench.ask([1]);
  const grown = new EncodedInputs(2);
  grown.set(0, [1, 1], new Float32Array(64), 4);
  const options = {
    ...usual,
    id: 'the id of a request that was not sent',
    signal: new AbortController().signal,
  };
  assert.throws(() => {
    connection.send(version, grown, options, new Asked(), () => undefined);
  }, /enlarged/);
  const next = bench.ask([3]);
  await turn();
  assert.deepEqual(sentOf(bench), ['1×2']);
  bench.echo();
  assert.deepEqual([first.outcome, next.outcome], [[1], [3]]);
  assert.equal((next.value as { readonly id: string }).id, '');
});

test('one that was made longer after its shape was found has that shape, and the next ones have their own bytes', async () => {
  const bench = new Bench();
  const { connection, version } = bench;
  version.groupRoom = 8;
  const shape = [1, 1];
  const send = (data: Float32Array): Asked => {
    const asked = new Asked();
    connection.send(version, new EncodedInputs(1, 4), usual, asked, () => undefined, shape, data);
    return asked;
  };
  // The array had one element when it was counted.
  const all = [send(new Float32Array([1, 8, 9])), send(new Float32Array([2])), send(new Float32Array([3]))];
  await turn();
  assert.deepEqual(sentOf(bench), ['1×3']);
  bench.echo();
  assert.deepEqual(
    all.map(({ outcome }) => outcome),
    [[1], [2], [3]],
  );
});

test('without memory a request is refused, and the next one is served', async () => {
  const bench = new Bench();
  bench.port.hasMemory = false;
  assert.throws(() => bench.ask([1]), { code: 'UNAVAILABLE' });
  assert.throws(() => bench.ask(new Array<number>(2000).fill(1)), { code: 'UNAVAILABLE' });
  await turn();
  assert.equal(bench.port.submissions, 0);
  bench.port.hasMemory = true;
  const asked = bench.ask([2]);
  await turn();
  bench.echo();
  assert.deepEqual(asked.outcome, [2]);
  await bench.idle();
});

test('when the slabs are used up, small inputs are staged', async () => {
  const bench = new Bench({ maxInFlightBytes: 1 });
  for (let i = 0; i < 300; i++) bench.ask(new Array<number>(1000 + (i % 2)).fill(i));
  await turn();
  assert.equal(bench.port.slabs.length, 1);
  assert.ok(bench.port.sent.some(({ inputs }) => inputs[0]?.staged === true));
  assert.deepEqual(
    bench.port.sent.map(({ inputs }) => inputs[0]?.floats[0]?.[0]),
    Array.from({ length: 300 }, (_, i) => i),
  );
});

test('where slabs are used up, free groups are not searched again and again', async (t) => {
  const bench = new Bench({ maxInFlightBytes: 1 });
  // First many free groups, then requests of other sizes that need all pieces of the slab.
  const asked = Array.from({ length: 2000 }, (_, i) => bench.ask(new Array<number>(1 + (i % 2)).fill(i)));
  await turn();
  bench.echo();
  await bench.settled(asked);
  for (let i = 0; i < 300; i++) bench.ask(new Array<number>(1000 + (i % 2)).fill(i));
  await turn();
  const free = t.mock.method(Submission.prototype, 'free');
  for (let i = 0; i < 100; i++) bench.ask(new Array<number>(1000 + (i % 2)).fill(i));
  // Each frees only what its own group has.
  assert.ok(free.mock.callCount() <= 200, `${free.mock.callCount()} calls`);
  await turn();
  assert.ok(bench.port.sent.at(-1)?.inputs[0]?.staged);
});

test('nothing that is refused by the engine stays staged', async () => {
  const bench = new Bench();
  bench.port.onSubmit = () => ({ code: 5, message: 'no memory for the request' });
  const asked = bench.ask(new Array<number>(2000).fill(1));
  await turn();
  assert.equal(asked.outcome, 'UNAVAILABLE');
  assert.equal(bench.port.blocks.size, 0);
  await bench.idle();
});
