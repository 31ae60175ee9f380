/** Optional inputs, missing outputs, and branches (`conditional`). */

import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { script } from '../javascript/harness.js';
import { ensemble, onnx, rejection, serve, type StepText } from '../support/harness.js';
import { addModel } from '../support/models.js';

const one = [1] as const;
const inputs = [{ name: 'x', dims: one }] as const;
const outputs = [{ name: 'y', dims: one }] as const;
const conditional = 'parameters { key: "conditional" value { string_value: "true" } }';

/** Returns `small` if x < 10, and otherwise `large`. */
const router = script(
  `export default { execute: (requests) => requests.map(({ inputs: { x } }) =>
    x.data[0] < 10 ? { small: x, large: null } : { small: null, large: x }) };`,
  {
    inputs,
    outputs: [
      { name: 'small', dims: one },
      { name: 'large', dims: one },
    ],
  },
);
const plus = (addend: number): ReturnType<typeof onnx> =>
  onnx(addModel({ width: 1, addend }), { inputs, outputs });
const branches: StepText[] = [
  { model: 'router', from: { x: 'x' }, to: { small: 's', large: 'l' } },
  { model: 'plus1', from: { x: 's' }, to: { y: 'y' } },
  { model: 'plus100', from: { x: 'l' }, to: { y: 'y' } },
];
const models = { router, plus1: plus(1), plus100: plus(100) };

void suite('an ensemble with branches', () => {
  test('takes the way that the router chooses, for each request of a batch', async (t) => {
    const e = ensemble(branches, { inputs, outputs, more: conditional });
    const server = await serve(t, { ...models, e });
    const asked = [1, 50, 2, 60, 3, 70].map((x) => server.infer('e', { x: [[x]] }));
    const answers = (await Promise.all(asked)).map((result) => result.outputs['y']?.data[0]);
    assert.deepEqual(answers, [2, 150, 3, 160, 4, 170]);
    const runs = (name: string): number => server.model(name).statistics().inference_count;
    assert.deepEqual([runs('router'), runs('plus1'), runs('plus100')], [6, 3, 3]);
  });

  test('is refused without the parameter, with the tensor that two steps make', async (t) => {
    const error = await rejection(serve(t, { ...models, e: ensemble(branches, { inputs, outputs }) }));
    assert.equal(error.code, 'INVALID_ARG');
    assert.match(error.message, /tensor "y" is produced twice/);
  });

  test('leaves an output out that no way makes, and skips what needs it', async (t) => {
    const e = ensemble(
      [
        { model: 'router', from: { x: 'x' }, to: { small: 's', large: 'l' } },
        { model: 'plus1', from: { x: 's' }, to: { y: 'low' } },
        { model: 'plus100', from: { x: 'l' }, to: { y: 'middle' } },
        { model: 'plus1', from: { x: 'middle' }, to: { y: 'high' } },
      ],
      {
        inputs,
        outputs: [
          { name: 'low', dims: one },
          { name: 'high', dims: one },
        ],
        more: conditional,
      },
    );
    const server = await serve(t, { ...models, e });
    const names = async (x: number): Promise<string[]> =>
      Object.keys((await server.infer('e', { x: [[x]] })).outputs);
    assert.deepEqual(await names(1), ['low']);
    assert.deepEqual(await names(50), ['high']);
  });
});

void suite('an input that may be left out', () => {
  const both = [
    { name: 'a', dims: one },
    { name: 'b', dims: one, optional: true },
  ] as const;
  /** a + b, or a alone. */
  const sum = script(
    `export default { execute: (requests) => requests.map(({ inputs: { a, b } }) =>
      ({ y: [[a.data[0] + (b?.data[0] ?? 1000)]] })) };`,
    { inputs: both, outputs },
  );

  test('of the ensemble is missing in the step, too', async (t) => {
    const e = ensemble([{ model: 'sum', from: { a: 'a', b: 'b' }, to: { y: 'y' } }], {
      inputs: both,
      outputs,
    });
    const server = await serve(t, { sum, e });
    const given = [{ a: [[1]], b: [[2]] }, { a: [[3]] }, { a: [[5]], b: [[6]] }];
    const answers = await Promise.all(given.map((some) => server.infer('e', some)));
    assert.deepEqual(
      answers.map((result) => result.outputs['y']?.data[0]),
      [3, 1003, 11],
    );
  });

  test('is missing where the step before left the output out; one that is required is an error', async (t) => {
    const some = script(
      `export default { execute: (requests) => requests.map(({ inputs: { x } }) => x.data[0] < 10 ? { y: x } : { y: null }) };`,
      { inputs, outputs },
    );
    const first: StepText = { model: 'some', from: { x: 'x' }, to: { y: 't' } };
    const server = await serve(t, {
      some,
      sum,
      plus1: plus(1),
      e: ensemble([first, { model: 'sum', from: { a: 'x', b: 't' }, to: { y: 'y' } }], { inputs, outputs }),
      f: ensemble([first, { model: 'plus1', from: { x: 't' }, to: { y: 'y' } }], { inputs, outputs }),
    });
    const of = async (x: number): Promise<unknown> =>
      (await server.infer('e', { x: [[x]] })).outputs['y']?.data[0];
    assert.deepEqual([await of(2), await of(20)], [4, 1020]);
    assert.equal((await server.infer('f', { x: [[2]] })).outputs['y']?.data[0], 3);
    const error = await rejection(server.infer('f', { x: [[20]] }));
    // The caller has done nothing wrong.
    assert.equal(error.code, 'INTERNAL');
    assert.match(
      error.message,
      /^in ensemble 'f', model 'plus1' \(step 2\), input 'x': tensor 't' was not made: model 'some' \(step 1\) responded without its output 'y'\..*"conditional"/,
    );
    // Among several requests of one flight, only this request fails.
    const many = await Promise.allSettled([2, 20, 3, 30].map((x) => server.infer('f', { x: [[x]] })));
    assert.deepEqual(
      many.map(({ status }) => status),
      ['fulfilled', 'rejected', 'fulfilled', 'rejected'],
    );
  });
});
