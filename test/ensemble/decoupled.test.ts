/** Ensembles with decoupled steps: each response starts the following steps. */

import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { ensemble, rejection, serve, statisticsAfter, until, type StepText } from '../support/harness.js';
import type { RepositoryModel } from '../support/repository.js';
import { asking, counts, generating, streamingModule } from '../javascript/decoupled.js';
import { executing } from '../javascript/harness.js';
import { numberOf, readAll, upTo } from '../streams/harness.js';

const one = { datatype: 'INT32', dims: [1] } as const;

/** A model that is not decoupled: y is `f` of the value of its input `count`. */
function mapping(f: string, inputs = [{ name: 'count', ...one }]): RepositoryModel {
  const names = inputs.map(({ name }) => `${name}: { data: [${name}] }`).join(', ');
  const body = `return requests.map(({ inputs: { ${names} } }) => { const f = ${f}; return f instanceof Error ? f : { y: [[f]] }; });`;
  const { config = '', versions = {} } = streamingModule(executing(body), {
    inputs,
    outputs: [{ name: 'y', ...one }],
  });
  return { config: config.replace(/model_transaction_policy .*/, ''), versions };
}

/** A decoupled model of one value a response. */
const gives = (body: string, kind: 'function*' | 'async function*' = 'function*'): RepositoryModel =>
  generating(body, kind, { outputs: [{ name: 'y', ...one }] });

function graph(steps: readonly StepText[], outputs: readonly string[] = ['y']): RepositoryModel {
  return ensemble(steps, {
    maxBatchSize: 4,
    inputs: [{ name: 'count', ...one }],
    outputs: outputs.map((name) => ({ name, ...one })),
  });
}

const step = (model: string, from: string, to: string): StepText => ({
  model,
  from: { count: from },
  to: { y: to },
});

void suite('an ensemble with a decoupled step', () => {
  test('is decoupled, and responds to each of its responses, in their order', async (t) => {
    const server = await serve(t, {
      many: gives(counts),
      twice: mapping('2 * count'),
      e: graph([step('many', 'count', 'k'), step('twice', 'k', 'y')]),
    });
    const { config, notes } = server.model('e');
    assert.deepEqual(config.model_transaction_policy, { decoupled: true });
    assert.ok(notes.some((note) => note.startsWith('model_transaction_policy.decoupled: completed')));
    assert.equal((await rejection(server.infer('e', asking(1)))).code, 'UNSUPPORTED');
    for (const count of [0, 1, 16, 17, 500]) {
      const { numbers, error } = await readAll(server.stream('e', asking(count)));
      assert.equal(error, undefined);
      assert.deepEqual(
        numbers,
        upTo(count).map((k) => 2 * k),
      );
    }
    assert.equal((await statisticsAfter(server, 'e', 5)).inference_stats.success.count, 5);
  });

  test('takes what comes from before the step along, and outputs from there', async (t) => {
    const both = mapping('100 * a + k', [
      { name: 'a', ...one },
      { name: 'k', ...one },
    ]);
    const server = await serve(t, {
      many: gives(counts),
      twice: mapping('2 * count'),
      both,
      e: graph(
        [
          { model: 'both', from: { a: 'a', k: 'k' }, to: { y: 'y' } },
          step('twice', 'count', 'a'),
          step('many', 'count', 'k'),
        ],
        ['y', 'a'],
      ),
    });
    const seen: (readonly number[])[] = [];
    for await (const { outputs } of server.stream('e', asking(3))) {
      seen.push([outputs['y']?.as('INT32').data[0] ?? -1, outputs['a']?.as('INT32').data[0] ?? -1]);
    }
    assert.deepEqual(seen, [
      [600, 6],
      [601, 6],
      [602, 6],
    ]);
  });

  test('may have one behind another, and may be a step itself', async (t) => {
    const server = await serve(t, {
      many: gives(counts),
      twice: mapping('2 * count'),
      inner: graph([step('many', 'count', 'k'), step('many', 'k', 'j'), step('twice', 'j', 'y')]),
      e: graph([step('inner', 'count', 'i'), step('twice', 'i', 'y')]),
    });
    const expected = upTo(12).flatMap((k) => upTo(k).map((j) => 2 * j));
    assert.deepEqual(await readAll(server.stream('inner', asking(12))), {
      numbers: expected,
      error: undefined,
    });
    const outer = await readAll(server.stream('e', asking(12)));
    assert.deepEqual(
      outer.numbers,
      expected.map((k) => 2 * k),
    );
  });

  test('an error of the step, or behind it, comes after what came before it', async (t) => {
    const server = await serve(t, {
      many: gives(`${counts} if (count % 2 === 1) throw new Error('odd');`),
      fails: mapping(`count === 6 ? new Error('six') : count`),
      e: graph([step('many', 'count', 'k'), step('fails', 'k', 'y')]),
    });
    const all = await Promise.all([4, 5, 50].map((count) => readAll(server.stream('e', asking(count)))));
    assert.deepEqual(all[0], { numbers: upTo(4), error: undefined });
    assert.deepEqual(all[1]?.numbers, upTo(5));
    assert.equal(all[1].error?.code, 'INTERNAL');
    assert.match(all[1].error.message, /ensemble 'e'.*model 'many': odd/);
    assert.deepEqual(all[2]?.numbers, upTo(6));
    assert.match(all[2].error?.message ?? '', /ensemble 'e'.*model 'fails': six/);
    assert.deepEqual((await readAll(server.stream('e', asking(2)))).numbers, upTo(2));
  });

  test('a slow reader holds back the step, and a reader who leaves ends it', async (t) => {
    const body = `
      globalThis.most ??= 0;
      try {
        for (let k = 0; k < count; k++) { globalThis.most = Math.max(globalThis.most, k); yield y(count === 1 ? globalThis.most : k); }
      } finally { if (count > 1) globalThis.most = -1; }`;
    const server = await serve(t, {
      many: gives(body),
      twice: mapping('count'),
      e: graph([step('many', 'count', 'k'), step('twice', 'k', 'y')]),
    });
    const most = async (): Promise<number> =>
      (await readAll(server.stream('many', asking(1)))).numbers[0] ?? 0;
    const stream = server.stream('e', asking(1_000_000));
    await until(async () => (await most()) >= 16);
    for (let k = 0; k < 100; k++) {
      const next = await stream.next();
      assert.ok(next.done !== true);
      assert.equal(numberOf(next.value), k);
    }
    assert.ok((await most()) < 300);
    await stream.return?.();
    await until(async () => (await most()) <= 0);
    assert.deepEqual((await readAll(server.stream('e', asking(30)))).numbers, upTo(30));
  });

  test('a hundred streams at once, some of which are left, come whole', async (t) => {
    const server = await serve(t, {
      many: gives(counts, 'async function*'),
      twice: mapping('count'),
      e: graph([step('many', 'count', 'k'), step('twice', 'k', 'y')]),
    });
    await Promise.all(
      upTo(100).map(async (i) => {
        if (i % 3 > 0) {
          assert.deepEqual((await readAll(server.stream('e', asking(2 * i)))).numbers, upTo(2 * i));
          return;
        }
        for await (const result of server.stream('e', asking(1_000_000))) if (numberOf(result) === i) break;
      }),
    );
    await server.close({ timeoutMs: 2000 });
  });

  test('close() ends streams that nobody reads', async (t) => {
    const server = await serve(t, {
      many: gives(counts),
      twice: mapping('count'),
      e: graph([step('many', 'count', 'k'), step('twice', 'k', 'y')]),
    });
    const stream = server.stream('e', asking(1_000_000));
    await stream.next();
    await server.close({ timeoutMs: 50 });
    const { error } = await readAll(stream);
    assert.ok(['CANCELLED', 'UNAVAILABLE'].includes(error?.code ?? ''), error?.code);
  });
});

test('a step that would need responses of two decoupled models is refused by name', async (t) => {
  const models = {
    many: gives(counts),
    more: gives(counts),
    both: mapping('a + k', [
      { name: 'a', ...one },
      { name: 'k', ...one },
    ]),
  };
  const mixed = graph([
    step('many', 'count', 'a'),
    step('more', 'count', 'k'),
    { model: 'both', from: { a: 'a', k: 'k' }, to: { y: 'y' } },
  ]);
  const error = await rejection(serve(t, { ...models, e: mixed }));
  assert.match(
    error.message,
    /model 'both'.*different decoupled models: 'many' \(step 0\) and 'more' \(step 1\)/,
  );
  const apart = graph([step('many', 'count', 'y'), step('more', 'count', 'k')], ['y', 'k']);
  const outputs = await rejection(serve(t, { ...models, e: apart }));
  assert.match(outputs.message, /outputs come from the responses of different decoupled models/);
});
