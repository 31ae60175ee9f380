/** Decoupled models in JavaScript: the responses to a request. */

// Long: it moves much data.

import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { createServer, type ModelRequest } from '../../src/index.js';
import { row, rejection, serve, statisticsAfter } from '../support/harness.js';
import { numberOf, readAll, upTo } from '../streams/harness.js';
import { asking, counts, generating, streamingModule } from './decoupled.js';
import { executing, script } from './harness.js';

for (const kind of ['function*', 'async function*'] as const) {
  void suite(`the items of a ${kind} are the responses`, () => {
    test('none, one and many, in their order', async (t) => {
      const server = await serve(t, { m: generating(counts, kind) });
      for (const count of [0, 1, 15, 16, 17, 1000]) {
        assert.deepEqual(await readAll(server.stream('m', asking(count))), {
          numbers: upTo(count),
          error: undefined,
        });
      }
    });

    test('a throw in the midst comes behind them, and ends this request only', async (t) => {
      const body = `${counts} if (count % 2 === 1) throw new Error('odd');`;
      const server = await serve(t, { m: generating(body, kind) });
      const all = await Promise.all(upTo(8).map((count) => readAll(server.stream('m', asking(count)))));
      for (const [count, { numbers, error }] of all.entries()) {
        assert.deepEqual(numbers, upTo(count));
        if (count % 2 === 0) {
          assert.equal(error, undefined);
        } else {
          assert.equal(error?.code, 'INTERNAL');
          assert.equal(error.message, "model 'm': odd");
        }
      }
    });

    test('what is wrong with a response, or an Error in its place, ends the request by name', async (t) => {
      const body = `
        try {
          yield y(0);
          yield count === 1 ? { z: [[1]] } : count === 2 ? { y: ['a'] } : count === 3 ? 7 : new Error('a word');
        } finally { note(request, 'left'); }`;
      const server = await serve(t, { m: generating(body, kind) });
      const expected = [
        /no output is named 'z'/,
        /output 'y'/,
        /expected outputs by name/,
        /model 'm': a word/,
      ];
      for (const [i, message] of expected.entries()) {
        const parameters = { file: '/dev/null' };
        const { numbers, error } = await readAll(server.stream('m', asking(i + 1), { parameters }));
        assert.deepEqual(numbers, [0]);
        assert.equal(error?.code, 'INTERNAL');
        assert.match(error.message, message);
      }
      assert.deepEqual(
        (await readAll(server.stream('m', asking(0), { parameters: { file: '/dev/null' } }))).numbers,
        [0],
      );
    });

    test('large responses come whole, also from an array that the model uses again', async (t) => {
      const body = `
        const data = new Int32Array(200_000);
        for (let k = 0; k < count; k++) yield { y: { data: data.fill(k), shape: [1, data.length] } };`;
      const server = await serve(t, { m: generating(body, kind) });
      let next = 0;
      for await (const { outputs } of server.stream('m', asking(100))) {
        const { data } = outputs['y']?.as('INT32') ?? { data: [] };
        assert.equal(data.length, 200_000);
        assert.ok(data[0] === next && data.at(-1) === next);
        next++;
      }
      assert.equal(next, 100);
    });
  });
}

test('requests of a batch get streams, outputs and errors side by side', async (t) => {
  const body = `
    globalThis.most = Math.max(globalThis.most ?? 0, requests.length);
    return requests.map(({ inputs: { count: { data: [count] } } }) =>
      count === 0 ? { y: [[globalThis.most]] }
      : count === 1 ? new Error('one')
      : count === 2 ? [{ y: [[0]] }, { y: [[1]] }]
      : (function* () { for (let k = 0; k < count; k++) yield { y: [[k]] }; })());`;
  const server = await serve(t, { m: streamingModule(executing(body)) });
  await readAll(server.stream('m', asking(5)));
  const all = await Promise.all(upTo(8).map((count) => readAll(server.stream('m', asking(count)))));
  assert.deepEqual(all[0]?.numbers, [8]);
  assert.equal(all[1]?.error?.message, "model 'm': one");
  for (const count of [2, 3, 4, 5, 6, 7]) {
    assert.deepEqual(all[count], { numbers: upTo(count), error: undefined });
  }
  const { inference_stats: stats } = await statisticsAfter(server, 'm', 9);
  assert.equal(stats.success.count, 8);
  assert.equal(stats.fail.count, 1);
});

test('the signal of a request that has its response stays as it is while its batch goes on', async (t) => {
  const body = `
    const [first] = requests;
    if (first.inputs.count.data[0] === 9) return requests.map(() => ({ y: [[globalThis.aborted ?? 0]] }));
    return requests.map((request) => {
      request.signal.addEventListener('abort', () => { globalThis.aborted = 1; });
      const { data: [count] } = request.inputs.count;
      return count === 0 ? { y: [[0]] } : (async function* () {
        for (let k = 0; k < count; k++) { await new Promise((resolve) => setTimeout(resolve, 20)); yield { y: [[k]] }; }
      })();
    });`;
  const server = await serve(t, { m: streamingModule(executing(body)) });
  const all = await Promise.all([
    readAll(server.stream('m', asking(0))),
    readAll(server.stream('m', asking(4))),
  ]);
  assert.deepEqual(all[1], { numbers: upTo(4), error: undefined });
  assert.deepEqual((await readAll(server.stream('m', asking(9)))).numbers, [0]);
});

test('streams of a batch, and those of later batches, interleave', async (t) => {
  const body = `for (let k = 0; k < count; k++) { await sleep(1); yield y(k); }`;
  const server = await serve(t, { m: generating(body) });
  const ends: number[] = [];
  const read = async (count: number): Promise<void> => {
    assert.deepEqual((await readAll(server.stream('m', asking(count)))).numbers, upTo(count));
    ends.push(count);
  };
  // The first stream does not block the instance, which runs one batch at a time.
  const first = read(200);
  await readAll(server.stream('m', asking(1)));
  await Promise.all([first, read(3), read(30)]);
  assert.deepEqual(ends, [3, 30, 200]);
});

test('iterators of every form are streams', async (t) => {
  const body = `return requests.map(({ inputs: { count: { data: [form] } } }) => {
    const item = (k) => ({ done: k === 3, value: k === 3 ? undefined : { y: [[k]] } });
    let k = 0;
    switch (form) {
      case 0: return { [Symbol.asyncIterator]: () => ({ next: () => item(k++) }) };
      case 1: return { [Symbol.asyncIterator]: () => ({ next: async () => item(k++) }) };
      case 2: return { [Symbol.iterator]: () => ({ next: () => item(k++) }) };
      case 3: return new Set([0, 1, 2].map((k) => ({ y: [[k]] })));
      case 4: return { [Symbol.iterator]() { throw new Error('no start'); } };
      case 5: return { [Symbol.iterator]: () => 7 };
      case 6: return { [Symbol.asyncIterator]: () => ({ next: () => 7 }) };
      default: return { [Symbol.iterator]: () => ({ next: 7 }) };
    }
  });`;
  const server = await serve(t, { m: streamingModule(executing(body)) });
  for (const form of [0, 1, 2, 3]) {
    assert.deepEqual(await readAll(server.stream('m', asking(form))), {
      numbers: [0, 1, 2],
      error: undefined,
    });
  }
  const faults = [
    /model 'm': no start/,
    /returned no iterator/,
    /next\(\).*an object/,
    /model 'm'.*not a function/,
  ];
  for (const [i, message] of faults.entries()) {
    const { numbers, error } = await readAll(server.stream('m', asking(4 + i)));
    assert.deepEqual(numbers, []);
    assert.equal(error?.code, 'INTERNAL');
    assert.match(error.message, message);
  }
});

test('a model that is not decoupled may not return an iterable, and infer of one that is names stream', async (t) => {
  const body = `return requests.map(({ inputs }) => [{ y: inputs.x }]);`;
  const server = await serve(t, { m: script(executing(body)), d: generating(counts) });
  const error = await rejection(server.infer('m', { x: row(1) }));
  assert.equal(error.code, 'INTERNAL');
  assert.match(error.message, /model 'm'.*model_transaction_policy \{ decoupled: true \}/);
  const single = await rejection(server.infer('d', asking(1)));
  assert.equal(single.code, 'UNSUPPORTED');
  assert.match(single.message, /stream/);
});

test('a decoupled object of the program streams on this event loop', async (t) => {
  const left: number[] = [];
  const server = await createServer({
    models: {
      m: {
        config: {
          max_batch_size: 0,
          model_transaction_policy: { decoupled: true },
          input: [{ name: 'count', data_type: 'TYPE_INT32', dims: [1] }],
          output: [{ name: 'y', data_type: 'TYPE_INT32', dims: [1] }],
        },
        execute: (requests: readonly ModelRequest[]) =>
          requests.map(async function* ({ inputs, signal }) {
            const [count = 0] = inputs['count']?.as('INT32').data ?? [];
            try {
              for (let k = 0; k < count; k++) {
                if (k % 7 === 0) await new Promise(setImmediate);
                yield { y: [k] };
              }
            } finally {
              left.push(signal.aborted ? -count : count);
            }
          }),
      },
    },
  });
  t.after(() => server.close({ timeoutMs: 0 }));
  const count = (number: number): { count: Int32Array } => ({ count: Int32Array.of(number) });
  const all = await Promise.all([5, 50, 500].map((number) => readAll(server.stream('m', count(number)))));
  assert.deepEqual(
    all.map(({ numbers }) => numbers.length),
    [5, 50, 500],
  );
  for await (const result of server.stream('m', count(1000))) if (numberOf(result) === 20) break;
  await server.close();
  assert.deepEqual(left, [5, 50, 500, -1000]);
});

void suite('generators of a batch', () => {
  /** Streams of requests that are one batch. */
  const atOnce = async (server: Awaited<ReturnType<typeof serve>>, counts: readonly number[]) =>
    Promise.all(
      counts.map(async (count) => {
        const numbers: number[] = [];
        for await (const result of server.stream('m', asking(count))) numbers.push(numberOf(result));
        return { numbers, at: performance.now() };
      }),
    );

  test('each keeps its own asynchronous context', async (t) => {
    const text = `
      import { AsyncLocalStorage } from 'node:async_hooks';
      const store = new AsyncLocalStorage();
      async function* gen(count) {
        store.enterWith(count);
        for (let k = 0; k < 5; k++) { await null; yield { y: [[store.getStore()]] }; }
      }
      export default class {
        execute(requests) { return requests.map((request) => gen(request.inputs.count.data[0])); }
      }`;
    const server = await serve(t, { m: streamingModule(text) });
    const all = await atOnce(server, [7, 8, 9]);
    assert.deepEqual(
      all.map(({ numbers }) => numbers),
      [7, 8, 9].map((count) => Array.from({ length: 5 }, () => count)),
    );
  });

  test('one that computes does not hold back the responses of another one', async (t) => {
    const body = `
      if (count === 0) {
        const end = performance.now() + 1500;
        while (performance.now() < end) await null;
        return;
      }
      for (let k = 0; k < count; k++) { await null; yield y(k); }`;
    const server = await serve(t, { m: generating(body) });
    for (const counts of [
      [4, 0],
      [0, 4],
    ]) {
      const all = await atOnce(server, counts);
      const [four, none] = counts[0] === 4 ? all : all.toReversed();
      assert.ok(four !== undefined && none !== undefined);
      assert.deepEqual(four.numbers, upTo(4));
      assert.ok(four.at + 500 < none.at, `the responses came at ${four.at}, the others at ${none.at}`);
    }
  });
});
