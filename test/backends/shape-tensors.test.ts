/** Shape tensors of plans that batch: their first value is the number of rows. Driver and TensorRT are fakes. */

import assert from 'node:assert/strict';
import test, { after } from 'node:test';
import { temporaryFolder, writeRepository, type RepositoryModel } from '../support/repository.js';
import { fakeGpus } from './fake-gpus.js';

const fakes = await fakeGpus({ after });
const options = { skip: fakes ? false : 'needs Linux' };

const expand = `fake-plan 10
op expand
input x 0 0 0 -1 2
input s 3 1 0 2
output y 0 0 0 -1 -1
rows s
profile x 1 2 4 2 8 2
values s 1 1 4 2 8 5
`;
/** y is a shape tensor, the dims of x. */
const rows = `fake-plan 10
op shape
input x 0 0 0 -1 2
output y 3 1 0 2
profile x 1 2 4 2 8 2
`;

const x = 'input { name: "x" data_type: TYPE_FP32 dims: 2 }';
const s = 'input { name: "s" data_type: TYPE_INT32 dims: 1 is_shape_tensor: true }';
const y = 'output { name: "y" data_type: TYPE_FP32 dims: -1 }';
const gpu = 'platform: "tensorrt_plan" instance_group { kind: KIND_GPU gpus: 0 }';
/** Longer than any test. */
const delay = 'max_queue_delay_microseconds: 3600000000';

function model(config: string, plan = expand, files: Readonly<Record<string, Buffer>> = {}): RepositoryModel {
  return { config, versions: { '1': { 'model.plan': plan } }, files };
}
const warmup = (data: string): string =>
  `${gpu} max_batch_size: 8 ${x} ${s} ${y} model_warmup { name: "w" batch_size: 3 inputs {
    key: "x" value { data_type: TYPE_FP32 dims: 2 zero_data: true } } inputs {
    key: "s" value { data_type: TYPE_INT32 dims: 1 ${data} } } }`;
const ensemble = (config: string): RepositoryModel => ({
  config: `platform: "ensemble" max_batch_size: 8 ${config}`,
  versions: { '1': {} },
});
const numbers = (...list: number[]): Buffer => Buffer.from(Int32Array.from(list).buffer);

const repository = await writeRepository(await temporaryFolder({ after }), {
  auto: model(gpu),
  preferred: model(
    `${gpu} max_batch_size: 8 ${x} ${s} ${y} dynamic_batching { preferred_batch_size: 4 ${delay} }`,
  ),
  pairs: model(
    `${gpu} max_batch_size: 8 ${x} ${s} ${y} dynamic_batching { preferred_batch_size: 2 ${delay} }`,
  ),
  rows: model(`${gpu} max_batch_size: 8 dynamic_batching { preferred_batch_size: 4 ${delay} }`, rows),
  whole: model(`${gpu} ${x.replace('dims: 2', 'dims: [ -1, 2 ]')} ${s.replace('dims: 1', 'dims: 2')}`),
  unmarked: model(`${gpu} max_batch_size: 8 ${x} ${s.replace('is_shape_tensor: true', '')} ${y}`),
  counted: model(`${gpu} max_batch_size: 8 ${x} ${s.replace('dims: 1', 'dims: 2')} ${y}`),
  square: model(`${gpu} max_batch_size: 8 ${x} ${s.replace('dims: 1', 'dims: [ 2, 3 ]')} ${y}`),
  reshaped: model(`${gpu} max_batch_size: 8 ${x} ${s.replace('is_s', 'reshape { shape: 1 } is_s')} ${y}`),
  warm: model(warmup('input_data_file: "values"'), expand, { 'warmup/values': numbers(1, 3) }),
  cold: model(warmup('input_data_file: "values"'), expand, { 'warmup/values': numbers(3, 3) }),
  random: model(warmup('random_data: true')),
  graphs: model(`${gpu} max_batch_size: 8 ${x} ${s} ${y} optimization { cuda { graphs: true } }`),
  given: ensemble(`${x} ${s.replace('is_shape_tensor: true', '')} ${y} ensemble_scheduling { step {
    model_name: "auto" model_version: -1 input_map { key: "x" value: "x" } input_map { key: "s" value: "s" }
    output_map { key: "y" value: "y" } } }`),
  inside: ensemble(`${x} ${y} ensemble_scheduling { step {
    model_name: "untimed" model_version: -1 input_map { key: "x" value: "x" } output_map { key: "y" value: "t" } } step {
    model_name: "auto" model_version: -1 input_map { key: "x" value: "x" } input_map { key: "s" value: "t" }
    output_map { key: "y" value: "y" } } }`),
  untimed: model(gpu, rows),
});

const shaped = fakes && (await fakes.shapes({}, repository));

test('the config is completed with dims that do not count the rows', options, () => {
  const { models } = shaped ?? assert.fail();
  const { most, shapes, dims, notes = [], reason } = models['auto'] ?? assert.fail();
  assert.equal(reason, '');
  assert.equal(most, 8);
  assert.deepEqual(dims, { s: [1] });
  // The shapes in requests and answers.
  assert.deepEqual(shapes, { x: [-1, 2], s: [2], y: [-1, -1] });
  assert.match(notes.join('\n'), /input\[1\]: completed from the model: "s", TYPE_INT32, dims \[1\]/);
  assert.deepEqual(models['rows']?.shapes, { x: [-1, 2], y: [2] });
  assert.equal(models['whole']?.most, 0);
});

test('requests are batched if their values are equal but for the rows', options, () => {
  const { answers } = shaped ?? assert.fail();
  assert.deepEqual(answers['equal'], [
    [[[1, 1, 1]], 4],
    [
      [
        [2, 2, 2],
        [3, 3, 3],
      ],
      4,
    ],
    [[[4, 4, 4]], 4],
  ]);
  assert.deepEqual(answers['apart'], [
    [[[1, 1, 1]], 1],
    [[[2, 2]], 2],
    [[[3, 3]], 2],
  ]);
});

test('a shape tensor that is not that of its request is refused', options, () => {
  const { answers } = shaped ?? assert.fail();
  const [rowsDiffer, short, long, rank, alone] = answers['wrong'] ?? [];
  assert.equal(
    rowsDiffer,
    "INVALID_ARG s: model 'pairs', input 's': expected its first value to be 2, the rows of the other inputs, but got 1",
  );
  for (const text of [short, long, rank]) {
    assert.match(
      String(text),
      /^INVALID_ARG s: model 'pairs', input 's': expected INT32 of shape \[2\], but got/,
    );
  }
  assert.match(String(alone), /^INVALID_ARG x: model 'pairs': missing 'x'/);
});

test('each answer has the rows of its request in an output shape tensor', options, () => {
  const { answers } = shaped ?? assert.fail();
  assert.deepEqual(answers['outputs'], [
    [[1, 2], 4],
    [[2, 2], 4],
    [[1, 2], 4],
  ]);
});

test('ensembles have shape tensors where their steps have them', options, () => {
  const { models, answers } = shaped ?? assert.fail();
  assert.equal(models['given']?.reason, '');
  assert.deepEqual(models['given'].dims, { s: [1] });
  assert.deepEqual(models['given'].shapes, { x: [-1, 2], s: [2], y: [-1, -1] });
  const [one, two, wrong] = answers['given'] ?? [];
  assert.deepEqual(one, [[[1, 1, 1]], 1]);
  assert.deepEqual(two, [
    [
      [2, 2, 2],
      [3, 3, 3],
    ],
    2,
  ]);
  assert.match(String(wrong), /^INVALID_ARG s: model 'given', input 's': expected its first value to be 1/);
  assert.equal(models['inside']?.reason, '');
  assert.deepEqual(answers['inside'], [
    [[[1, 1]], 1],
    [
      [
        [2, 2],
        [3, 3],
      ],
      2,
    ],
  ]);
});

test('endpoints and their client pass shape tensors', options, () => {
  const { answers } = shaped ?? assert.fail();
  for (const protocol of ['http', 'grpc']) {
    const [answer, error] = answers[protocol] ?? [];
    assert.deepEqual(answer, [
      [5, 5],
      [6, 6],
    ]);
    assert.match(String(error), /^INVALID_ARG .*input 's': expected its first value to be 2.*but got 3/);
  }
});

test('configurations that do not fit say why', options, () => {
  const { models } = shaped ?? assert.fail();
  for (const [name, reason] of Object.entries({
    unmarked:
      /input\[1\]\.is_shape_tensor: the model's input "s" is a shape tensor, .* write is_shape_tensor: true/,
    counted: /input\[1\]\.dims: .*shape \[2\], whose first value is the batch .*Expected dims: \[ 1 \]/,
    square: /input\[1\]\.dims: expected one dim, .* but found \[2,3\]/,
    reshaped: /input\[1\]\.reshape: cannot be combined with is_shape_tensor in a model that batches/,
    cold: /inputs\["s"\]\.input_data_file: values: expected its first value to be 1, .* but found 3/,
    random: /inputs\["s"\]\.random_data: random numbers cannot be a shape/,
    graphs: /optimization\.cuda\.graphs: input 's' is a shape tensor/,
  })) {
    assert.equal(models[name]?.state, 'UNAVAILABLE', name);
    assert.match(models[name].reason, reason);
  }
  assert.deepEqual([models['warm']?.state, models['warm']?.reason], ['READY', '']);
});
