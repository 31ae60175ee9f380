/** A bundle that contains the package reports its missing parts, even if its addon is found. */

// Long: it compiles or bundles programs.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { rollup } from 'rollup';
import { root } from '../support/project.js';

const dependencies = ['onnxruntime-node', 'piscina'];
const advice = /leave tritonts and onnxruntime-node outside of it.*esbuild --external:tritonts/;

describe('a bundle that contains tritonts', () => {
  let folder = '';
  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'tritonts-bundle-'));
    // Three folders below, so that the addon is found where it is beside the package's own files.
    mkdirSync(join(folder, 'dist', 'src', 'app'), { recursive: true });
    symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
    symlinkSync(join(root, 'build'), join(folder, 'build'));
    writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
    const bundle = await rollup({
      input: join(root, 'dist', 'src', 'index.js'),
      external: (id) => id.startsWith('node:') || dependencies.includes(id),
      logLevel: 'silent',
    });
    await bundle.write({
      file: join(folder, 'dist', 'src', 'app', 'bundle.js'),
      format: 'es',
      inlineDynamicImports: true,
    });
    await bundle.close();
  });
  after(() => {
    rmSync(folder, { recursive: true, force: true });
  });

  function run(program: string): string {
    const file = join(folder, 'dist', 'src', 'app', 'main.js');
    writeFileSync(file, program);
    const { stdout, stderr, status } = spawnSync(process.execPath, [file], {
      encoding: 'utf8',
      timeout: 60_000,
    });
    assert.equal(status, 0, stderr);
    return stdout;
  }
  /** Loads the model, and returns the error's text. */
  function load(model: string, files: Readonly<Record<string, string>>): string {
    for (const [path, text] of Object.entries(files)) {
      const file = join(folder, 'models', model, path);
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, text);
    }
    return run(`
import { createServer } from './bundle.js';
const server = await createServer(${JSON.stringify(join(folder, 'models'))}, { modelControlMode: 'explicit' });
try {
  await server.loadModel('${model}');
  console.log('loaded');
} catch (error) {
  console.log(error.reason, error.message);
}
await server.close();`);
  }
  const io =
    'input { name: "x" data_type: TYPE_FP32 dims: 1 } output { name: "y" data_type: TYPE_FP32 dims: 1 }';

  test('says which file JavaScript models need', () => {
    const said = load('j', {
      'config.pbtxt': `backend: "javascript" ${io}`,
      '1/model.mjs': 'export default { execute: (requests) => requests.map(() => ({})) };',
    });
    assert.match(said, /^MISSING/);
    assert.match(said, /model-thread-entry\.cjs', which JavaScript models need/);
    assert.match(said, advice);
  });

  test('says which file Python models need', (t) => {
    if (spawnSync('python3', ['--version']).status !== 0) {
      t.skip('there is no python3');
      return;
    }
    const said = load('p', {
      'config.pbtxt': `backend: "python" ${io}`,
      '1/model.py': 'class TritonPythonModel:\n  def execute(self, requests):\n    return []\n',
    });
    assert.match(said, /^MISSING/);
    assert.match(said, /stub\.py', which Python models need/);
    assert.match(said, advice);
  });

  test('says as CommonJS that it is one, where nothing is left of import.meta.url', () => {
    // As esbuild writes it.
    const file = join(folder, 'dist', 'src', 'app', 'empty.cjs');
    const text = readFileSync(join(folder, 'dist', 'src', 'app', 'bundle.js'), 'utf8');
    writeFileSync(file.replace('.cjs', '.mjs'), text.replaceAll('import.meta.url', '({}).url'));
    const { stderr, status } = spawnSync(process.execPath, [file.replace('.cjs', '.mjs')], {
      encoding: 'utf8',
    });
    assert.notEqual(status, 0);
    assert.match(stderr, /tritonts is in a bundle of CommonJS/);
    assert.match(stderr, advice);
  });
});

test('a bundle of the client says that gRPC needs protobufjs, where it is not beside it', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'tritonts-bundle-client-'));
  try {
    const bundle = await rollup({
      input: join(root, 'dist', 'src', 'client', 'index.js'),
      external: (id) => id.startsWith('node:'),
      logLevel: 'silent',
    });
    for (const format of ['es', 'cjs'] as const)
      await bundle.write({ file: join(folder, `bundle.${format === 'es' ? 'mjs' : 'cjs'}`), format });
    await bundle.close();
    // As esbuild writes it.
    const common = join(folder, 'bundle.cjs');
    writeFileSync(
      common,
      readFileSync(common, 'utf8').replaceAll(/new URL\('bundle\.cjs'.*?\)\.href/g, 'undefined'),
    );
    for (const file of ['bundle.mjs', 'bundle.cjs']) {
      const program = `import(${JSON.stringify(join(folder, file))}).then(({ connectServer }) =>
        connectServer('grpc://127.0.0.1:1')).catch(({ reason, message }) => console.log(reason, message))`;
      const { stdout } = spawnSync(process.execPath, ['--eval', program], {
        encoding: 'utf8',
        timeout: 60_000,
      });
      assert.match(stdout, /^MISSING protobufjs\/light\.js.*install protobufjs beside tritonts/, file);
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
