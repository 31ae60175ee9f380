/** The option `sequence` of requests, and how it reaches models. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createServer, type GivenModel, type InferenceServer, type InferOptions } from '../../src/index.js';
import { calling } from '../javascript/calls.js';
import { executing, script } from '../javascript/harness.js';
import { ensemble, identity, rejection, serve, thrown, until, type Context } from '../support/harness.js';
import { chunk, teller, tellerConfig, tellsSequence, toldIn } from '../support/sequences.js';

async function serving(
  t: Context,
  more: Readonly<Record<string, GivenModel>> = {},
): Promise<InferenceServer> {
  const server = await createServer({ models: { m: teller, ...more } });
  t.after(() => server.close({ timeoutMs: 0 }));
  return server;
}

test('a model receives the id and the flags as they were given', async (t) => {
  const server = await serving(t);
  const long = 'é'.repeat(64);
  for (const [sequence, told] of [
    [{ id: 5 }, ['5n', false, false]],
    [{ id: '5' }, ['5', false, false]],
    [{ id: 2 ** 53 - 1, start: true }, ['9007199254740991n', true, false]],
    [{ id: 2n ** 32n, end: true }, ['4294967296n', false, true]],
    [{ id: 2n ** 64n - 1n, start: true, end: true }, ['18446744073709551615n', true, true]],
    [{ id: long, start: true }, [long, true, false]],
    [{ id: 'a\0b' }, ['a\0b', false, false]],
    [{ id: 0, start: true }, ['0n', true, false]],
    [{ id: 0 }, null],
    [{ id: '', start: false, end: false }, null],
  ] as const) {
    for (const options of [{ sequence }, { sequence, id: 'r', priority: 1, parameters: { a: 'b' } }]) {
      assert.deepEqual(toldIn(await server.infer('m', chunk(1), options)), [1, told]);
    }
  }
  assert.deepEqual(toldIn(await server.infer('m', chunk(2))), [2, null]);
});

test('requests that are sent together each tell their own, also through an ensemble', async (t) => {
  const io = {
    inputs: [{ name: 'x', dims: [1] }],
    outputs: [{ name: 'y', datatype: 'BYTES', dims: [1] }],
    maxBatchSize: 64,
  } as const;
  const server = await serve(t, {
    batched: script(executing(tellsSequence), io),
    both: ensemble([{ model: 'batched', from: { x: 'x' }, to: { y: 'y' } }], io),
  });
  const ids = Array.from({ length: 600 }, (_, i) => (i % 3 === 0 ? `text ${'é'.repeat(i % 50)}${i}` : i + 1));
  for (const model of ['batched', 'both']) {
    for (let round = 0; round < 3; round++) {
      const aborted = new AbortController();
      const asked = ids.map((id, i) => {
        const signal = i % 7 === 3 ? aborted.signal : undefined;
        const sequence = { id, start: i % 2 === 0, end: i % 5 === 0 };
        return server.infer(model, { x: [[i]] }, { sequence, signal }).then(toldIn, () => undefined);
      });
      // Those between the cancelled ones keep their own.
      if (round > 0) {
        queueMicrotask(() => {
          aborted.abort();
        });
      }
      for (const [i, told] of (await Promise.all(asked)).entries()) {
        if (i % 7 === 3 && round > 0) continue;
        const id = ids[i];
        const shown = typeof id === 'string' ? id : `${id ?? ''}n`;
        assert.deepEqual(told, [i, [shown, i % 2 === 0, i % 5 === 0]]);
      }
    }
  }
});

test('a wrong sequence is refused by name', async (t) => {
  const server = await serving(t);
  for (const [options, code, message] of [
    [
      { sequence: 5 },
      'INVALID_ARG',
      /model 'm': expected an object with an id for options.sequence but received 5/,
    ],
    [{ sequence: [5] }, 'INVALID_ARG', /options.sequence but received an array/],
    [{ sequence: {} }, 'INVALID_ARG', /for options.sequence.id but received undefined/],
    [{ sequence: { id: -1 } }, 'INVALID_ARG', /for options.sequence.id but received -1/],
    [{ sequence: { id: 0.5 } }, 'INVALID_ARG', /options.sequence.id but received 0.5/],
    [{ sequence: { id: 2 ** 53 } }, 'INVALID_ARG', /from 0 to 2\^53 - 1/],
    [{ sequence: { id: 2n ** 64n } }, 'INVALID_ARG', /from 0 to 2\^64 - 1/],
    [{ sequence: { id: -1n } }, 'INVALID_ARG', /options.sequence.id/],
    [{ sequence: { id: 'é'.repeat(64) + 'x' } }, 'UNSUPPORTED', /at most 128 bytes of UTF-8 .* received 129/],
    [
      { sequence: { id: 1, start: 1 } },
      'INVALID_ARG',
      /options.sequence.start but received 1 of type number/,
    ],
    [{ sequence: { id: 1, end: 'no' } }, 'INVALID_ARG', /true or false for options.sequence.end/],
    [
      { sequence: { id: 1, begin: true } },
      'INVALID_ARG',
      /unknown key 'begin' in options.sequence of model 'm'/,
    ],
    [
      { sequence_id: 1 },
      'INVALID_ARG',
      /unknown key 'sequence_id'.*: write sequence: \{ id, start, end \} instead$/,
    ],
    [{ sequenceStart: true }, 'INVALID_ARG', /write sequence: \{ id, start, end \} instead$/],
  ] as const) {
    // JavaScript programs may pass such values.
    const given = options as unknown as InferOptions;
    const error = await rejection(server.infer('m', chunk(1), given));
    assert.equal(error.code, code, error.message);
    assert.match(error.message, message);
    if ('sequence' in options) {
      assert.equal(thrown(() => server.model('m').map([chunk(1)], given)).code, code);
      assert.equal((await rejection(server.stream('m', chunk(1), given).next())).code, code);
    }
  }
});

test('requests of a sequence come in their order, also where all of them say the same', async (t) => {
  const server = await serving(t);
  const same: InferOptions = { sequence: { id: 'a' } };
  const asked = Array.from({ length: 200 }, (_, i) => {
    if (i % 7 === 0) return server.infer('m', chunk(i));
    // Some inputs are too large for a slab.
    const x = new Float32Array(i % 5 === 0 ? 40_000 : 1).fill(i);
    return server.infer('m', { x }, i % 3 === 0 ? { sequence: { id: i } } : same);
  });
  for (const [i, one] of (await Promise.all(asked)).entries()) {
    const id = i % 3 === 0 ? `${i}n` : 'a';
    assert.deepEqual(toldIn(one), [i, i % 7 === 0 ? null : [id, false, false]]);
  }
});

test('the first item of a map starts the sequence, and the last one ends it', async (t) => {
  const server = await serving(t);
  const items = [chunk(0), chunk(1), chunk(2)];
  const told = async (
    options: Parameters<ReturnType<InferenceServer['model']>['map']>[1],
    count = 3,
  ): Promise<unknown[]> => {
    const all: unknown[] = [];
    for await (const result of server.model('m').map(items.slice(0, count), options)) {
      all.push(toldIn(result as Parameters<typeof toldIn>[0]));
    }
    return all;
  };
  assert.deepEqual(await told({ sequence: { id: 7, start: true, end: true }, concurrency: 64 }), [
    [0, ['7n', true, false]],
    [1, ['7n', false, false]],
    [2, ['7n', false, true]],
  ]);
  assert.deepEqual(await told({ sequence: { id: 7, start: true, end: true } }, 1), [[0, ['7n', true, true]]]);
  assert.deepEqual(await told({ sequence: { id: 7, start: true, end: true } }, 0), []);
  assert.deepEqual(
    await told({ sequence: { id: 7 } }),
    [0, 1, 2].map((i) => [i, ['7n', false, false]]),
  );
  assert.deepEqual(await told({ sequence: { id: 7, end: true } }), [
    [0, ['7n', false, false]],
    [1, ['7n', false, false]],
    [2, ['7n', false, true]],
  ]);
  // An item that cannot be sent does not start it.
  async function* wrongFirst(): AsyncGenerator<{ readonly x: Float32Array }> {
    yield { z: new Float32Array(1) } as unknown as { readonly x: Float32Array };
    await Promise.resolve();
    yield* items;
  }
  const outcomes: unknown[] = [];
  const options = { sequence: { id: 'b', start: true }, onError: 'yield', withItem: true } as const;
  for await (const { item, result, error } of server.model('m').map(wrongFirst(), options)) {
    outcomes.push(error ? [error.code, Object.keys(item ?? {})] : toldIn(result));
  }
  assert.deepEqual(outcomes, [
    ['INVALID_ARG', ['z']],
    [0, ['b', true, false]],
    [1, ['b', false, false]],
    [2, ['b', false, false]],
  ]);
});

test('a map keeps the order of a sequence where the server has too much in flight', async (t) => {
  const server = await createServer({ models: { m: teller }, maxInFlightBytes: 2 ** 20 });
  t.after(() => server.close({ timeoutMs: 0 }));
  const others = Array.from({ length: 40 }, () =>
    server.infer('m', { x: new Float32Array(60_000) }).catch((error: unknown) => error),
  );
  const items = Array.from({ length: 30 }, (_, i) => ({ x: new Float32Array(30_000).fill(i) }));
  let count = 0;
  for await (const result of server.model('m').map(items, { sequence: { id: 1, start: true, end: true } })) {
    assert.deepEqual(toldIn(result), [count, ['1n', count === 0, count === 29]]);
    count++;
  }
  assert.equal(count, 30);
  assert.ok(
    (await Promise.all(others)).some((one) => one instanceof Error),
    'nothing was too much',
  );
});

test('an ensemble passes it on to its steps, and a model that calls another one does so only if told', async (t) => {
  const io = {
    inputs: [{ name: 'x', dims: [-1] }],
    outputs: [{ name: 'y', datatype: 'BYTES', dims: [1] }],
  } as const;
  const server = await serve(t, {
    m: script(executing(tellsSequence), io),
    both: ensemble([{ model: 'm', from: { x: 'x' }, to: { y: 'y' } }], io),
    caller: script(
      calling(`const [x] = request.inputs.x.data;
        const own = x > 1 ? { sequence: request.sequence } : {};
        const { outputs } = await server.infer('m', { x: request.inputs.x }, { parent: request, ...own });
        return { y: outputs.y };`),
      io,
    ),
  });
  const sequence = { id: 'ü', start: true };
  const told = async (model: string, x: number): Promise<unknown> =>
    toldIn(await server.infer(model, { x: [[x]] }, { sequence }));
  assert.deepEqual(await told('m', 1), [1, ['ü', true, false]]);
  assert.deepEqual(await told('both', 1), [1, ['ü', true, false]]);
  assert.deepEqual(await told('caller', 1), [1, null]);
  assert.deepEqual(await told('caller', 2), [2, ['ü', true, false]]);
});

test('a request that is refused leaves those that were sent with it', async (t) => {
  const server = await serving(t, {
    sum: {
      ...teller,
      config: {
        ...tellerConfig,
        sequence_batching: { direct: {}, max_sequence_idle_microseconds: 60_000_000 },
      },
    },
  });
  const asked = Array.from({ length: 64 }, async (_, i) => {
    const sequence = { id: i + 1, start: i % 4 !== 1, end: true };
    return toldIn(await server.infer('sum', chunk(i), { sequence }))[0];
  });
  for (const [i, outcome] of (await Promise.allSettled(asked)).entries()) {
    assert.equal(outcome.status, i % 4 === 1 ? 'rejected' : 'fulfilled', `request ${i}`);
  }
});

test('a sequence that waits for a slot holds no other one, also behind nested ensembles', async (t) => {
  const io = {
    inputs: [{ name: 'x', dims: [1] }],
    outputs: [{ name: 'y', dims: [1] }],
    maxBatchSize: 8,
  } as const;
  const step = (
    model: string,
    x: string,
    y: string,
  ): { model: string; from: { x: string }; to: { y: string } } => ({ model, from: { x }, to: { y } });
  const more =
    'sequence_batching { oldest { max_candidate_sequences: 3 } max_sequence_idle_microseconds: 60000000 }';
  const returns = 'return requests.map(({ inputs }) => ({ y: inputs.x }));';
  const server = await serve(t, {
    seq: script(executing(returns), { ...io, batching: false, more }),
    plain: identity({ ...io }),
    inner: ensemble([step('seq', 'x', 'y')], io),
    outer: ensemble([step('inner', 'x', 'a'), step('plain', 'a', 'y')], io),
  });
  const answered = new Set<number>();
  const send = async (i: number, flags: object): Promise<void> => {
    await server.infer('outer', { x: [[i]] }, { sequence: { id: i + 1, ...flags } });
  };
  const asked = Array.from({ length: 16 }, async (_, i) => {
    await send(i, { start: true });
    answered.add(i);
    await send(i, { end: true });
  });
  await until(() => answered.size >= 3);
  await Promise.all(asked);
});
