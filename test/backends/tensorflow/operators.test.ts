/** Libraries of operators of a model's own: they are opened from trusted folders, before the model is read. */

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { after, test } from 'node:test';
import { promisify } from 'node:util';
import protobuf from 'protobufjs/minimal.js';
import { tensorFlowLibrary } from '../../../src/backends/tensorflow/library.js';
import { configText, floats, rejection, serve } from '../../support/harness.js';
import { root } from '../../support/project.js';
import { temporaryFolder, type RepositoryModel } from '../../support/repository.js';
import { needsTensorFlow } from './models.js';

const run = promisify(execFile);
const field = 'model_operations.op_library_filename[0]';

/** Compiles the library of operators. A text is the reason why there is none. */
async function build(folder: string): Promise<{ readonly path: string } | { readonly reason: string }> {
  if (needsTensorFlow.skip !== false) return { reason: needsTensorFlow.skip };
  const compiler = process.env['CXX'] ?? 'g++';
  try {
    await run(compiler, ['--version']);
  } catch (error) {
    return { reason: `no C++ compiler: ${error instanceof Error ? error.message : String(error)}` };
  }
  const library = tensorFlowLibrary({});
  const beside = await readdir(dirname(library));
  const framework = beside.find((name) => name.startsWith('libtensorflow_framework.so'));
  const libraries = [library, ...(framework === undefined ? [] : [join(dirname(library), framework)])];
  const path = join(folder, 'libtriple.so');
  const source = join(root, 'test', 'support', 'custom-ops', 'tensorflow_ops.cc');
  const flags = ['-std=c++17', '-Wall', '-Wextra', '-Werror', '-shared', '-fPIC'];
  await run(compiler, [...flags, '-o', path, source, ...libraries]);
  return { path };
}

const built = await build(await temporaryFolder({ after }));
const path = 'path' in built ? built.path : '';
const needsLibrary = { skip: 'reason' in built && built.reason };
if ('reason' in built) console.error(`operators of TensorFlow are NOT tested: ${built.reason}`);

/** A frozen graph with y = 3 x, by an operator of the library. */
function tripleGraph(): Uint8Array {
  const { Writer } = protobuf;
  const attribute = (name: string, value: Uint8Array): Uint8Array =>
    Writer.create().uint32(0x0a).string(name).uint32(0x12).bytes(value).finish();
  const node = (name: string, operator: string, inputs: string[], attributes: Uint8Array[]): Uint8Array => {
    const writer = Writer.create().uint32(0x0a).string(name).uint32(0x12).string(operator);
    for (const input of inputs) writer.uint32(0x1a).string(input);
    for (const one of attributes) writer.uint32(0x2a).bytes(one);
    return writer.finish();
  };
  // AttrValue.type is DT_FLOAT; AttrValue.shape has the dims -1 and 4.
  const type = attribute('dtype', Writer.create().uint32(0x30).int32(1).finish());
  const dim = (size: number): Uint8Array => Writer.create().uint32(0x08).int64(size).finish();
  const dims = Writer.create().uint32(0x12).bytes(dim(-1)).uint32(0x12).bytes(dim(4)).finish();
  const shape = attribute('shape', Writer.create().uint32(0x3a).bytes(dims).finish());
  return Writer.create()
    .uint32(0x0a)
    .bytes(node('x', 'Placeholder', [], [type, shape]))
    .uint32(0x0a)
    .bytes(node('y', 'TritontsTriple', ['x'], []))
    .finish();
}

/** The model of that graph. */
function triple(operators: readonly string[], files: RepositoryModel['files'] = {}): RepositoryModel {
  const names = operators.map((one) => JSON.stringify(one)).join(', ');
  const config = configText({
    backend: 'tensorflow',
    inputs: [{ name: 'x', dims: [4] }],
    outputs: [{ name: 'y', dims: [4] }],
    more:
      'platform: "tensorflow_graphdef"' +
      (operators.length === 0 ? '' : ` model_operations { op_library_filename: [ ${names} ] }`),
  });
  return { config, files, versions: { '1': { 'model.graphdef': tripleGraph() } } };
}

// Operators stay registered in the process, so this test comes first.
test('without its library a model names the operator that is missing', needsLibrary, async (t) => {
  const error = await rejection(serve(t, { m: triple([]) }));
  assert.equal(error.code, 'INVALID_ARG');
  assert.match(error.message, /TritontsTriple/);
});

test('a library that is missing, no library, or not trusted is named', needsLibrary, async (t) => {
  const none = join(await temporaryFolder(t), 'nowhere.so');
  const cases: readonly (readonly [RepositoryModel, string, string, string[]])[] = [
    [triple([none]), none, 'INTERNAL', [dirname(none)]],
    [triple(['text.so'], { 'text.so': 'this is no library' }), '/m/text.so', 'INTERNAL', []],
    [triple([path]), `'${path}' leads to`, 'INVALID_ARG', []],
  ];
  for (const [model, text, code, trustedFolders] of cases) {
    const error = await rejection(serve(t, { m: model }, { trustedFolders }));
    assert.deepEqual([error.code, error.location?.field], [code, field]);
    assert.ok(error.message.includes(text), error.message);
  }
});

test(
  "a model has its library's operators, also after it was unloaded, and never runs inline",
  needsLibrary,
  async (t) => {
    const server = await serve(
      t,
      { m: triple([path]) },
      { trustedFolders: [dirname(path)], modelControlMode: 'explicit', loadModels: ['m'] },
    );
    const model = server.model('m');
    const results = await Promise.all([1, 2, 3].map((x) => model.infer({ x: new Float32Array(4).fill(x) })));
    assert.deepEqual(
      results.map((result) => floats(result)[0]),
      [3, 6, 9],
    );
    // Nothing is known of how long its operators take.
    assert.match(model.runtimeInfo().neverInline ?? '', /operators of libraries of its own/);
    await server.unloadModel('m');
    await server.loadModel('m');
    assert.equal(floats(await server.infer('m', { x: [[1, 1, 1, 1]] }))[0], 3);
  },
);
