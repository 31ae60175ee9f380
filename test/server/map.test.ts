import assert from 'node:assert/strict';
import { AsyncLocalStorage } from 'node:async_hooks';
import { test } from 'node:test';
import type { Inputs, MapOptions, Model } from '../../src/index.js';
import {
  batchCountsAfter,
  floats,
  identity,
  onnx,
  rejection,
  row,
  serve,
  thrown,
} from '../support/harness.js';

/** Items whose x begins with 0, 1, 2 …, and the number of items that were read. */
class Items {
  pulled = 0;
  readonly #count: number;

  constructor(count: number) {
    this.#count = count;
  }

  *[Symbol.iterator](): Generator<Inputs, void> {
    while (this.pulled < this.#count) yield { x: row(this.pulled++) };
  }

  async *async(): AsyncGenerator<Inputs, void> {
    for (const item of this) {
      await Promise.resolve();
      yield item;
    }
  }
}

/** The first value of each answer. */
async function answers(
  model: Model,
  items: Iterable<Inputs> | AsyncIterable<Inputs>,
  options?: Omit<MapOptions, 'ordered' | 'onError' | 'withItem'>,
): Promise<number[]> {
  const list: number[] = [];
  for await (const result of model.map(items, options)) list.push(floats(result)[0] ?? NaN);
  return list;
}

function upTo(count: number, first = 0): number[] {
  return Array.from({ length: count }, (_, i) => first + i);
}

test('results come in the order of the items', async (t) => {
  const server = await serve(t, { add: onnx() });
  assert.deepEqual(await answers(server.model('add'), new Items(300)), upTo(300, 1));
});

test('the order holds where later items are done first', async (t) => {
  // Instance i takes about i times as long.
  const parameters = { execute_delay_ms: 1, instance_wise_delay_multiplier: 5 };
  const server = await serve(t, { uneven: identity({ instances: 4, batching: false, parameters }) });
  assert.deepEqual(await answers(server.model('uneven'), new Items(40)), upTo(40));
});

test('items may come from an async iterable', async (t) => {
  const server = await serve(t, { echo: identity() });
  assert.deepEqual(await answers(server.model('echo'), new Items(300).async()), upTo(300));
});

test('the items are asked for in the async context of whoever called map', async (t) => {
  const model = (await serve(t, { echo: identity() })).model('echo');
  const storage = new AsyncLocalStorage<string>();
  const seen = new Set<string | undefined>();
  function* items(): Generator<Inputs, void> {
    for (let i = 0; i < 1000; i++) {
      seen.add(storage.getStore());
      yield { x: row(i) };
    }
  }
  const mapped = storage.run('mapper', () => model.map(items(), { concurrency: 16 }));
  let over = false;
  const other = storage.run('other', async () => {
    while (!over) await model.infer({ x: row() });
  });
  let count = 0;
  for await (const result of mapped) count += result.id === '' ? 1 : 0;
  over = true;
  await other;
  assert.equal(count, 1000);
  assert.deepEqual([...seen], ['mapper']);
});

test('no items give no results', async (t) => {
  const server = await serve(t, { echo: identity() });
  assert.deepEqual(await answers(server.model('echo'), []), []);
  assert.deepEqual(await answers(server.model('echo'), new Items(0).async()), []);
});

test('ten thousand items are answered', async (t) => {
  const server = await serve(t, { echo: identity() });
  assert.deepEqual(await answers(server.model('echo'), new Items(10_000)), upTo(10_000));
});

test('by default two batches of every instance are in flight', async (t) => {
  const server = await serve(t, { echo: identity({ maxBatchSize: 8, instances: 2 }) });
  const items = new Items(1000);
  const iterator = server.model('echo').map(items);
  const first = iterator.next();
  assert.equal(items.pulled, 32);
  await first;
  await iterator.return?.();
});

test('what is in flight runs in full batches', async (t) => {
  const server = await serve(t, { echo: identity({ maxBatchSize: 8, delayMs: 1 }) });
  await answers(server.model('echo'), new Items(64), { concurrency: 16 });
  const counts = await batchCountsAfter(server, 'echo', 64);
  assert.ok((counts[8] ?? 0) >= 4, JSON.stringify(counts));
});

for (const concurrency of [1, 3]) {
  for (const kind of ['sync', 'async'] as const) {
    test(`a ${kind} source is read ${concurrency} ahead of its consumer at most`, async (t) => {
      const server = await serve(t, { echo: identity() });
      const items = new Items(20);
      let taken = 0;
      let ahead = 0;
      const source = kind === 'sync' ? items : items.async();
      for await (const result of server.model('echo').map(source, { concurrency })) {
        assert.equal(floats(result)[0], taken);
        await new Promise((resolve) => setTimeout(resolve, 1));
        taken++;
        ahead = Math.max(ahead, items.pulled - taken);
      }
      assert.equal(taken, 20);
      assert.ok(ahead <= concurrency, `${ahead} items ahead`);
    });

    test(`at most ${concurrency} items of a ${kind} source are in flight`, async (t) => {
      const server = await serve(t, { slow: identity({ delayMs: 2 }) });
      const items = new Items(8);
      const source = kind === 'sync' ? items : items.async();
      await answers(server.model('slow'), source, { concurrency });
      // Requests in flight at the same time run together here.
      const sizes = Object.keys(await batchCountsAfter(server, 'slow', 8)).map(Number);
      assert.ok(Math.max(...sizes) <= concurrency, `batches of ${sizes.join(', ')}`);
    });
  }
}

test('only the wanted outputs come', async (t) => {
  const tensors = [{ name: 'a' }, { name: 'b' }];
  const server = await serve(t, { echo: identity({ inputs: tensors, outputs: tensors }) });
  const items = [{ a: row(1), b: row(2) }];
  for await (const { outputs } of server.model('echo').map(items, { outputs: ['b'] })) {
    assert.deepEqual(Object.keys(outputs), ['b']);
  }
});

test('withItem gives each outcome its index and its item', async (t) => {
  const server = await serve(t, { add: onnx() });
  const model = server.model('add');
  const items = [1, 2, 3].map((value) => ({ x: row(value) }));
  const found: unknown[] = [];
  for (const ordered of [true, false]) {
    found.length = 0;
    for await (const { index, item, result } of model.map(items, { withItem: true, ordered })) {
      assert.equal(item, items[index]);
      assert.deepEqual(floats(result)[0], index + 2);
      found.push(index);
    }
    assert.deepEqual(found.sort(), [0, 1, 2]);
  }
  const wrong: Inputs[] = [{ x: row(1) }, { y: row(2) }];
  for await (const { index, item, error } of model.map(wrong, { withItem: true, onError: 'yield' })) {
    assert.equal(item, wrong[index]);
    assert.equal(error?.index, index === 1 ? 1 : undefined);
  }
});

test('next() may be called ahead of the answers', async (t) => {
  for (const kind of ['sync', 'async'] as const) {
    const server = await serve(t, { echo: identity({ delayMs: 1 }) });
    const source = kind === 'sync' ? new Items(5) : new Items(5).async();
    const iterator = server.model('echo').map(source, { concurrency: 2 });
    const steps = await Promise.all(upTo(7).map(() => iterator.next()));
    const values = steps.map((step) => (step.done === true ? undefined : floats(step.value)[0]));
    assert.deepEqual(values, [0, 1, 2, 3, 4, undefined, undefined]);
  }
});

test('a map is its own iterator, and stays at its end', async (t) => {
  const server = await serve(t, { echo: identity() });
  const iterator = server.model('echo').map(new Items(1));
  assert.equal(iterator[Symbol.asyncIterator](), iterator);
  await iterator.next();
  for (let i = 0; i < 2; i++) assert.deepEqual(await iterator.next(), { done: true, value: undefined });
});

test('a map goes on through a reload', async (t) => {
  const server = await serve(t, { echo: identity() }, { modelControlMode: 'explicit', loadModels: ['*'] });
  const values: number[] = [];
  for await (const result of server.model('echo').map(new Items(50), { concurrency: 4 })) {
    if (values.push(floats(result)[0] ?? NaN) !== 10) continue;
    await server.loadModel('echo');
  }
  assert.deepEqual(values, upTo(50));
});

test('wrong options throw', async (t) => {
  const server = await serve(t, { echo: identity() });
  const model = server.model('echo');
  const cases: readonly (readonly [unknown, RegExp])[] = [
    [5, /expected an object for map options/],
    [{ concurency: 5 }, /unknown key 'concurency' in map options \(did you mean concurrency\?\)/],
    [{ concurrency: 0 }, /an integer of at least 1 for map options\.concurrency but received 0/],
    [{ concurrency: '4' }, /map options\.concurrency but received/],
    [{ signal: {} }, /an AbortSignal/],
  ];
  for (const [options, message] of cases) {
    const error = thrown(() => model.map([], options as MapOptions));
    assert.equal(error.code, 'INVALID_ARG');
    assert.match(error.message, message);
  }
});

test('items that cannot be iterated throw', async (t) => {
  const server = await serve(t, { echo: identity() });
  for (const items of [undefined, null, 5, { x: row() }]) {
    const error = thrown(() => server.model('echo').map(items as unknown as Inputs[]));
    assert.equal(error.code, 'INVALID_ARG');
    assert.match(error.message, /model 'echo': map expected an iterable or async iterable of inputs/);
  }
});

test('wanted outputs that do not exist end it with INVALID_ARG', async (t) => {
  const server = await serve(t, { echo: identity() });
  const error = await rejection(answers(server.model('echo'), new Items(3), { outputs: ['z'] }));
  assert.equal(error.code, 'INVALID_ARG');
});
