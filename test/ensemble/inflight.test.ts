/** `max_inflight_requests` with decoupled steps. */

import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { Results } from '../../src/javascript/index.js';
import { ensemble, rejection, serve, until, type StepText } from '../support/harness.js';
import type { RepositoryModel } from '../support/repository.js';
import { asking, generating, streamingModule } from '../javascript/decoupled.js';
import { readAll, upTo } from '../streams/harness.js';

const one = { datatype: 'INT32', dims: [1] } as const;

/**
 * A decoupled model that counts to `count`, and tracks its concurrent requests. For 1000 it returns their maximum.
 */
const many = generating(
  `
  if (count === 1000) { yield y(globalThis.most ?? 0); return; }
  globalThis.now = (globalThis.now ?? 0) + 1;
  globalThis.most = Math.max(globalThis.most ?? 0, globalThis.now);
  try {
    for (let k = 0; k < count; k++) { await sleep(k % 3 === 0 ? 1 : 0); yield y(k); }
  } finally { globalThis.now--; }`,
  'async function*',
  { outputs: [{ name: 'y', ...one }] },
);

/** Doubles its input, slowly, and tracks the requests of its largest batch. For 1000 it returns that number. */
const twice: RepositoryModel = ((): RepositoryModel => {
  const { config = '', versions = {} } = streamingModule(
    `export default class {
      async execute(requests) {
        const counts = requests.map(({ inputs: { count } }) => count.data[0]);
        if (!counts.includes(1000)) globalThis.most = Math.max(globalThis.most ?? 0, requests.length);
        await new Promise((resolve) => setTimeout(resolve, 1));
        return counts.map((count) => ({ y: [[count === 1000 ? globalThis.most : 2 * count]] }));
      }
    }`,
    { outputs: [{ name: 'y', ...one }] },
  );
  return { config: config.replace(/model_transaction_policy .*/, ''), versions };
})();

const step = (model: string, from: string, to: string): StepText => ({
  model,
  from: { count: from },
  to: { y: to },
});

function graph(maxInflight: number): RepositoryModel {
  return ensemble([step('many', 'count', 'k'), step('twice', 'k', 'y')], {
    maxBatchSize: 8,
    inputs: [{ name: 'count', ...one }],
    outputs: [{ name: 'y', ...one }],
    maxInflight,
  });
}

void suite('max_inflight_requests with a decoupled step', () => {
  for (const limit of [1, 2, 3]) {
    test(`${limit}: that many of its responses are in the step behind it, and all streams come whole`, async (t) => {
      const server = await serve(t, { many, twice, e: graph(limit) });
      const all = await Promise.all(upTo(24).map((count) => readAll(server.stream('e', asking(count)))));
      for (const [count, { numbers, error }] of all.entries()) {
        assert.equal(error, undefined);
        assert.deepEqual(
          numbers,
          upTo(count).map((k) => 2 * k),
        );
      }
      // The limit does not hold for the decoupled step itself: its requests end when their responses were read.
      const [atOnce = 0] = (await readAll(server.stream('many', asking(1000)))).numbers;
      assert.ok(atOnce > limit);
      const { outputs } = await server.infer('twice', asking(1000));
      assert.ok((outputs['y']?.as('INT32').data[0] ?? Infinity) <= limit);
    });
  }

  test('a stream that nobody reads holds up no other one, also with one decoupled step behind another', async (t) => {
    const nested = ensemble([step('many', 'count', 'k'), step('many', 'k', 'j'), step('twice', 'j', 'y')], {
      maxBatchSize: 8,
      inputs: [{ name: 'count', ...one }],
      outputs: [{ name: 'y', ...one }],
      maxInflight: 1,
    });
    const server = await serve(t, { many, twice, e: graph(1), nested });
    for (const name of ['e', 'nested']) {
      const idle = server.stream(name, asking(900));
      assert.equal((await idle.next()).done, false);
      const controller = new AbortController();
      const all = upTo(10).map((i) =>
        readAll(server.stream(name, asking(4), i % 2 === 0 ? { signal: controller.signal } : {})),
      );
      controller.abort();
      const numbers = (name === 'e' ? upTo(4) : upTo(4).flatMap((k) => upTo(k))).map((k) => 2 * k);
      for (const [i, one] of all.entries()) {
        if (i % 2 === 0) assert.equal((await one).error?.code, 'CANCELLED');
        else assert.deepEqual(await one, { numbers, error: undefined });
      }
      await idle.return?.();
    }
  });
});

void test('close() ends requests that wait for a step whose model never answers', async (t) => {
  let began = 0;
  const config = {
    max_batch_size: 0,
    input: [{ name: 'count', data_type: 'TYPE_INT32', dims: [1] }],
    output: [{ name: 'y', data_type: 'TYPE_INT32', dims: [1] }],
  } as const;
  const execute = (): Promise<Results> => {
    began++;
    return new Promise<Results>(() => undefined);
  };
  const server = await serve(
    t,
    {
      e: ensemble([step('never', 'count', 'y')], {
        maxBatchSize: 0,
        inputs: [{ name: 'count', ...one }],
        outputs: [{ name: 'y', ...one }],
        maxInflight: 1,
      }),
    },
    { models: { never: { config, execute } } },
  );
  const asked = [0, 1, 2].map((count) => rejection(server.infer('e', { count: [count] })));
  await until(() => began === 1);
  await server.close({ timeoutMs: 50 });
  for (const { code } of await Promise.all(asked)) assert.equal(code, 'CANCELLED');
  assert.equal(began, 1);
});
