// Long: it starts many processes.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { identity, rejection, serve, start, type Context } from '../support/harness.js';
import { addModel } from '../support/models.js';
import { copyCode, root } from '../support/project.js';
import { temporaryFolder, writeRepository, type RepositoryModel } from '../support/repository.js';
import { command, tritonts } from './run.js';

const pointer = `version https://git-lfs.github.com/spec/v1
oid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393
size 12345
`;
const text = (content: string): Uint8Array => new TextEncoder().encode(content);
const onnxFile = addModel();
const javascript = `backend: "javascript"
input [ { name: "x" data_type: TYPE_FP32 dims: [ 1 ] } ]
output [ { name: "y" data_type: TYPE_FP32 dims: [ 1 ] } ]`;

/** Models as newcomers write them, and the expected messages. */
const models: readonly (readonly [what: string, model: RepositoryModel, ...told: RegExp[]])[] = [
  [
    'a model without a version folder',
    { files: { 'model.onnx': onnxFile } },
    /no version folder .* such as m\/1\): '.*\/m' holds model\.onnx\. Move model\.onnx to .*\/m\/1\/model\.onnx$/,
  ],
  [
    'one with a configuration',
    { config: 'backend: "onnxruntime"', files: { 'net.onnx': onnxFile } },
    /no version folder.* holds config\.pbtxt, net\.onnx\. Move net\.onnx to .*\/m\/1\/model\.onnx$/,
  ],
  ['an empty folder', { files: {} }, /no version folder.* is empty\. Put the model at .*\/m\/1\/model\.onnx/],
  [
    'a JavaScript model without a version folder',
    { config: javascript, files: { 'model.mjs': text('export default {};') } },
    /no version folder.*Move model\.mjs to .*\/m\/1\/model\.mjs$/,
  ],
  [
    'a configuration alone',
    { config: javascript },
    /no version folder.* holds config\.pbtxt\. Put the model at .*\/m\/1\/model\.js, or/,
  ],
  ['a version called v1', { versions: { v1: onnxFile } }, /no version folder.* holds v1\. Rename v1 to 1$/],
  [
    'a file of another name',
    { versions: { '1': { 'net.onnx': onnxFile } } },
    /holds net\.onnx .*Rename net\.onnx to model\.onnx, or write in config\.pbtxt backend: "onnxruntime" default_model_filename: "net\.onnx"$/,
  ],
  [
    'two files of other names',
    { versions: { '1': { 'b.onnx': onnxFile, 'a.onnx': onnxFile } } },
    /Say which file is the model: write in config\.pbtxt .* default_model_filename: "a\.onnx"$/,
  ],
  [
    'a file of another name and a backend',
    { config: 'backend: "onnxruntime"', versions: { '1': { 'net.onnx': onnxFile } } },
    /its file model\.onnx is not there: '.*\/m\/1' holds net\.onnx\. Rename net\.onnx to model\.onnx, or write default_model_filename: "net\.onnx"/,
  ],
  [
    'an empty newest version',
    { versions: { '1': onnxFile, '2': {} } },
    /version 2: its file model\.onnx is not there: '.*\/m\/2' is empty, and version 1 has it\. .*remove the folder to have version 1 served$/,
  ],
  [
    'a Git LFS pointer',
    { versions: { '1': text(pointer) } },
    /model\.onnx' is a Git LFS pointer .* of 12345 bytes: run 'git lfs pull'/,
  ],
  [
    'a web page',
    { versions: { '1': text('\n<!DOCTYPE html><html><title>404</title></html>') } },
    /is a web page/,
  ],
  ['a zip archive', { versions: { '1': text('PK\u0003\u0004archive/data.pkl') } }, /is a zip archive/],
  ['JSON', { versions: { '1': text('{ "error": "not found" }') } }, /is JSON/],
  ['an empty file', { versions: { '1': new Uint8Array() } }, /model\.onnx' is empty/],
];

for (const [what, model, told] of models) {
  test(`${what}: createServer and check say what is there and what to do`, async (t) => {
    const folder = await writeRepository(await temporaryFolder(t), { m: model });
    const error = await rejection(start(t, folder));
    // As in Triton, a fault of a version's file is INTERNAL, and one of a folder INVALID_ARG.
    const wrong = /model 'm', version \d+: /.test(error.message) ? 'INTERNAL' : 'INVALID_ARG';
    assert.deepEqual([error.code, error.model], [wrong, 'm']);
    assert.match(error.message, told as RegExp);
    const { code, stdout } = await command(t, 'check', folder);
    assert.equal(code, 1);
    assert.match(stdout.split('\n')[1] ?? '', told as RegExp);
  });
}

test('an ensemble without a version folder is told to have an empty one', async (t) => {
  const step =
    'step [ { model_name: "part" model_version: -1 input_map { key: "x" value: "x" } output_map { key: "y" value: "y" } } ]';
  const folder = await writeRepository(await temporaryFolder(t), {
    m: {
      config: `platform: "ensemble"
input [ { name: "x" data_type: TYPE_FP32 dims: [ 16 ] } ]
output [ { name: "y" data_type: TYPE_FP32 dims: [ 16 ] } ]
ensemble_scheduling { ${step} }`,
    },
    part: identity(),
  });
  const { message } = await rejection(start(t, folder));
  assert.match(message, /no file, but it needs an empty version folder: mkdir .*\/m\/1$/m);
});

test('a link that leads nowhere is told in place of the file', async (t) => {
  const config = 'backend: "onnxruntime"';
  const folder = await writeRepository(await temporaryFolder(t), { m: { config, versions: { '1': {} } } });
  await symlink('/no/such/file', join(folder, 'm', '1', 'model.onnx'));
  const { message } = await rejection(start(t, folder));
  assert.match(message, /'.*model\.onnx' is a link to '\/no\/such\/file', which does not exist$/);
});

/** Paths that newcomers pass instead of a repository. */
const repositories: readonly (readonly [
  what: string,
  files: readonly string[],
  give: string,
  told: RegExp,
])[] = [
  [
    'an empty folder',
    [],
    '.',
    /has no models: it is empty\. A model is a folder with numbered version folders/,
  ],
  ['a folder of other files', ['README.md'], '.', /has no models: it holds README\.md\./],
  [
    'a folder of a model file',
    ['net.onnx'],
    '.',
    /it holds net\.onnx: give the file itself, '.*\/net\.onnx'/,
  ],
  [
    "a model's own folder",
    ['m/1/model.onnx'],
    'm',
    /\/m' is a model's folder .*Pass its parent '[^']*(?<!\/m)'$/,
  ],
  ['one with an empty version', ['m/1/model.onnx', 'm/2/notes.txt'], 'm', /is a model's folder/],
  [
    "a version's folder",
    ['m/1/model.onnx'],
    'm/1',
    /holds model\.onnx, as a version of a model does: give '[^']*(?<!\/m)'$/,
  ],
  [
    "a JavaScript version's folder",
    ['m/1/model.mjs'],
    'm/1',
    /as a version of a model does: give '[^']*(?<!\/m)'$/,
  ],
  [
    'a folder with a number as its name',
    ['2/net.onnx'],
    '2',
    /give the file itself, '.*\/2\/net\.onnx', to serve it alone$/,
  ],
];

for (const [what, files, give, told] of repositories) {
  test(`${what} in place of a repository: createServer rejects and check ends with 2`, async (t) => {
    const folder = await temporaryFolder(t);
    for (const file of files) {
      await mkdir(dirname(join(folder, file)), { recursive: true });
      await writeFile(join(folder, file), onnxFile);
    }
    const repository = join(folder, give);
    const error = await rejection(start(t, repository));
    assert.equal(error.code, 'INVALID_ARG');
    assert.match(error.message, told);
    const { code, stdout, stderr } = await command(t, 'check', repository);
    assert.deepEqual([code, stdout], [2, '']);
    assert.equal(stderr, `tritonts: INVALID_ARG: ${error.message}\n`);
  });
}

test('a model that is called 1 is a model', async (t) => {
  const server = await serve(t, { '1': identity() });
  assert.deepEqual(
    server.index().map(({ name }) => name),
    ['1'],
  );
});

/** A copy of the package's code in a folder that finds no onnxruntime-node. */
async function packageAlone(t: Context): Promise<string> {
  const folder = await temporaryFolder(t);
  await copyCode(folder);
  await symlink(join(root, 'build'), join(folder, 'build'));
  return folder;
}

test('a runtime that is not installed is reported once, with the models that need it', async (t) => {
  const folder = await packageAlone(t);
  const add = { versions: { '1': onnxFile } };
  const repository = await writeRepository(join(folder, 'models'), { a: add, b: add, c: add });
  const program = `import { createServer } from './dist/src/index.js';
    await createServer('models').catch(({ code, message }) => console.log(code + '\\n' + message));`;
  const run = promisify(execFile);
  const { stdout } = await run(process.execPath, ['--input-type=module', '--eval', program], { cwd: folder });
  const [code, , ...reasons] = stdout.trimEnd().split('\n');
  assert.equal(code, 'UNAVAILABLE');
  assert.equal(reasons.length, 1);
  assert.match(
    reasons[0] ?? '',
    /^ {2}a, b, c: .*onnxruntime-node.*was not found.*npm install onnxruntime-node/,
  );
  const main = join(folder, 'dist', 'src', 'cli', 'main.js');
  const checked = await run(process.execPath, [main, 'check', repository], { cwd: folder }).catch(
    (error: unknown) => error as { readonly stdout: string },
  );
  assert.equal(checked.stdout.split('was not found').length, 2);
  assert.equal(checked.stdout.split('UNAVAILABLE: as for a, above').length, 3);
});

test('a library that cannot be opened is reported once, with the models that need it', async (t) => {
  const add = { versions: { '1': onnxFile } };
  const backendConfig = { onnxruntime: { library: '/no/such/libonnxruntime.so' } };
  const error = await rejection(serve(t, { a: add, b: add }, { backendConfig }));
  assert.match(error.message, /^2 of 2 .*:\n {2}a, b: the ONNX Runtime library '[^']+' can't be read[^\n]*$/);
});

test('control characters in names, files and messages do not reach the terminal', async (t) => {
  const folder = await temporaryFolder(t);
  const evil = 'a\u001b[2J\u009b31m\nb\u202e';
  await writeRepository(folder, {
    [evil]: { versions: { '1': onnxFile } },
    other: { versions: { '1': { [evil]: onnxFile } } },
    read: { config: `backend: "\u001b[31m"`, versions: { '1': onnxFile } },
  });
  const control = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202a-\u202e]/;
  for (const args of [
    ['check', folder],
    ['check', folder, '--json'],
    ['types', folder],
    ['check', evil],
    [evil],
  ]) {
    const { stdout, stderr } = await tritonts(...args);
    assert.ok((stdout + stderr).includes('\\u001b'), `nothing was escaped by ${args[0]}`);
    assert.doesNotMatch(stdout, control);
    assert.doesNotMatch(stderr, control);
  }
  const { stdout } = await command(t, 'check', folder);
  assert.match(stdout, /^ok {5}a\\u001b\[2J\\u009b31m\\nb\\u202e \(onnxruntime, version 1\)$/m);
  const { models } = JSON.parse((await command(t, 'check', folder, '--json')).stdout) as {
    models: readonly { name: string }[];
  };
  assert.equal(models[0]?.name, evil);
});
