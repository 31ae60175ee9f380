import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { checkRepository, type CheckedModel } from '../../src/registry/check-repository.js';
import { addModel, rowSumModel } from '../support/models.js';
import { temporaryFolder, writeRepository, type RepositoryModel } from '../support/repository.js';
import {
  configText,
  identity,
  onnx,
  rejection,
  threadCount,
  until,
  type Context,
} from '../support/harness.js';

/** The outcome of checking some models. */
async function checked(
  t: Context,
  models: Readonly<Record<string, RepositoryModel>>,
): Promise<readonly CheckedModel[]> {
  return checkRepository({ modelRepository: await writeRepository(await temporaryFolder(t), models) });
}

/** The outcome of checking one model. */
async function checkOne(t: Context, model: RepositoryModel): Promise<CheckedModel> {
  const [one] = await checked(t, { m: model });
  assert.ok(one);
  return one;
}

test('models come by name, each with its complete configuration', async (t) => {
  const models = await checked(t, { zebra: identity(), add: { versions: { '3': addModel() } } });
  assert.deepEqual(
    models.map(({ name, ok, backend, versions }) => [name, ok, backend, versions]),
    [
      ['add', true, 'onnxruntime', ['3']],
      ['zebra', true, 'identity', ['1']],
    ],
  );
  assert.deepEqual(models[0]?.config?.input[0]?.dims, [16]);
  assert.match(models[0].notes.join(), /input\[0\]: completed from the model/);
});

test('a model that fails keeps nobody from being checked', async (t) => {
  const models = await checked(t, {
    a: onnx(),
    b: onnx(undefined, { maxBatchSize: -1 }),
    c: onnx(Uint8Array.of(1)),
    d: identity(),
  });
  assert.deepEqual(
    models.map(({ ok, problems }) => [ok, problems.map(({ code }) => code)]),
    [
      [true, []],
      [false, ['INVALID_ARG']],
      [false, ['INTERNAL']],
      [true, []],
    ],
  );
});

test('all problems of a configuration are listed, each with its place', async (t) => {
  const config = configText({
    batching: 'preferred_batch_size: [ 100 ]',
    more: 'instance_group [ { kind: KIND_CPU passive: true } ]',
  }).replace('backend:', 'name: "other" backend:');
  const { problems, notes, config: complete } = await checkOne(t, { config, versions: { '1': addModel() } });
  assert.deepEqual(
    problems.map(({ code, location }) => [code, location?.line, location?.field]),
    [
      ['INVALID_ARG', 1, 'name'],
      ['INVALID_ARG', 5, 'dynamic_batching.preferred_batch_size[0]'],
      ['UNSUPPORTED', 7, 'instance_group[1].passive'],
    ],
  );
  assert.ok(
    problems.every(
      ({ version, message }) => version === undefined && message.includes(`${join('m', 'config.pbtxt')}:`),
    ),
  );
  assert.deepEqual([notes, complete], [[], undefined]);
});

test('a message about very many problems counts those that it does not list', async (t) => {
  const input = 'input { name: "x" data_type: TYPE_FP32 dims: 0 }\n';
  const { problems } = await checkOne(t, {
    config: `backend: "identity"\n${input.repeat(80)}`,
    versions: { '1': {} },
  });
  assert.equal(problems.length, 51);
  assert.match(problems[50]?.message ?? '', /^… and \d+ more$/);
});

test('what is wrong with one version is told of that version', async (t) => {
  const config = configText({ more: 'version_policy { all { } }' });
  const { ok, versions, problems } = await checkOne(t, {
    config,
    versions: { '1': addModel(), '2': rowSumModel(), '3': Uint8Array.of(7) },
  });
  assert.deepEqual([ok, versions], [false, ['1', '2', '3']]);
  assert.ok(problems.every(({ version }) => version === '2' || version === '3'));
  assert.match(
    problems.find(({ version }) => version === '2')?.message ?? '',
    /no input "x"; its inputs are ids/,
  );
  assert.match(problems.find(({ version }) => version === '3')?.message ?? '', /m[\\/]3[\\/]model\.onnx/);
});

const single: readonly (readonly [what: string, model: RepositoryModel, code: string, message: RegExp])[] = [
  ['a missing label file', identity({ more: '' }), 'INTERNAL', /no\.txt cannot be read/],
  [
    'a backend that nobody has',
    { config: 'backend: "nobody"', versions: { '1': {} } },
    'INVALID_ARG',
    /nobody/,
  ],
  ['no version', { config: configText() }, 'INVALID_ARG', /there is no version folder/],
  ['nothing to tell the backend by', { versions: { '1': {} } }, 'INVALID_ARG', /backend: missing/],
  [
    'a parameter that is no number',
    onnx(undefined, { parameters: { intra_op_thread_count: 'x' } }),
    'INVALID_ARG',
    /intra_op_thread_count/,
  ],
];

for (const [what, model, code, message] of single) {
  test(`${what} is one problem`, async (t) => {
    const { config = '', ...rest } = model;
    const labelled = what.includes('label')
      ? config.replace('output [ { name: "y"', 'output [ { label_filename: "no.txt" name: "y"')
      : config;
    const { ok, problems } = await checkOne(t, { ...rest, ...(config !== '' && { config: labelled }) });
    assert.deepEqual([ok, problems.map((problem) => problem.code)], [false, [code]]);
    assert.match(problems[0]?.message ?? '', message);
  });
}

test('a model in two repositories is refused, with both folders named', async (t) => {
  const [first, second] = [await temporaryFolder(t), await temporaryFolder(t)];
  await writeRepository(first, { m: identity() });
  await writeRepository(second, { m: identity() });
  const [model] = await checkRepository({ modelRepository: [first, second] });
  assert.equal(model?.ok, false);
  assert.match(model.problems[0]?.message ?? '', /two or more repositories/);
});

test('progress is told before each model', async (t) => {
  const folder = await writeRepository(await temporaryFolder(t), {
    b: identity(),
    a: identity(),
    c: { config: '?' },
  });
  const told: unknown[] = [];
  await checkRepository({ modelRepository: folder }, (model, done, total) => told.push([model, done, total]));
  assert.deepEqual(told, [
    ['a', 0, 3],
    ['b', 1, 3],
    ['c', 2, 3],
  ]);
});

test('a check leaves nothing behind', async (t) => {
  const parameters = { intra_op_thread_count: 3 };
  const models = { a: onnx(undefined, { parameters }), b: onnx(undefined, { parameters, maxBatchSize: -1 }) };
  await checked(t, models);
  const before = await threadCount();
  for (let i = 0; i < 3; i++) await checked(t, models);
  await until(async () => (await threadCount()) <= before);
});

test('wrong options and folders reject', async () => {
  assert.equal((await rejection(checkRepository({ modelRepository: '/nowhere/at/all' }))).code, 'NOT_FOUND');
  assert.equal((await rejection(checkRepository({ modelRepository: [] }))).code, 'INVALID_ARG');
});
