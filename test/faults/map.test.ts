import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Inputs, MapOutcome, MapResult } from '../../src/index.js';
import { floats, rejection, serve, thrown } from '../support/harness.js';
import { asking, faulty, type FaultName } from './harness.js';

/** One item for each fault. Its x begins with its index. */
function items(...faults: readonly FaultName[]): Inputs[] {
  return faults.map((fault, i) => asking(fault, i));
}

/** Index and first value of each result. */
function indexed({ index, result }: MapResult): [number, number] {
  return [index, floats(result)[0] ?? NaN];
}

const twoInstances = { faulty: faulty({ instances: 2, batching: false }) };

test('unordered, later items are yielded while an earlier one runs', async (t) => {
  const server = await serve(t, twoInstances);
  const seen: [number, number][] = [];
  const source = items('hangs_until_terminated', 'none', 'none', 'none', 'none');
  for await (const item of server.model('faulty').map(source, { ordered: false, concurrency: 3 })) {
    seen.push(indexed(item));
    // Leaving the loop ends the first one.
    if (seen.length === 4) break;
  }
  assert.deepEqual(
    seen.sort(([a], [b]) => a - b),
    [
      [1, 1],
      [2, 2],
      [3, 3],
      [4, 4],
    ],
  );
});

test('unordered, every item is yielded once, and then it ends', async (t) => {
  const server = await serve(t, twoInstances);
  const source = Array.from({ length: 300 }, (_, i) => asking('none', i));
  const seen: [number, number][] = [];
  for await (const item of server.model('faulty').map(source, { ordered: false })) seen.push(indexed(item));
  seen.sort(([a], [b]) => a - b);
  assert.deepEqual(
    seen,
    source.map((_, i) => [i, i]),
  );
});

test('unordered, the first error ends it', async (t) => {
  const server = await serve(t, twoInstances);
  const iterator = server
    .model('faulty')
    .map(items('hangs_until_terminated', 'fails'), { ordered: false, concurrency: 2 });
  assert.equal((await rejection(iterator.next())).code, 'INTERNAL');
  assert.deepEqual(await iterator.next(), { done: true, value: undefined });
});

test('unordered, an error of the source comes after the results of the items before it', async (t) => {
  const server = await serve(t, twoInstances);
  const fault = new Error('no more');
  function* source(): Generator<Inputs, void> {
    yield* items('none', 'none', 'none');
    throw fault;
  }
  const seen: number[] = [];
  const run = async (): Promise<void> => {
    const results = server.model('faulty').map(source(), { ordered: false, onError: 'yield' });
    for await (const { index } of results) seen.push(index);
  };
  await assert.rejects(run(), (error) => error === fault);
  assert.deepEqual(
    seen.sort((a, b) => a - b),
    [0, 1, 2],
  );
});

test('errors are yielded in order with their index, and the others go on', async (t) => {
  const server = await serve(t, { faulty: faulty({ batching: false }) });
  const outcomes: MapOutcome[] = [];
  const source = items('none', 'fails', 'none', 'fails');
  for await (const outcome of server.model('faulty').map(source, { onError: 'yield' }))
    outcomes.push(outcome);
  assert.deepEqual(
    outcomes.map(({ index, result, error }) => [index, result && floats(result)[0], error?.code]),
    [
      [0, 0, undefined],
      [1, undefined, 'INTERNAL'],
      [2, 2, undefined],
      [3, undefined, 'INTERNAL'],
    ],
  );
});

test('an item that does not fit is an error of its own', async (t) => {
  const server = await serve(t, { faulty: faulty() });
  const getter = {
    get x(): Float32Array {
      throw new RangeError('out of reach');
    },
  };
  const source = [{ z: new Float32Array(16) }, getter, asking('none', 2)];
  const outcomes: MapOutcome[] = [];
  for await (const outcome of server.model('faulty').map(source, { onError: 'yield' }))
    outcomes.push(outcome);
  assert.deepEqual(
    outcomes.map(({ index, error }) => [index, error?.code]),
    [
      [0, 'INVALID_ARG'],
      [1, 'INVALID_ARG'],
      [2, undefined],
    ],
  );
  assert.match(outcomes[1]?.error?.message ?? '', /^model 'faulty': item 1 cannot be read: out of reach$/);
  assert.ok(outcomes[1]?.error?.cause instanceof RangeError);
});

test('wrong values of ordered and onError are told', async (t) => {
  const server = await serve(t, { faulty: faulty() });
  const model = server.model('faulty');
  const wrong: unknown[] = [{ ordered: 1 }, { onError: 'ignore' }];
  for (const options of wrong) {
    const error = thrown(() => model.map([], options as { onError: 'yield' }));
    assert.match(error.message, /^expected (true or false for map options.ordered|'throw' or 'yield' for)/);
  }
});
