/** Requests of one tick in different forms: each gets its own shapes and values, whatever the request before it was like. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { InferOptions, InferResult, Inputs } from '../../src/index.js';
import { identity, rejection, serve, until } from '../support/harness.js';

const two = identity({
  inputs: [
    { name: 'a', datatype: 'INT64', dims: [-1] },
    { name: 'b', datatype: 'INT64', dims: [-1] },
  ],
  outputs: [
    { name: 'c', datatype: 'INT64', dims: [-1] },
    { name: 'd', datatype: 'INT64', dims: [-1] },
  ],
});

const optional = identity({
  inputs: [
    { name: 'a', datatype: 'INT64', dims: [-1] },
    { name: 'b', datatype: 'INT64', dims: [-1], optional: true },
  ],
  outputs: [
    { name: 'c', datatype: 'INT64', dims: [-1] },
    { name: 'd', datatype: 'INT64', dims: [-1] },
  ],
});

const one = identity({ inputs: [{ name: 'x', dims: [-1] }], outputs: [{ name: 'y', dims: [-1] }] });

const longs = (...values: number[]): BigInt64Array => BigInt64Array.from(values, BigInt);

interface Seen {
  readonly shape: readonly number[];
  readonly data: readonly unknown[];
}

function seen(result: InferResult): Record<string, Seen> {
  return Object.fromEntries(
    Object.entries(result.outputs).map(([name, { shape, data }]) => [
      name,
      { shape: [...shape], data: [...data] },
    ]),
  );
}

const values = (...numbers: number[]): bigint[] => numbers.map(BigInt);

test('arrays with a shape and without one, of equal lengths, keep their own shapes', async (t) => {
  const server = await serve(t, { two });
  const shaped = { data: longs(1, 2, 3, 4), shape: [2, 2] };
  const bare = longs(5, 6, 7, 8);
  const forms: readonly Inputs[] = [
    { a: shaped, b: shaped },
    { a: bare, b: bare },
    { a: shaped, b: shaped },
    { a: bare, b: { data: bare, shape: [1, 4] } },
    { a: bare, b: bare },
    { b: longs(2, 2, 2, 2), a: bare },
    { a: bare, b: [[9, 9, 9, 9]] },
  ];
  const results = await Promise.all(forms.map((inputs) => server.infer('two', inputs)));
  const two4 = { shape: [2, 2], data: values(1, 2, 3, 4) };
  const one4 = { shape: [1, 4], data: values(5, 6, 7, 8) };
  assert.deepEqual(results.map(seen), [
    { c: two4, d: two4 },
    { c: one4, d: one4 },
    { c: two4, d: two4 },
    { c: one4, d: one4 },
    { c: one4, d: one4 },
    { c: one4, d: { shape: [1, 4], data: values(2, 2, 2, 2) } },
    { c: one4, d: { shape: [1, 4], data: values(9, 9, 9, 9) } },
  ]);
});

test('an input that is absent is not that of the request before', async (t) => {
  const server = await serve(t, { optional });
  const a = longs(1, 2);
  const b = longs(3, 4);
  const forms: readonly Inputs[] = [{ a, b }, { a }, { a, b }, { a }, { a, b: undefined }];
  const results = await Promise.allSettled(forms.map((inputs) => server.infer('optional', inputs)));
  const outcome = results.map((one) =>
    one.status === 'fulfilled' ? Object.keys(one.value.outputs) : one.status,
  );
  const single: unknown[] = [];
  for (const inputs of forms) {
    const [result] = await Promise.allSettled([server.infer('optional', inputs)]);
    single.push(result.status === 'fulfilled' ? Object.keys(result.value.outputs) : result.status);
  }
  assert.deepEqual(outcome, single);
});

test('lengths that change, wrong classes and wrong names are told apart', async (t) => {
  const server = await serve(t, { two });
  const good = longs(1, 2);
  const ask = (inputs: Inputs): Promise<InferResult> => server.infer('two', inputs);
  const first = ask({ a: good, b: good });
  const wrongClass = rejection(ask({ a: good, b: new Float32Array(2) }));
  const wrongName = rejection(ask({ a: good, x: good }));
  const missing = rejection(ask({ a: good }));
  const longer = ask({ a: longs(1, 2, 3), b: good });
  const empty = Promise.allSettled([ask({ a: good, b: new BigInt64Array(0) })]);
  const last = ask({ a: longs(7, 8), b: longs(9, 10) });
  assert.match((await wrongClass).message, /input 'b'.*BigInt64Array/);
  assert.match((await wrongName).message, /no input is named 'x'; missing 'b'/);
  assert.match((await missing).message, /missing 'b'/);
  assert.deepEqual(seen(await first)['d']?.data, values(1, 2));
  assert.deepEqual(seen(await longer)['c'], { shape: [1, 3], data: values(1, 2, 3) });
  await empty;
  assert.deepEqual(seen(await last), {
    c: { shape: [1, 2], data: values(7, 8) },
    d: { shape: [1, 2], data: values(9, 10) },
  });
});

test('getters of inputs that make requests of the same model', async (t) => {
  const server = await serve(t, { two, one });
  const inner: Promise<InferResult>[] = [];
  const within = (value: bigint): Inputs => ({
    a: longs(1, 1),
    get b() {
      inner.push(server.infer('two', { a: longs(50, 51), b: longs(52, 53) }));
      return new BigInt64Array(2).fill(value);
    },
  });
  const before = server.infer('two', { a: longs(0, 0), b: longs(0, 0) });
  const outer = [server.infer('two', within(7n)), server.infer('two', within(8n))];
  // An element of nested arrays whose getter makes a request with nested arrays.
  const row = [1, 2, 3];
  Object.defineProperty(row, 1, {
    get: () => {
      inner.push(server.infer('one', { x: [[60, 61, 62]] }));
      return 5;
    },
  });
  const nested = server.infer('one', { x: [row] });
  const next = server.infer('one', { x: [[9, 9, 9]] });
  assert.deepEqual(seen(await before)['d']?.data, values(0, 0));
  assert.deepEqual(
    (await Promise.all(outer)).map((result) => seen(result)['d']?.data),
    [values(7, 7), values(8, 8)],
  );
  assert.deepEqual(seen(await nested)['y']?.data, [1, 5, 3]);
  assert.deepEqual(seen(await next)['y']?.data, [9, 9, 9]);
  const answers = (await Promise.all(inner)).map((result) =>
    Object.values(seen(result)).map(({ data }) => data),
  );
  assert.deepEqual(answers, [
    [values(50, 51), values(52, 53)],
    [values(50, 51), values(52, 53)],
    [[60, 61, 62]],
  ]);
});

test('options of every kind of object, and signals that requests of a tick share', async (t) => {
  const server = await serve(t, { one });
  class Options {
    readonly #id: string;
    constructor(id: string) {
      this.#id = id;
    }
    get id(): string {
      return this.#id;
    }
  }
  const x = Float32Array.of(1, 2);
  const model = server.model('one');
  const ask = (options: InferOptions): Promise<InferResult> => model.infer({ x }, options);
  const bare = Object.assign(Object.create(null) as object, { id: 'bare' });
  const inherited = Object.create({ id: 'inherited' }) as object;
  const ids = await Promise.all([ask(new Options('own')), ask(bare), ask(inherited), ask({ id: 'plain' })]);
  assert.deepEqual(
    ids.map(({ id }) => id),
    ['own', 'bare', 'inherited', 'plain'],
  );
  const unknown = { signl: 1 } as InferOptions;
  assert.match(
    (await rejection(ask(unknown))).message,
    /unknown key 'signl' in infer options \(did you mean signal\?\)/,
  );
  const controllers = [new AbortController(), new AbortController()] as const;
  const [{ signal }, { signal: other }] = controllers;
  const mixed = [
    ask({ signal }),
    ask({ signal: other }),
    ask({ signal }),
    ask({}),
    ask({ signal, id: 'both' }),
  ];
  controllers[0].abort(new Error('enough'));
  const outcomes = (await Promise.allSettled(mixed)).map((result) =>
    result.status === 'fulfilled' ? result.value.id : String((result.reason as { code: unknown }).code),
  );
  assert.deepEqual(outcomes, ['CANCELLED', '', 'CANCELLED', '', 'CANCELLED']);
  const after = await rejection(ask({ signal }));
  assert.equal(after.code, 'CANCELLED');
});

test('a signal is not kept when its requests have been sent', async (t) => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const server = await serve(t, { one });
  const ask = async (): Promise<WeakRef<AbortSignal>> => {
    const { signal } = new AbortController();
    const model = server.model('one');
    await Promise.all([1, 2, 3].map((value) => model.infer({ x: Float32Array.of(value) }, { signal })));
    return new WeakRef(signal);
  };
  const signal = await ask();
  await until(() => {
    collect();
    return signal.deref() === undefined;
  });
});

test('a signal is not kept when its request was refused', async (t) => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const server = await serve(t, { one });
  const ask = async (): Promise<WeakRef<AbortSignal>> => {
    const { signal } = new AbortController();
    const wrong = rejection(server.model('one', { version: 7 }).infer({ x: [[1]] }, { signal }));
    assert.equal((await wrong).code, 'NOT_FOUND');
    return new WeakRef(signal);
  };
  const signal = await ask();
  await until(() => {
    collect();
    return signal.deref() === undefined;
  });
});

test('arrays are not taken for those with a shape whose getter made a request without one', async (t) => {
  const server = await serve(t, { two });
  const bare = { a: longs(1, 2, 3, 4), b: longs(1, 2, 3, 4) };
  const asked: Promise<InferResult>[] = [];
  const a = {
    get data() {
      asked.push(server.infer('two', bare));
      return longs(5, 6, 7, 8);
    },
    shape: [2, 2],
  };
  asked.push(server.infer('two', { a, b: { data: longs(5, 6, 7, 8), shape: [2, 2] } }));
  asked.push(server.infer('two', bare));
  const results = (await Promise.all(asked)).map(seen);
  assert.deepEqual(
    results.map(({ c, d }) => [c?.shape, d?.shape]),
    [
      [
        [1, 4],
        [1, 4],
      ],
      [
        [2, 2],
        [2, 2],
      ],
      [
        [1, 4],
        [1, 4],
      ],
    ],
  );
});
