import assert from 'node:assert/strict';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { check } from '../../src/cli/check.js';
import { expandConfig } from '../../src/config/schema/expand.js';
import { readModelConfig } from '../../src/config/text/read.js';
import type { CheckedModel } from '../../src/registry/check-repository.js';
import { addModel, detectionModel } from '../support/models.js';
import { temporaryFolder, writeRepository, type RepositoryModel } from '../support/repository.js';
import { configText, identity, onnx, type ConfigOptions, type Context } from '../support/harness.js';
import { command, tritonts } from './run.js';

const repository = async (t: Context, models: Readonly<Record<string, RepositoryModel>>): Promise<string> =>
  writeRepository(await temporaryFolder(t), models);

const completed: RepositoryModel = { versions: { '1': addModel() } };

/** A model with three faults, on lines 2, 3 and 8. */
const faulty: RepositoryModel = {
  config: configText({ more: 'instance_group [ { kind: KIND_CPU passive: true } ]' })
    .replace('max_batch_size: 64', 'max_batch_size: -1')
    .replace('dims: [ 16 ]', 'dims: [ 0 ]'),
  versions: { '1': addModel() },
};

test('good models are a line each, with what was filled in and what has no effect; exit code 0', async (t) => {
  const folder = await repository(t, {
    completed,
    hinted: onnx(undefined, { more: 'optimization { priority: PRIORITY_MAX }' }),
    versions: { ...identity({ more: 'version_policy { all { } }' }), versions: { '1': {}, '7': {} } },
  });
  const { code, stdout, stderr } = await tritonts('check', folder);
  assert.deepEqual([code, stderr], [0, '']);
  const lines = stdout.trimEnd().split('\n');
  assert.deepEqual(
    lines.filter((line) => !line.startsWith(' ')),
    [
      'ok     completed (onnxruntime, version 1)',
      'ok     hinted (onnxruntime, version 1)',
      'ok     versions (identity, versions 1, 7)',
      '3 models, 0 with problems',
    ],
  );
  assert.match(stdout, /^ {7}note: max_batch_size: completed to 4/m);
  assert.match(stdout, /^ {7}note: optimization\.priority: accepted, without effect here/m);
});

test('each good model tells its inputs, outputs and batches, in columns', async (t) => {
  const many: ConfigOptions = {
    backend: 'identity',
    inputs: [{ name: 'x' }, { name: 'some words', datatype: 'BYTES', dims: [-1], optional: true }],
    outputs: [{ name: 'y' }, { name: 'some words', datatype: 'BYTES', dims: [-1] }],
  };
  const model = (options: ConfigOptions): RepositoryModel => ({
    config: configText({ ...many, ...options }),
    versions: { '1': {} },
  });
  const folder = await repository(t, {
    batched: model({ batching: 'max_queue_delay_microseconds: 100' }),
    single: model({ maxBatchSize: 0, batching: false }),
    waits: model({ batching: false }),
    decoupled: {
      config: configText({
        backend: 'javascript',
        more: 'model_transaction_policy { decoupled: true }',
      }),
      versions: { '1': { 'model.mjs': 'export default class { execute() {} }' } },
    },
  });
  const { stdout } = await command(t, 'check', folder);
  const shown = (name: string): string[] => {
    const lines = stdout.split('\n');
    const from = lines.findIndex((line) => line.startsWith(`ok     ${name} `)) + 1;
    const to = lines.findIndex((line, i) => i >= from && !line.startsWith(' '));
    return lines
      .slice(from, to)
      .map((line) => line.trimEnd())
      .filter((line) => !line.includes('note:'));
  };
  assert.deepEqual(shown('batched'), [
    '       input  x           FP32 [batch, 16]',
    '       input  some words  BYTES [batch, -1] (optional)',
    '       output y           FP32 [batch, 16]',
    '       output some words  BYTES [batch, -1]',
    '       batch  up to 64 rows of several requests, which wait for others up to 100 µs',
  ]);
  assert.deepEqual(shown('single').slice(2), [
    '       output y           FP32 [16]',
    '       output some words  BYTES [-1]',
    '       batch  none: max_batch_size is 0, so shapes have no batch dimension',
  ]);
  assert.match(shown('waits').at(-1) ?? '', /up to 64 rows of one request; 'dynamic_batching \{ \}' puts/);
  assert.match(shown('decoupled').at(-1) ?? '', /stream/);
});

test('a written batch size for a model that may return other rows causes a warning', async (t) => {
  const dets: ConfigOptions = {
    inputs: [{ name: 'x', dims: [3] }],
    outputs: [{ name: 'dets', datatype: 'INT64', dims: [2] }],
  };
  const folder = await repository(t, {
    completed: { versions: { '1': detectionModel() } },
    written: onnx(detectionModel(), dets),
  });
  const { code, stdout } = await command(t, 'check', folder);
  assert.equal(code, 0);
  const dims =
    'because the first dimension of output "dets", [num_dets,2], is not that of input "x", [batch,3];';
  assert.ok(stdout.includes(`\n       note: max_batch_size: completed to 0, ${dims}`), stdout);
  assert.ok(
    stdout.includes(`\n       note: max_batch_size: is 64, ${dims.replace('because', 'but')}`),
    stdout,
  );
});

test('a bad model is followed by all of its problems, with file and line; exit code 1', async (t) => {
  const folder = await repository(t, {
    completed,
    faulty,
    missing: { config: configText(), versions: { '2': {} } },
  });
  const { code, stdout, stderr } = await tritonts('check', folder);
  assert.deepEqual([code, stderr], [1, '']);
  assert.match(stdout, /^ok {5}completed/m);
  const problems = stdout
    .slice(stdout.indexOf('FAILED faulty'), stdout.indexOf('FAILED missing'))
    .trimEnd()
    .split('\n');
  const file = `${folder}/faulty/config.pbtxt`;
  assert.deepEqual(
    problems.slice(1).map((line) => line.replace(/(:\d+: [\w.[\]]+): .*/, '$1')),
    [
      `       INVALID_ARG: ${file}:2: max_batch_size`,
      `       INVALID_ARG: ${file}:3: input[0].dims`,
      `       UNSUPPORTED: ${file}:7: instance_group[1].passive`,
    ],
  );
  assert.match(problems[0] ?? '', /: 3 problems$/);
  assert.match(
    stdout,
    /^FAILED missing \(onnxruntime, version 2\): 1 problem\n {7}INTERNAL: .*its file model\.onnx is not there: '.*missing\/2' is empty/m,
  );
  assert.match(stdout, /^3 models, 2 with problems$/m);
});

test('--json prints one object with all of it', async (t) => {
  const folder = await repository(t, { completed, faulty });
  const { code, stdout } = await command(t, 'check', folder, '--json');
  assert.equal(code, 1);
  const { ok, models } = JSON.parse(stdout) as { ok: boolean; models: readonly CheckedModel[] };
  assert.equal(ok, false);
  const [good, bad] = models;
  assert.deepEqual(
    [good?.name, good?.ok, good?.backend, good?.versions],
    ['completed', true, 'onnxruntime', ['1']],
  );
  assert.equal(good?.config?.max_batch_size, 4);
  assert.equal(good.notes.length, 4);
  assert.deepEqual(
    bad?.problems.map((problem) => [problem.code, problem.location?.line, problem.location?.field]),
    [
      ['INVALID_ARG', 2, 'max_batch_size'],
      ['INVALID_ARG', 3, 'input[0].dims'],
      ['UNSUPPORTED', 7, 'instance_group[1].passive'],
    ],
  );
});

test('--config prints complete configurations, which read back equal', async (t) => {
  const folder = await repository(t, { completed });
  const { stdout } = await command(t, 'check', folder, '--config');
  const begin = stdout.indexOf('       name: "completed"');
  const text = stdout.slice(begin, stdout.indexOf('1 model, 0 with problems'));
  const { value } = readModelConfig({ file: 'printed', text });
  const json = JSON.parse((await command(t, 'check', folder, '--json')).stdout) as {
    models: readonly CheckedModel[];
  };
  assert.deepEqual(JSON.parse(JSON.stringify(expandConfig(value))), json.models[0]?.config);
});

test('several repositories are one, and a name in two of them is a problem', async (t) => {
  const [first, second] = [
    await repository(t, { a: completed, b: completed }),
    await repository(t, { b: identity(), c: identity() }),
  ];
  const { code, stdout } = await command(t, 'check', first, second);
  assert.equal(code, 1);
  assert.deepEqual(stdout.match(/^(ok|FAILED) +\w/gm), ['ok     a', 'FAILED b', 'ok     c']);
  assert.ok(stdout.includes(`${first}/b, ${second}/b`), stdout);
});

test('--disable-auto-complete-config completes nothing', async (t) => {
  const { code, stdout } = await command(
    t,
    'check',
    await repository(t, { completed }),
    '--disable-auto-complete-config',
  );
  assert.equal(code, 1);
  assert.match(stdout, /completed\/config\.pbtxt: missing/);
});

test('--library names the runtime to look with', async (t) => {
  const { code, stdout } = await command(
    t,
    'check',
    await repository(t, { completed }),
    '--library',
    '/nowhere/libort.so',
  );
  assert.equal(code, 1);
  assert.match(stdout, /UNAVAILABLE: .*\/nowhere\/libort\.so/);
});

test('--backend-directory has the backends in JavaScript that models name', async (t) => {
  const { config = '', versions = {} } = identity();
  const folder = await repository(t, { own: { config: config.replace('"identity"', '"own"'), versions } });
  const backends = await temporaryFolder(t);
  await mkdir(join(backends, 'own'));
  await writeFile(join(backends, 'own', 'model.mjs'), 'export default class { execute() {} }');
  const { code, stdout } = await command(t, 'check', folder, '--backend-directory', backends);
  assert.equal(code, 0, stdout);
  assert.match(stdout, /^ok {5}own \(own, version 1\)$/m);
  const without = await command(t, 'check', folder);
  assert.equal(without.code, 1);
  assert.match(
    without.stdout,
    /unknown backend 'own'; the backends are fil, identity, javascript, onnxruntime, openvino, python, pytorch, tensorflow, tensorrt\. As a plug-in: unable to find backend library for backend 'own', try specifying runtime on the model configuration\. Looked for: there is no 'libtriton_own\.so' in .*; backendDirectory of createServer names a folder of backends$/m,
  );
});

test('--trusted-folder names folders that configurations may use, as the option of a server', async (t) => {
  const folder = await temporaryFolder(t);
  const models = { m: onnx(undefined, { parameters: { profile_file_prefix: join(folder, 'run') } }) };
  const path = await repository(t, models);
  const { code, stdout } = await command(t, 'check', path);
  assert.equal(code, 1);
  assert.match(stdout, /INVALID_ARG: .*parameters\["profile_file_prefix"\]: .*trustedFolders/);
  const trusting = await command(
    t,
    'check',
    path,
    '--trusted-folder',
    '/nowhere',
    '--trusted-folder',
    folder,
  );
  assert.equal(trusting.code, 0, trusting.stdout);
});

for (const [args, message] of [
  [[], /check needs a repository\n\n.*Usage: tritonts check/s],
  [['/nowhere/at/all'], /NOT_FOUND: model repository '\/nowhere\/at\/all'/],
  [['.', '--jsn'], /unknown option --jsn \(did you mean --json\?\)\n.*Usage: tritonts check .* --json /s],
  [['.', '--instance-kind', 'gpu'], /expected 'cpu' for --instance-kind but received 'gpu'/],
  [['.', '--library'], /--library/],
] as const) {
  test(`'check ${args.join(' ')}' is a wrong command line; exit code 2`, async (t) => {
    const { code, stdout, stderr } = await command(t, 'check', ...args);
    assert.deepEqual([code, stdout], [2, '']);
    assert.match(stderr, message);
  });
}

test('--help tells options and exit codes', async (t) => {
  const { code, stdout } = await command(t, 'check', '--help');
  assert.equal(code, 0);
  for (const text of ['--json', '--config', '--library', 'Exit code']) assert.ok(stdout.includes(text));
});

test('progress is shown on a terminal only, and is gone at the end', async (t) => {
  const folder = await repository(t, { a: identity(), b: identity() });
  t.mock.method(console, 'log', () => undefined);
  const write = t.mock.method(process.stderr, 'write', () => true);
  const { isTTY } = process.stderr;
  t.after(() => Object.assign(process.stderr, { isTTY }));
  const shown = async (terminal: boolean, ...args: readonly string[]): Promise<string> => {
    write.mock.resetCalls();
    Object.assign(process.stderr, { isTTY: terminal });
    await check([folder, ...args]);
    return write.mock.calls.map((call) => String(call.arguments[0])).join('');
  };
  assert.equal(await shown(true), '\r\u001b[Kchecking 1 of 2: a\r\u001b[Kchecking 2 of 2: b\r\u001b[K');
  assert.equal(await shown(true, '--json'), '');
  assert.equal(await shown(false), '');
});
