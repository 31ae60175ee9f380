import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { createServer } from '../../src/index.js';
import { addModel } from '../support/models.js';
import { root } from '../support/project.js';
import { temporaryFolder } from '../support/repository.js';
import { command } from './run.js';
import { anyPorts, run as serve } from './serve/harness.js';

const run = promisify(execFile);
const digits = join(root, 'examples', 'digits', 'models', 'digits', '1', 'model.onnx');

test('a file becomes a model that check, serve, curl and createServer take; labels go with it', async (t) => {
  const folder = await temporaryFolder(t);
  const file = join(folder, 'my digits (2).onnx');
  await writeFile(file, await readFile(digits));
  const labels = join(folder, 'names.txt');
  await writeFile(
    labels,
    ['zero', 'one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine'].join('\n'),
  );
  const repository = join(folder, `a child's models`);
  const made = await command(t, 'init', file, '--repository', repository, '--labels', labels);
  assert.deepEqual([made.code, made.stderr], [0, '']);
  assert.deepEqual(
    (await readdir(repository, { recursive: true })).sort(),
    ['', '/1', '/1/model.onnx', '/config.pbtxt', '/names.txt'].map((path) => `my_digits_2${path}`),
  );
  const config = await readFile(join(repository, 'my_digits_2', 'config.pbtxt'), 'utf8');
  for (const line of [
    'backend: "onnxruntime"',
    'max_batch_size: 4',
    '  { name: "image" data_type: TYPE_FP32 dims: [ 64 ] }',
    '  { name: "scores" data_type: TYPE_FP32 dims: [ 10 ] label_filename: "names.txt" }',
    'dynamic_batching { }',
  ])
    assert.ok(config.split('\n').includes(line), config);
  assert.ok(config.split('\n').filter((line) => line.startsWith('# ')).length >= 4);

  const checked = await command(t, 'check', repository);
  assert.equal(checked.code, 0, checked.stdout);
  // Nothing is left to complete.
  assert.doesNotMatch(checked.stdout, /completed/);

  const served = serve(t, repository, ...anyPorts);
  const { address } = await served.place('HTTPService');
  // Run the printed line in a shell, with the test's port.
  const line = /^ {2}(curl -fsS localhost:8000\/.*)$/m.exec(made.stdout)?.[1] ?? '';
  const asked = await run('sh', ['-c', line.replace('localhost:8000', `${address.host}:${address.port}`)]);
  const answer = JSON.parse(asked.stdout) as { outputs: { name: string; shape: number[] }[] };
  assert.deepEqual(
    answer.outputs.map(({ name, shape }) => [name, shape]),
    [['scores', [1, 10]]],
  );

  const server = await createServer(repository);
  t.after(() => server.close());
  const { outputs } = await server.infer(
    'my_digits_2',
    { image: new Float32Array(64) },
    { outputs: [{ name: 'scores', classification: 1 }] },
  );
  assert.match(
    outputs['scores']?.as('BYTES').strings()[0] ?? '',
    /:(zero|one|two|three|four|five|six|seven|eight|nine)$/,
  );
});

test('a file of trees becomes a model; a text that is none does not', async (t) => {
  const folder = await temporaryFolder(t);
  const into = ['--repository', join(folder, 'models')];
  for (const [name, to] of [
    ['xgb_binary_json.json', 'xgboost.json'],
    ['lgb_multiclass.txt', 'model.txt'],
    ['tl_forest_regressor.tl', 'checkpoint.tl'],
  ] as const) {
    const file = join(root, 'test', 'backends', 'fil', 'fixtures', name);
    const { code, stdout } = await command(t, 'init', file, ...into, '--name', to);
    assert.equal(code, 0, stdout);
    const config = await readFile(join(folder, 'models', to, 'config.pbtxt'), 'utf8');
    for (const line of [
      'backend: "fil"',
      'max_batch_size: 32768',
      '  { name: "input__0" data_type: TYPE_FP32 dims: [ 6 ] }',
    ])
      assert.ok(config.split('\n').includes(line), config);
  }
  const text = join(folder, 'names.txt');
  await writeFile(text, 'one\ntwo\n');
  const { code, stderr } = await command(t, 'init', text, ...into);
  assert.equal(code, 2);
  assert.match(stderr, /'.*names\.txt' would not load, so no model was made: /);
});

test('models in code get a configuration to fill in, which loads', async (t) => {
  const folder = await temporaryFolder(t);
  const file = join(folder, 'twice.mjs');
  await writeFile(
    file,
    'import { factor } from "./factor.mjs";\nexport default class { execute(all) { return all.map(({ inputs }) => ({ y: inputs.x.data.map((one) => factor * one) })); } }',
  );
  await writeFile(join(folder, 'factor.mjs'), 'export const factor = 2;');
  const repository = join(folder, 'models');
  const { code, stdout } = await command(
    t,
    ...['init', file, join(folder, 'factor.mjs'), '--repository', repository, '--name', 'doubled'],
  );
  assert.equal(code, 0);
  assert.doesNotMatch(stdout, /would not load/);
  assert.deepEqual((await readdir(join(repository, 'doubled', '1'))).sort(), ['factor.mjs', 'model.mjs']);
  assert.match(
    await readFile(join(repository, 'doubled', 'config.pbtxt'), 'utf8'),
    /Say what the model takes/,
  );
  const server = await createServer(repository);
  t.after(() => server.close());
  const { outputs } = await server.infer('doubled', { x: [1, 2, 3] });
  assert.deepEqual([...(outputs['y']?.as('FP32').data ?? [])], [2, 4, 6]);
});

test('what is there is left as it is, and what would not load is not made; exit code 2', async (t) => {
  const folder = await temporaryFolder(t);
  const repository = join(folder, 'models');
  const file = join(folder, 'net.onnx');
  await writeFile(file, addModel());
  const other = join(folder, 'other');
  await mkdir(join(other, 'model.onnx'), { recursive: true });
  const broken = join(folder, 'broken.onnx');
  await writeFile(broken, 'no model');
  const into = ['--repository', repository];
  assert.equal((await command(t, 'init', file, ...into)).code, 0);
  const before = await readFile(join(repository, 'net', 'config.pbtxt'), 'utf8');
  for (const [args, message] of [
    [[file], /ALREADY_EXISTS: '.*net' is there already; it was left as it is; --name/],
    [[file, '--name', '../up'], /expected the name of a folder for --name/],
    [
      [file, '--name', 'n', '--labels', join(folder, 'none.txt')],
      /NOT_FOUND: there is no file '.*none\.txt'/,
    ],
    [[file, join(other, 'model.onnx'), '--name', 'n'], /is not a file/],
    [[file, file, file, '--name', 'n'], /two files would be called 'net\.onnx'/],
    [[broken], /'.*broken\.onnx' would not load, so no model was made: /],
  ] as const) {
    const { code, stdout, stderr } = await command(t, 'init', ...args, ...into);
    assert.deepEqual([code, stdout], [2, ''], args.join(' '));
    assert.match(stderr, message);
  }
  assert.deepEqual(await readdir(repository), ['net']);
  assert.equal(await readFile(join(repository, 'net', 'config.pbtxt'), 'utf8'), before);
  // Another name is another model.
  assert.equal((await command(t, 'init', file, ...into, '--name', 'again')).code, 0);
  assert.deepEqual((await readdir(repository)).sort(), ['again', 'net']);
});
