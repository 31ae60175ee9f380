/** Tree models are served like any other: batches, ensembles, calls, warm-up, HTTP and gRPC. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { addressOf, connected, protocols } from '../../client/harness.js';
import { calling } from '../../javascript/calls.js';
import { script } from '../../javascript/harness.js';
import { batchCountsAfter, ensemble, floats, serve, rejection } from '../../support/harness.js';
import { allRows, assertClose, treeModel, trees, withoutConfig } from './answers.js';

const binary = treeModel('xgb_binary_json');
const classes = treeModel('lgb_multiclass');

test('requests that arrive together run as one batch', async (t) => {
  const server = await serve(t, { m: trees(binary, { parameters: { inline: 'off' } }) });
  const answers = await Promise.all(binary.asked.map((row) => server.infer('m', { input__0: row })));
  assertClose(
    answers.flatMap((answer) => floats(answer, 'output__0')),
    binary.values,
    'm',
  );
  const counts = await batchCountsAfter(server, 'm', binary.asked.length);
  const batches = Object.values(counts).reduce((sum, count) => sum + count, 0);
  assert.ok(batches < binary.asked.length / 2, JSON.stringify(counts));
});

test('several instances answer at once', async (t) => {
  const server = await serve(t, { m: trees(classes, { instances: 3, parameters: { inline: 'off' } }) });
  const rounds = Array.from({ length: 20 }, () =>
    classes.asked.map((row) => server.infer('m', { input__0: row })),
  );
  for (const round of rounds) {
    const answers = await Promise.all(round);
    assertClose(
      answers.flatMap((answer) => floats(answer, 'output__0')),
      classes.values,
      'm',
    );
  }
});

test('a model without batches takes whole shapes', async (t) => {
  const { config = '', versions = {} } = trees(binary, { maxBatchSize: 0, batching: false });
  const whole = config
    .replace(`dims: [ ${binary.features} ]`, `dims: [ -1, ${binary.features} ]`)
    .replace('dims: [ 1 ]', 'dims: [ -1, 1 ]');
  const server = await serve(t, { m: { config: whole, versions } });
  const result = await server.infer('m', {
    input__0: { data: allRows(binary), shape: [binary.asked.length, binary.features] },
  });
  assertClose(floats(result, 'output__0'), binary.values, 'm');
});

for (const protocol of protocols) {
  test(`a tree model is called over ${protocol}`, async (t) => {
    const server = await serve(t, { m: withoutConfig(classes) });
    const remote = await connected(t, await addressOf(t, protocol, server));
    const { asked, features, values } = classes;
    const result = await remote.infer('m', {
      input__0: { data: allRows(classes), shape: [asked.length, features] },
    });
    assert.deepEqual(result.outputs['output__0']?.shape, [asked.length, classes.columns]);
    assertClose(floats(result, 'output__0'), values, 'm');
  });
}

test('a tree model is a step of an ensemble, and a model in JavaScript calls it', async (t) => {
  const tensors = {
    inputs: [{ name: 'x', dims: [binary.features] }],
    outputs: [{ name: 'y', dims: [1] }],
  };
  const server = await serve(t, {
    forest: trees(binary),
    twice: script(
      'export default class { execute(requests) { return requests.map(({ inputs }) => ({ y: inputs.x.data.map((value) => 2 * value) })); } }',
      { inputs: [{ name: 'x', dims: [1] }], outputs: [{ name: 'y', dims: [1] }] },
    ),
    doubled: ensemble(
      [
        { model: 'forest', from: { input__0: 'x' }, to: { output__0: 'score' } },
        { model: 'twice', from: { x: 'score' }, to: { y: 'y' } },
      ],
      tensors,
    ),
    caller: script(
      calling(`const { outputs } = await server.infer('forest', { input__0: request.inputs.x });
               return { y: outputs.output__0 };`),
      tensors,
    ),
  });
  for (const [name, factor] of [
    ['doubled', 2],
    ['caller', 1],
  ] as const) {
    const answers = await Promise.all(binary.asked.map((x) => server.infer(name, { x })));
    assertClose(
      answers.flatMap((answer) => floats(answer)),
      binary.values.map((value) => factor * value),
      name,
    );
  }
});

test('a warm-up runs before the first request', async (t) => {
  const more =
    'model_warmup { name: "w" batch_size: 3 count: 2 inputs { key: "input__0" value ' +
    `{ data_type: TYPE_FP32 dims: [ ${binary.features} ] random_data: true } } }`;
  const server = await serve(t, { m: trees(binary, { more }) });
  const [row] = binary.asked;
  assert.ok(row);
  assertClose(
    floats(await server.infer('m', { input__0: row }), 'output__0'),
    binary.values.slice(0, 1),
    'm',
  );
});

test('a model is given as bytes, and reloaded with another file', async (t) => {
  const first = treeModel('xgb_squarederror_json');
  const server = await serve(t, {}, { modelControlMode: 'explicit' });
  await server.loadModel('given', { config: { backend: 'fil' }, files: { 'xgboost.json': first.content } });
  const ask = async (name: string): Promise<number[]> => {
    const result = await server.infer(name, {
      input__0: { data: allRows(first), shape: [first.asked.length, first.features] },
    });
    return floats(result, 'output__0');
  };
  assertClose(await ask('given'), first.values, 'given');
  const { content } = treeModel('xgb_absoluteerror_json');
  await server.loadModel('given', { config: { backend: 'fil' }, files: { 'xgboost.json': content } });
  assertClose(await ask('given'), treeModel('xgb_absoluteerror_json').values, 'given again');
});

test('a request with another number of features is refused', async (t) => {
  const server = await serve(t, { m: trees(binary) });
  const error = await rejection(
    server.infer('m', { input__0: { data: new Float32Array(5), shape: [1, 5] } }),
  );
  assert.equal(error.code, 'INVALID_ARG');
  assert.match(error.message, /input__0/);
});
