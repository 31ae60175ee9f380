/** The load of an invalid ensemble reports the fault, with the graph. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { chain, ensemble, identity, onnx, rejection, serve, type StepText } from '../support/harness.js';
import type { RepositoryModel } from '../support/repository.js';

const wide = identity({ inputs: [{ name: 'x', dims: [8] }], outputs: [{ name: 'y', dims: [8] }] });
const integers = identity({
  inputs: [{ name: 'x', datatype: 'INT32' }],
  outputs: [{ name: 'y', datatype: 'INT32' }],
});
const small = identity({ maxBatchSize: 4 });
const pair = identity({
  inputs: [{ name: 'x' }, { name: 'w' }],
  outputs: [{ name: 'y' }, { name: 'z' }],
});

const step = (
  model: string,
  from: Readonly<Record<string, string>>,
  to: Readonly<Record<string, string>>,
): StepText => ({
  model,
  from,
  to,
});

const cases: readonly {
  readonly name: string;
  readonly model: RepositoryModel;
  readonly says: RegExp;
  readonly code?: string;
}[] = [
  {
    name: 'a model that no repository has',
    model: ensemble(chain(['a', 'nobody'])),
    says: /step\[1\]\.model_name: no repository has a model 'nobody'/,
  },
  {
    name: 'a version that is not there',
    model: ensemble([{ model: 'a', version: 7, from: { x: 'x' }, to: { y: 'y' } }]),
    says: /step\[0\]\.model_version: model 'a' has no version 7 that is loaded; it has 1/,
  },
  {
    name: "an input that the step's model does not have",
    model: ensemble([step('a', { xx: 'x' }, { y: 'y' })]),
    says: /model 'a' has no input 'xx'.*; it has x/,
  },
  {
    name: "an output that the step's model does not have",
    model: ensemble([step('a', { x: 'x' }, { z: 'y' })]),
    says: /model 'a' has no output 'z'.*; it has y/,
  },
  {
    name: 'an input of a step that nothing is mapped to',
    model: ensemble([step('pair', { x: 'x' }, { y: 'y' })]),
    says: /step\[0\]\.input_map: missing: model 'pair' needs 'w', too/,
  },
  {
    name: 'datatypes that disagree',
    model: ensemble(chain(['a', 'integers'])),
    says: /tensor 't1' has two datatypes: the output 'y' of model 'a' is TYPE_FP32, the input 'x' of model 'integers' is TYPE_INT32/,
  },
  {
    name: 'dims that disagree',
    model: ensemble(chain(['a', 'wide'])),
    says: /tensor 't1' has two shapes: the output 'y' of model 'a' has dims \[16\] and a batch dimension, the input 'x' of model 'wide' has \[8\]/,
  },
  {
    name: "an output of the ensemble with other dims than the step's",
    model: ensemble(chain(['wide']), { inputs: [{ name: 'x', dims: [8] }] }),
    says: /tensor 'y' has two shapes: the output 'y' of model 'wide' has dims \[8\].*the ensemble's output 'y' has \[16\]/,
  },
  {
    name: 'larger batches than a step takes',
    model: ensemble(chain(['small'])),
    says: /max_batch_size: 64 is more than the 4 of model 'small'/,
  },
  {
    name: 'a tensor that is produced twice',
    model: ensemble([step('a', { x: 'x' }, { y: 'y' }), step('b', { x: 'x' }, { y: 'y' })]),
    says: /tensor "y" is produced twice/,
  },
  {
    name: 'steps that wait for each other',
    model: ensemble([
      step('pair', { x: 'x', w: 'q' }, { y: 'p', z: 'y' }),
      step('a', { x: 'p' }, { y: 'q' }),
    ]),
    says: /"q" cannot be reached from the ensemble's inputs/,
  },
  {
    name: 'a tensor that nobody uses',
    model: ensemble([step('a', { x: 'x' }, { y: 'y' }), step('b', { x: 'x' }, { y: 'unused' })]),
    says: /no step and no output uses tensor "unused"/,
  },
  {
    name: 'an ensemble that needs itself',
    model: ensemble(chain(['a', 'e'])),
    says: /an ensemble cannot need itself: e → e/,
  },
];

for (const { name, model, says, code = 'INVALID_ARG' } of cases) {
  void test(`an ensemble is refused for ${name}`, async (t) => {
    const error = await rejection(serve(t, { a: onnx(), b: onnx(), wide, integers, small, pair, e: model }));
    assert.equal(error.code, code);
    assert.match(error.message, says);
  });
}

void test('ensembles that need each other are refused', async (t) => {
  const error = await rejection(
    serve(t, { a: onnx(), e: ensemble(chain(['a', 'f'])), f: ensemble(chain(['e', 'a'])) }),
  );
  assert.match(error.message, /an ensemble cannot need itself/);
});

void test('the graph is in the message', async (t) => {
  const error = await rejection(serve(t, { a: onnx(), wide, e: ensemble(chain(['a', 'wide'])) }));
  assert.match(
    error.message,
    /the graph of 'e': x → y\n {2}step\[0\] a: x → y=t1\n {2}step\[1\] wide: x=t1 → y/,
  );
});

void test('an ensemble says which of its models could not be loaded, and why', async (t) => {
  const server = await serve(
    t,
    {
      a: onnx(),
      broken: { ...onnx(), versions: { '1': new Uint8Array(3) } },
      e: ensemble(chain(['a', 'broken'])),
    },
    { exitOnError: false },
  );
  const status = server.index().find(({ name }) => name === 'e');
  assert.equal(status?.state, 'UNAVAILABLE');
  assert.match(status.reason ?? '', /model 'broken' could not be loaded: /);
});
