/** The settings that the native side gets. */

import assert from 'node:assert/strict';
import { mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import type { BackendContext } from '../../../src/backends/context.js';
import { backend } from '../../../src/backends/tensorflow/index.js';
import { expandConfig } from '../../../src/config/index.js';
import { TritonError } from '../../../src/index.js';
import type { BackendConfig } from '../../../src/options.js';
import { thrown, type Context } from '../../support/harness.js';
import { root } from '../../support/project.js';
import { temporaryFolder, writeRepository } from '../../support/repository.js';

const library = '/opt/libs/libtensorflow_cc.so.2';

function settingsOf(
  parameters: Readonly<Record<string, string>>,
  options: BackendConfig = {},
  more: Partial<BackendContext> = {},
  platform = 'tensorflow_savedmodel',
): Record<string, string> {
  const written = Object.entries(parameters).map(([key, string_value]) => [key, { string_value }] as const);
  return backend.settings({
    config: expandConfig({
      ...{ name: 'm', backend: 'tensorflow', platform, parameters: Object.fromEntries(written) },
    }),
    modelDirectory: undefined,
    versionDirectory: undefined,
    trustedFolders: [],
    options: { library, ...options },
    cores: 6,
    spinCores: 0,
    fault: (field, text, code = 'INVALID_ARG') => new TritonError(code, `${field}: ${text}`),
    boundCores: undefined,
    devices: [-1],
    noGpu: () => undefined,
    ...more,
  });
}

const normal = {
  library,
  format: 'savedmodel',
  tag: 'serve',
  intra_op_threads: '6',
  inter_op_threads: '1',
  share: '1',
  soft_placement: 'true',
};

test('without parameters a model has the cores, and one thread runs a batch', () => {
  assert.deepEqual(settingsOf({}), normal);
  assert.deepEqual(settingsOf({}, {}, {}, 'tensorflow_graphdef'), { ...normal, format: 'graphdef' });
});

test('parameters choose the part of a model, the threads and the sessions', () => {
  const parameters = {
    TF_GRAPH_TAG: 'train',
    TF_SIGNATURE_DEF: 'other',
    TF_NUM_INTRA_THREADS: '3',
    TF_NUM_INTER_THREADS: '2',
    TF_USE_PER_SESSION_THREADS: 'ON',
    MAX_SESSION_SHARE_COUNT: '4',
  };
  assert.deepEqual(settingsOf(parameters), {
    ...normal,
    tag: 'train',
    signature: 'other',
    intra_op_threads: '3',
    inter_op_threads: '2',
    session_threads: 'true',
    share: '4',
  });
  const zeros = { TF_NUM_INTRA_THREADS: '0', TF_NUM_INTER_THREADS: '0', MAX_SESSION_SHARE_COUNT: '9999999' };
  assert.deepEqual(settingsOf(zeros), { ...normal, share: '1024' });
});

test('booleans are those of Triton', () => {
  for (const value of ['true', 'On', '1', 'TRUE'])
    assert.equal(settingsOf({ TF_USE_PER_SESSION_THREADS: value })['session_threads'], 'true', value);
  for (const value of ['false', 'off', '0', 'OFF'])
    assert.equal(settingsOf({ TF_USE_PER_SESSION_THREADS: value })['session_threads'], undefined, value);
  const error = thrown(() => settingsOf({ TF_USE_PER_SESSION_THREADS: 'yes' }));
  assert.match(
    error.message,
    /^parameters\["TF_USE_PER_SESSION_THREADS"\]: failed to convert 'yes' to boolean/,
  );
});

test("the options of the backend apply where the model's parameters say nothing", () => {
  const options = { TF_NUM_INTRA_THREADS: 2, TF_GRAPH_TAG: 'a', 'allow-soft-placement': false };
  assert.deepEqual(settingsOf({ TF_GRAPH_TAG: 'b' }, options), {
    ...normal,
    tag: 'b',
    intra_op_threads: '2',
    soft_placement: 'false',
  });
  assert.deepEqual(settingsOf({}, { 'gpu-memory-fraction': 0.5, version: 2 }), normal);
});

test('a wrong value is an error with the field', () => {
  for (const [key, value, expected] of [
    ['TF_NUM_INTRA_THREADS', '-1', /a whole number from 0/],
    ['TF_NUM_INTER_THREADS', '1.5', /a whole number from 0/],
    ['MAX_SESSION_SHARE_COUNT', '0', /a number of instances, 1 or more, but received '0'/],
    ['TF_INIT_OPS_FILE', 'start.json', /a model given as bytes has none/],
  ] as const) {
    const error = thrown(() => settingsOf({ [key]: value }));
    assert.equal(error.code, 'INVALID_ARG');
    assert.ok(error.message.startsWith(`parameters["${key}"]: `), error.message);
    assert.match(error.message, expected);
  }
  for (const [options, expected] of [
    [{ version: 1 }, /expected 2, .* for backendConfig\.tensorflow\['version'\] but received '1'/],
    [{ 'gpu-memory-fraction': 1.5 }, /a number from 0 to 1 for backendConfig/],
    [{ 'allow-soft-placement': 'maybe' }, /\['allow-soft-placement'\]: failed to convert 'maybe' to boolean/],
  ] as const)
    assert.match(thrown(() => settingsOf({}, options)).message, expected);
});

/** A model's folder with a version, both with a file of operations, and files outside of it. */
async function withInitOps(t: Context): Promise<{ folder: string; read: (file: string) => string }> {
  const folder = await temporaryFolder(t);
  const ops = (name: string): string => JSON.stringify({ init_ops: [name, 'more'] });
  await writeRepository(folder, {
    m: {
      versions: { '1': { 'both.json': ops('version') } },
      files: { 'both.json': ops('model'), 'one.json': ops('one') },
    },
    other: { files: { 'secret.json': ops('secret') } },
  });
  await mkdir(join(folder, 'm', '1', 'folder.json'));
  await symlink(join(folder, 'other', 'secret.json'), join(folder, 'm', 'link.json'));
  const more = { modelDirectory: join(folder, 'm'), versionDirectory: join(folder, 'm', '1') };
  const read = (file: string): string => settingsOf({ TF_INIT_OPS_FILE: file }, {}, more)['init_ops'] ?? '';
  return { folder, read };
}

test("operations are in a file of the version's folder or, if it is not there, of the model's", async (t) => {
  const { folder, read } = await withInitOps(t);
  assert.equal(read('both.json'), 'version\nmore');
  assert.equal(read('one.json'), 'one\nmore');
  for (const [file, expected] of [
    ['link.json', /link\.json' leads to .*secret\.json': expected a file in the version's folder/],
    ['../../other/secret.json', /leads to/],
    [join(folder, 'other', 'secret.json'), /leads to/],
    ['none.json', /there is no file 'none\.json' in '.*1' or '.*m'/],
    ['folder.json', /folder\.json' is not a file/],
    ['a\0b', /cannot be resolved/],
  ] as const) {
    const error = thrown(() => read(file));
    assert.equal(error.code, 'INVALID_ARG');
    assert.match(error.message, expected);
    assert.ok(error.message.startsWith('parameters["TF_INIT_OPS_FILE"]: '), error.message);
  }
});

test('a file of operations with other content is an error that says what is expected', async (t) => {
  const { folder, read } = await withInitOps(t);
  for (const [content, expected] of [
    ['', /expected \{"init_ops": \["operation", …\]\}, but it is not JSON/],
    ['[1]', /there is no list init_ops/],
    ['null', /there is no list init_ops/],
    ['{"init_ops": "a"}', /there is no list init_ops/],
    ['{"init_ops": ["a", 1]}', /expected the name of an operation for init_ops\[1\] but found 1/],
    ['{"init_ops": ["a\\nb"]}', /for init_ops\[0\]/],
    ['{"init_ops": [""]}', /for init_ops\[0\]/],
    [' '.repeat(1024 * 1024 + 1), /has more than 1048576 bytes/],
  ] as const) {
    await writeFile(join(folder, 'm', 'wrong.json'), content);
    assert.match(thrown(() => read('wrong.json')).message, expected);
  }
});

test('the page has every parameter', async () => {
  const page = await readFile(join(root, 'docs', 'frameworks.md'), 'utf8');
  for (const key of [...Object.keys(backend.rules?.parameters ?? {}), ...backend.optionKeys])
    assert.ok(page.includes(`\`${key}\``) || page.includes(`'${key}'`), key);
});
