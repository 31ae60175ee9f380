/** Nested calls: which waits are allowed, and which are refused. */

// Long: it waits for limits of time.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createServer } from '../../src/index.js';
import type { ModelRequest, Results } from '../../src/javascript/index.js';
import { chain, ensemble, floats, onnx, rejection, row, serve, turn, until } from '../support/harness.js';
import type { RepositoryModel } from '../support/repository.js';
import { callOf, calling } from './calls.js';
import { adds, executing, script } from './harness.js';

const withParent = 'parent: request';

/** A model that calls another for each of its requests. */
const caller = (
  model: string,
  options: Parameters<typeof script>[1] = {},
  parent = withParent,
): RepositoryModel => script(calling(callOf(model, parent)), { batching: false, ...options });

/** Statements that call a model with the first number decremented, until it is 0. */
const counting = (model: string, how = withParent): string => `
  const x = request.inputs.x.data.slice();
  if (x[0] === 0) return { y: request.inputs.x };
  x[0]--;
  return { y: (await server.infer('${model}', { x }, { ${how} })).outputs.y };`;

for (const [how, options] of [
  ['with a parent', withParent],
  ['without one, which is the only batch', ''],
] as const) {
  void test(`a call of a model to itself, ${how}, rejects at once`, async (t) => {
    const server = await serve(t, { a: caller('a', {}, options) });
    const error = await rejection(server.infer('a', { x: row() }));
    assert.equal(error.code, 'UNAVAILABLE');
    assert.match(error.message, /could answer only after a request that waits for this call: a → a$/);
    assert.equal((await rejection(server.infer('a', { x: row() }))).code, 'UNAVAILABLE');
  });
}

void test('a circle of two models, and one through an ensemble, is found', async (t) => {
  const server = await serve(t, {
    a: caller('b'),
    b: caller('a'),
    plus: onnx(),
    c: caller('e'),
    e: ensemble(chain(['plus', 'f'])),
    f: ensemble(chain(['c', 'plus'])),
  });
  const error = await rejection(server.infer('a', { x: row() }));
  assert.equal(error.code, 'UNAVAILABLE');
  assert.match(error.message, /: a → b → a$/);
  for (const first of ['c', 'e', 'f']) {
    const through = await rejection(server.infer(first, { x: row() }));
    assert.equal(through.code, 'UNAVAILABLE');
    assert.match(through.message, /: c → e → f → c$/);
  }
});

void test('an instance that is free answers a call of another one', async (t) => {
  const server = await serve(t, {
    a: script(calling(counting('a')), { instances: 2, batching: false }),
    b: script(calling(counting('b')), { batching: false, parameters: { max_concurrency: 3 } }),
  });
  for (const [model, most] of [
    ['a', 1],
    ['b', 2],
  ] as const) {
    const result = await server.infer(model, { x: row(most) });
    assert.equal(floats(result)[0], 0);
    const error = await rejection(server.infer(model, { x: row(most + 1) }));
    assert.equal(error.code, 'UNAVAILABLE');
    assert.ok(error.message.endsWith(Array.from({ length: most + 2 }, () => model).join(' → ')));
  }
});

void test('requests that hold each other up without a common chain do not hang', async (t) => {
  const server = await serve(t, { a: script(calling(counting('a')), { instances: 2, batching: false }) });
  const outcomes = await Promise.allSettled(
    Array.from({ length: 40 }, () => server.infer('a', { x: row(1) })),
  );
  const reasons = outcomes.flatMap((one) => (one.status === 'rejected' ? [String(one.reason)] : []));
  for (const reason of reasons) assert.match(reason, /could answer only after .*: a → a/);
  assert.ok(reasons.length < 40);
  assert.equal(floats(await server.infer('a', { x: row(1) }))[0], 0);
});

void test('a step with max_inflight_requests is no bound for calls, which could wait for themselves', async (t) => {
  const server = await serve(t, {
    a: script(calling(counting('e')), { instances: 3, batching: false }),
    e: ensemble(chain(['a']), { maxInflight: 1 }),
  });
  assert.equal(floats(await server.infer('e', { x: row(2) }))[0], 0);
});

void test('at most 32 calls are within each other', async (t) => {
  const server = await serve(t, {
    a: script(calling(counting('a')), { batching: false, parameters: { max_concurrency: 64 } }),
  });
  assert.equal(floats(await server.infer('a', { x: row(32) }))[0], 0);
  const error = await rejection(server.infer('a', { x: row(33) }));
  assert.equal(error.code, 'INVALID_ARG');
  assert.match(error.message, /at most 32 calls within each other, and this is one more: a → a → /);
});

void test('a caller that gives up cancels the calls that are made for it', async (t) => {
  const server = await serve(t, {
    never: script(executing('return new Promise(() => undefined);')),
    b: caller('never'),
    a: script(
      calling(`globalThis.seen = await server.infer('b', { x: request.inputs.x }, { ${withParent} }).catch(({ code }) => code);
        return { y: request.inputs.x };`),
    ),
  });
  const asked = [
    server.infer('a', { x: row() }, { signal: AbortSignal.timeout(30) }),
    server.infer('b', { x: row() }, { signal: AbortSignal.timeout(30) }),
  ];
  for (const one of asked) assert.equal((await rejection(one)).code, 'CANCELLED');
  // Both instances of the callers are free again.
  await until(() => {
    const stats = ['a', 'b'].map((name) => server.model(name).statistics().inference_stats);
    return stats.every(({ success, fail }) => success.count + fail.count > 0);
  });
});

void test('a parent is a request that runs in this thread', async (t) => {
  const server = await serve(t, {
    b: script(executing(adds)),
    a: script(
      calling(`
        if (this.last === undefined) { this.last = request; return { y: request.inputs.x }; }
        const codes = [];
        for (const parent of [this.last, {}, 'no'])
          codes.push(await server.infer('b', { x: request.inputs.x }, { parent }).catch(({ code, message }) => code + ' ' + message));
        throw new Error(codes.join('; '));`),
    ),
  });
  await server.infer('a', { x: row() });
  const { message } = await rejection(server.infer('a', { x: row() }));
  assert.match(
    message,
    /CANCELLED .*has ended; INVALID_ARG .*expected a request that execute got.*; INVALID_ARG/,
  );
});

void test('a request whose stream has ended is no parent, and one whose stream goes on is', async (t) => {
  const text = `
    let ended;
    export default class {
      initialize({ server }) { this.server = server; }
      execute(requests) { return requests.map((request) => this.stream(request)); }
      async *stream(request) {
        const ask = (parent) => this.server.infer('b', { x: request.inputs.x }, { parent })
          .then(({ outputs }) => outputs.y.data[0], ({ code, message }) => code + ' ' + message);
        // Of this stream: its execute has returned, but it goes on.
        const own = await ask(request);
        if (typeof own !== 'number') throw new Error(own);
        yield { y: new Float32Array(16).fill(own) };
        if (ended !== undefined) throw new Error(await ask(ended));
        ended = request;
      }
    }`;
  const more = 'model_transaction_policy { decoupled: true }';
  const server = await serve(t, {
    b: script(executing(adds)),
    a: script(text, { batching: false, maxBatchSize: 1, more }),
  });
  const read = async (): Promise<{ values: number[]; error: Error | undefined }> => {
    const values: number[] = [];
    try {
      for await (const result of server.stream('a', { x: row(4) })) values.push(floats(result)[0] ?? -1);
    } catch (error) {
      return { values, error: error instanceof Error ? error : undefined };
    }
    return { values, error: undefined };
  };
  assert.deepEqual(await read(), { values: [5], error: undefined });
  const { values, error } = await read();
  assert.deepEqual(values, [5]);
  assert.match(error?.message ?? '', /CANCELLED .*has ended/);
});

void test('map and stream take a parent, and models of the program do', async () => {
  const tensors = (name: string) => [{ name, data_type: 'TYPE_FP32', dims: [16] }] as const;
  const config = { max_batch_size: 4, input: tensors('x'), output: tensors('y') };
  const own = await createServer({
    models: {
      self: {
        config,
        execute: (requests): Promise<Results> => Promise.all(requests.map((request) => tell(request))),
      },
    },
  });
  const tell = async (parent: ModelRequest): Promise<Error> => {
    const x = parent.inputs['x'];
    const codes: string[] = [];
    const note = (error: unknown): void => {
      codes.push(error instanceof Error ? error.message : '');
    };
    await own.infer('self', { x }, { parent }).catch(note);
    await own.stream('self', { x }, { parent }).next().catch(note);
    await own.model('self').map([{ x }], { parent }).next().catch(note);
    return new Error(codes.join('; '));
  };
  const { message } = await rejection(own.infer('self', { x: row() }));
  assert.equal(message.match(/self → self/g)?.length, 3);
  await own.close();
});

void test('the death of a thread and a close find calls within calls, and end', async (t) => {
  const server = await serve(t, {
    never: script(executing('return new Promise(() => undefined);'), { instances: 2 }),
    b: caller('never'),
    a: script(calling(`setTimeout(() => process.exit(3), 20); ${callOf('b', withParent)}`), {
      batching: false,
    }),
    c: caller('never'),
  });
  const died = await rejection(server.infer('a', { x: row() }));
  assert.equal(died.code, 'UNAVAILABLE');
  const asked = rejection(server.infer('c', { x: row() }));
  await turn();
  await server.close({ timeoutMs: 50 });
  assert.match((await asked).code, /^(CANCELLED|UNAVAILABLE)$/);
});

void test('random graphs of calls never hang', async (t) => {
  let state = 20_261_123;
  const random = (below: number): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
  for (let round = 0; round < 3; round++) {
    const names = ['m0', 'm1', 'm2', 'm3', 'm4'];
    const targets = [...names, 'e0', 'e1', 'plus'];
    const models: Record<string, RepositoryModel> = { plus: onnx() };
    for (const name of names) {
      const called = Array.from({ length: 1 + random(3) }, () => targets[random(targets.length)] ?? 'plus');
      const together = random(2) === 0;
      const calls = called
        .map((to) => `() => server.infer('${to}', { x: request.inputs.x }, { ${withParent} })`)
        .join(', ');
      // Some requests call, others answer.
      models[name] = script(
        calling(`
          if (Math.random() < 0.4) return { y: request.inputs.x };
          const calls = [${calls}];
          ${together ? 'await Promise.all(calls.map((call) => call()));' : 'for (const call of calls) await call();'}
          return { y: request.inputs.x };`),
        {
          instances: 1 + random(2),
          batching: random(2) === 0 ? '' : false,
          parameters: { max_concurrency: 1 + random(3) },
        },
      );
    }
    for (const name of ['e0', 'e1']) {
      const steps = [names[random(5)] ?? 'm0', 'plus', names[random(5)] ?? 'm1'];
      models[name] = ensemble(chain(steps), random(2) === 0 ? {} : { maxInflight: 1 + random(3) });
    }
    const server = await serve(t, models);
    const outcomes = await Promise.allSettled(
      Array.from({ length: 150 }, async (_, i) => {
        if (i % 10 === 0) await turn();
        return server.infer(targets[random(targets.length)] ?? 'm0', { x: row(i) });
      }),
    );
    for (const one of outcomes) {
      if (one.status === 'fulfilled') continue;
      assert.match(String(one.reason), /could answer only after|calls within each other/);
    }
    // Afterwards models without calls are answered as before.
    await Promise.all(Array.from({ length: 10 }, () => server.infer('plus', { x: row() })));
    await server.close();
  }
});
