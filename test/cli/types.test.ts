// Long: it compiles or bundles programs.

import assert from 'node:assert/strict';
import { copyFile, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { configText, identity } from '../support/harness.js';
import { compile, linkPackages, root } from '../support/project.js';
import { temporaryFolder, writeRepository } from '../support/repository.js';
import { command, tritonts } from './run.js';

const tensors = [{ name: 'x' }, { name: 'some words', datatype: 'BYTES', dims: [1] }] as const;
const outputs = [{ name: 'y' }, { name: 'some words', datatype: 'BYTES', dims: [1] }] as const;
const typed = {
  ...identity({ inputs: tensors, outputs }),
  config: configText({ backend: 'identity', inputs: tensors, outputs }).replace(
    'name: "some words" data_type: TYPE_STRING',
    'name: "some words" optional: true data_type: TYPE_STRING',
  ),
};

/** Models in JavaScript, of each kind. */
const code = { '1': { 'model.js': 'export default { execute: (requests) => requests.map(() => ({})) };' } };
const kinds = {
  words: {
    config: `backend: "javascript" model_transaction_policy { decoupled: true }
      input { name: "text" data_type: TYPE_STRING dims: 1 } output { name: "word" data_type: TYPE_STRING dims: 1 }`,
    versions: code,
  },
  sums: {
    config: `backend: "javascript" max_batch_size: 4
      input { name: "x" data_type: TYPE_INT32 dims: 1 } output { name: "y" data_type: TYPE_INT32 dims: 1 }
      sequence_batching {
        control_input { name: "START" control { kind: CONTROL_SEQUENCE_START int32_false_true: [ 0, 1 ] } }
        state { input_name: "sum_in" output_name: "sum_out" data_type: TYPE_INT32 dims: 1 }
      }`,
    versions: code,
  },
  reshaped: {
    config: `backend: "javascript" max_batch_size: 2
      input { name: "x" data_type: TYPE_FP32 dims: 4 reshape { shape: [ 2, 2 ] } }
      output { name: "y" data_type: TYPE_FP32 dims: 4 reshape { shape: [ 2, 2 ] } }`,
    versions: code,
  },
};

test('types declares which models are decoupled, and nothing of what the server adds to tensors', async (t) => {
  const repository = await writeRepository(await temporaryFolder(t), kinds);
  const { code: exit, stdout } = await tritonts('types', repository);
  assert.equal(exit, 0);
  assert.match(
    stdout,
    / {4}words: \{\n {6}inputs: \{ text: 'BYTES' \};\n {6}outputs: \{ word: 'BYTES' \};\n {6}decoupled: true;\n {4}\};/,
  );
  assert.match(
    stdout,
    / {4}sums: \{\n {6}inputs: \{ x: 'INT32' \};\n {6}outputs: \{ y: 'INT32' \};\n {4}\};/,
  );
});

test('types declares names, inputs, outputs and element types', async (t) => {
  const repository = await writeRepository(await temporaryFolder(t), { typed, 'a-b': identity() });
  const { code, stdout, stderr } = await tritonts('types', repository);
  assert.deepEqual([code, stderr], [0, '']);
  assert.equal(
    stdout,
    `// Written by 'npx tritonts types'.
import 'tritonts';

declare module 'tritonts' {
  interface ModelRegistry {
    "a-b": {
      inputs: { x: 'FP32' };
      outputs: { y: 'FP32' };
    };
    typed: {
      inputs: { x: 'FP32'; "some words"?: 'BYTES' };
      outputs: { y: 'FP32'; "some words": 'BYTES' };
    };
  }
}
`,
  );
});

test("a program is compiled with what types wrote, and with the package's own types", async (t) => {
  const folder = await temporaryFolder(t);
  const repository = await writeRepository(await temporaryFolder(t), { typed, ...kinds });
  const { code: exit } = await command(t, 'types', repository, '--output', join(folder, 'models.d.ts'));
  assert.equal(exit, 0);
  await linkPackages(folder, 'onnxruntime-node', 'onnxruntime-common', '@types');
  await writeFile(join(folder, 'package.json'), '{ "type": "module" }');
  await copyFile(join(root, 'test', 'types', 'consumer', 'use.ts'), join(folder, 'use.ts'));
  await copyFile(join(root, 'test', 'types', 'consumer', 'kinds.ts'), join(folder, 'kinds.ts'));
  const options = ['--noEmit', '--strict', '--target', 'es2022', '--types', 'node'];
  // ONNX Runtime's own types need the lib of the DOM.
  const libraries = ['--lib', 'es2023,esnext.disposable,dom'];
  const files = ['use.ts', 'kinds.ts', 'models.d.ts'];
  // Other kinds of modules are tried with the tarball, by npm test -- package: a compiler takes seconds.
  const modules = ['--module', 'nodenext', '--exactOptionalPropertyTypes'];
  assert.equal(await compile(folder, ...options, ...libraries, ...modules, ...files), '');

  // With a closed registry other names are errors.
  const strict = join(folder, 'strict.d.ts');
  assert.equal((await command(t, 'types', repository, '--strict', '--output', strict)).code, 0);
  assert.match(
    await readFile(strict, 'utf8'),
    /^ {2}interface RegistryOptions \{\n {4}strict: true;\n {2}\}$/m,
  );
  await copyFile(join(root, 'test', 'types', 'consumer', 'strict.ts'), join(folder, 'closed.ts'));
  // The declarations of the package and its libraries were checked above, which takes most of the compiler's time.
  const closed = ['--skipLibCheck', 'closed.ts', 'strict.d.ts'];
  assert.equal(await compile(folder, ...options, ...libraries, ...modules, ...closed), '');
});

test('the types of the package are one file that names nothing internal', async () => {
  const text = await readFile(join(root, 'dist', 'src', 'index.d.ts'), 'utf8');
  const imports = [...text.matchAll(/from '([^']+)'/g)].map(([, from]) => from);
  assert.deepEqual(
    imports.filter((from) => from?.startsWith('.')),
    [],
  );
  for (const internal of ['@internal', 'ModelHandle', 'EngineConnection', 'NativeServer']) {
    assert.ok(!text.includes(internal), internal);
  }
});

test('a model that would not load is reported, and nothing is written; exit code 1', async (t) => {
  const folder = await temporaryFolder(t);
  const repository = await writeRepository(await temporaryFolder(t), {
    typed,
    wrong: { config: 'max_batch_size: -1', versions: { '1': {} } },
  });
  const output = join(folder, 'models.d.ts');
  const { code, stdout, stderr } = await command(t, 'types', repository, '--output', output);
  assert.deepEqual([code, stdout], [1, '']);
  assert.match(stderr, /^tritonts: wrong: INVALID_ARG: /);
  await assert.rejects(readFile(output), { code: 'ENOENT' });
});

test('a wrong command line is reported; exit code 2', async (t) => {
  const { code, stderr } = await command(t, 'types');
  assert.equal(code, 2);
  assert.match(stderr, /types needs a repository/);
});
