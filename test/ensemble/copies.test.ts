/** Nothing is copied between the steps of an ensemble, unless a model could change memory that others read. */

import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { InferResult, InferenceServer } from '../../src/index.js';
import { canCount } from '../../bench/measuring/request-cost.js';
import { addon } from '../../src/addon/load.js';
import { script } from '../javascript/harness.js';
import '../support/fault-addon.js';
import { chain, ensemble, identity, onnx, serve, type StepText } from '../support/harness.js';
import { addModel } from '../support/models.js';

const width = 64 << 10;
const bytes = 4 * width;
const wide = {
  inputs: [{ name: 'x', dims: [width] }],
  outputs: [{ name: 'y', dims: [width] }],
} as const;
const toOne = {
  inputs: [{ name: 'x', dims: [width] }],
  outputs: [{ name: 'y', dims: [1] }],
} as const;

/** y = x + 1, of 256 KiB. */
const add = onnx(addModel({ width }), wide);
const sum = 'x.data.reduce((all, value) => all + value, 0)';
/** The sum of its input. */
const total = script(
  `export default { execute: (requests) => requests.map(({ inputs: { x } }) => ({ y: [[${sum}]] })) };`,
  toOne,
);
/** The sum of its input, which the model then overwrites. */
const overwriting = script(
  `export default { execute: (requests) => requests.map(({ inputs: { x } }) => {
    const y = [[${sum}]];
    x.data.fill(0);
    return { y };
  }) };`,
  toOne,
);
/** The sum of x. The step also waits for `after`. */
const totalAfter = script(
  `export default { execute: (requests) => requests.map(({ inputs: { x } }) => ({ y: [[${sum}]] })) };`,
  { inputs: [...toOne.inputs, { name: 'after', dims: [1] }], outputs: toOne.outputs },
);

/** The sum of x, for each response that brings `k`. */
const totalFor = script(
  `export default { execute: (requests) => requests.map(({ inputs: { x } }) => ({ y: [[${sum}]] })) };`,
  { inputs: [...toOne.inputs, { name: 'k', dims: [1] }], outputs: toOne.outputs },
);
/** Three responses, before each of which the model overwrites its input. */
const overwritingStream = script(
  `export default { execute: (requests) => requests.map(function* ({ inputs: { x } }) {
    for (let k = 0; k < 3; k++) {
      x.data.fill(0);
      yield { y: [[k]] };
    }
  }) };`,
  { ...toOne, more: 'model_transaction_policy { decoupled: true }' },
);

/** Bytes that the engine copies per request, with `outstanding` requests at once. */
async function copiedBy(server: InferenceServer, model: string, outstanding: number): Promise<number> {
  const rounds = 8;
  const ask = async (): Promise<void> => {
    const x = new Float32Array(width).fill(1);
    await Promise.all(Array.from({ length: outstanding }, () => server.infer(model, { x })));
  };
  await ask();
  const before = addon().counts?.().copied ?? 0;
  for (let i = 0; i < rounds; i++) await ask();
  return ((addon().counts?.().copied ?? 0) - before) / (rounds * outstanding);
}

void suite(
  'between the steps of an ensemble',
  { skip: canCount() ? false : 'the addon does not count' },
  () => {
    for (const outstanding of [1, 4]) {
      test(`nothing is copied, with ${outstanding} requests at once`, async (t) => {
        const server = await serve(t, { a: add, b: add, c: add, e: ensemble(chain(['a', 'b', 'c']), wide) });
        const alone = await copiedBy(server, 'a', outstanding);
        const three = await copiedBy(server, 'e', outstanding);
        assert.ok(three < alone + bytes / 16, `${three} bytes, of one step ${alone}`);
      });
    }

    test('a model in JavaScript that reads a tensor alone gets the memory that it is in', async (t) => {
      const server = await serve(t, { a: add, total, e: ensemble(chain(['a', 'total']), toOne) });
      const alone = await copiedBy(server, 'a', 1);
      assert.ok((await copiedBy(server, 'e', 1)) < alone + bytes / 16);
    });
  },
);

void suite('a model in JavaScript that writes to its input', () => {
  const steps = (from: string, before: StepText): StepText[] => [
    before,
    { model: 'overwriting', from: { x: 't' }, to: { y: 'first' } },
    { model: 'after', from: { x: from, after: 'first' }, to: { y: 'second' } },
  ];
  const outputs = [
    { name: 'first', dims: [1] },
    { name: 'second', dims: [1] },
  ] as const;
  for (const [what, before, from, expected] of [
    ['of a step', { model: 'a', from: { x: 'x' }, to: { y: 't' } }, 't', 2 * width],
    [
      'of the caller, which a step gave back',
      { model: 'same', from: { x: 'x' }, to: { y: 't' } },
      'x',
      width,
    ],
  ] as const) {
    test(`harms no other reader of the tensor ${what}`, async (t) => {
      const graph = ensemble(steps(from, before), { inputs: wide.inputs, outputs });
      const server = await serve(t, {
        a: add,
        same: identity(wide),
        overwriting,
        after: totalAfter,
        e: graph,
      });
      const x = new Float32Array(width).fill(1);
      for (let i = 0; i < 3; i++) {
        const result = await server.infer('e', { x });
        assert.equal(result.outputs['first']?.data[0], expected);
        assert.equal(result.outputs['second']?.data[0], expected);
      }
    });
  }

  test('harms no response of an ensemble whose decoupled step it is', async (t) => {
    const graph = ensemble(
      [
        { model: 'a', from: { x: 'x' }, to: { y: 't' } },
        { model: 'overwritingStream', from: { x: 't' }, to: { y: 'k' } },
        { model: 'totalFor', from: { x: 't', k: 'k' }, to: { y: 'y' } },
      ],
      toOne,
    );
    const server = await serve(t, { a: add, overwritingStream, totalFor, e: graph });
    const sums: unknown[] = [];
    for await (const { outputs } of server.stream('e', { x: new Float32Array(width).fill(1) })) {
      sums.push(outputs['y']?.data[0]);
    }
    assert.deepEqual(sums, [2 * width, 2 * width, 2 * width]);
  });
});

/** The values of an FP32 output. */
function floatsOf({ outputs }: InferResult, name: string): Float32Array {
  const data = outputs[name]?.data;
  assert.ok(data instanceof Float32Array);
  return data;
}

void suite('a caller that writes to an output', () => {
  const outputs = [
    { name: 't', dims: [width] },
    { name: 'u', dims: [width] },
  ] as const;
  const twice = ensemble(
    [
      { model: 'a', from: { x: 'x' }, to: { y: 't' } },
      { model: 'same', from: { x: 't' }, to: { y: 'u' } },
    ],
    { inputs: wide.inputs, outputs },
  );
  const x = new Float32Array(width).fill(1);

  test('harms no other output, although a step returned its input as that one', async (t) => {
    const server = await serve(t, { a: add, same: identity(wide), twice });
    for (let i = 0; i < 3; i++) {
      const [one, other] = await Promise.all([server.infer('twice', { x }), server.infer('twice', { x })]);
      for (const result of [one, other]) {
        floatsOf(result, 't').fill(7);
        assert.equal(result.outputs['u']?.data[0], 2);
      }
    }
  });

  test('and is a step of another ensemble harms no other output either', async (t) => {
    const outer = ensemble(
      [
        { model: 'twice', from: { x: 'x' }, to: { t: 't', u: 'u' } },
        { model: 'overwriting', from: { x: 't' }, to: { y: 'first' } },
        { model: 'after', from: { x: 'u', after: 'first' }, to: { y: 'y' } },
      ],
      toOne,
    );
    const server = await serve(t, {
      a: add,
      same: identity(wide),
      twice,
      overwriting,
      after: totalAfter,
      outer,
    });
    assert.equal((await server.infer('outer', { x })).outputs['y']?.data[0], 2 * width);
  });

  test('harms no later response of a decoupled ensemble', async (t) => {
    const counting = script(
      `export default { execute: (requests) => requests.map(function* () { for (let k = 0; k < 5; k++) yield { y: [[k]] }; }) };`,
      { ...toOne, more: 'model_transaction_policy { decoupled: true }' },
    );
    const graph = ensemble(
      [
        { model: 'a', from: { x: 'x' }, to: { y: 't' } },
        { model: 'counting', from: { x: 't' }, to: { y: 'k' } },
        { model: 'totalFor', from: { x: 't', k: 'k' }, to: { y: 'y' } },
      ],
      { inputs: wide.inputs, outputs: [{ name: 't', dims: [width] }, ...toOne.outputs] },
    );
    const server = await serve(t, { a: add, counting, totalFor, e: graph });
    const seen: unknown[] = [];
    for await (const response of server.stream('e', { x })) {
      seen.push(response.outputs['t']?.data[0], response.outputs['y']?.data[0]);
      floatsOf(response, 't').fill(9);
    }
    assert.deepEqual(seen, Array.from({ length: 5 }, () => [2, 2 * width]).flat());
  });
});
