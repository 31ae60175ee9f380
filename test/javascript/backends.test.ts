// Long: it starts many processes.

import assert from 'node:assert/strict';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { suite, test } from 'node:test';
import {
  createServer,
  registerBackend,
  type TritonError,
  type InferenceServer,
  type ModelContext,
  type ModelRequest,
  type Results,
} from '../../src/index.js';
import { configText, floats, rejection, row, serve, start, thrown } from '../support/harness.js';
import {
  temporaryFolder,
  writeRepository,
  type Context,
  type RepositoryModel,
} from '../support/repository.js';
import { adds, executing, script } from './harness.js';

/** A backend that adds the number in the file `plus` of its model's version. */
const addsFile = `
  import { readFileSync } from 'node:fs';
  import { join } from 'node:path';
  import { threadId } from 'node:worker_threads';
  export default class {
    initialize({ directory }) {
      this.plus = Number(readFileSync(join(directory, 'plus'), 'utf8'));
    }
    execute(requests) {
      return requests.map(({ inputs }) => ({ y: inputs.x.data.map((value) => value + this.plus), thread: [[threadId]] }));
    }
  }`;

const threadOutput = [{ name: 'y' }, { name: 'thread', datatype: 'INT32', dims: [1] }] as const;

/** A model of a backend, with the number that it adds. */
function adder(backend: string, plus: number, file: Readonly<Record<string, string>> = {}): RepositoryModel {
  const config = configText({ backend: 'javascript', outputs: threadOutput }).replace('javascript', backend);
  return { config, versions: { '1': { plus: String(plus), ...file } } };
}

async function added(server: InferenceServer, model: string): Promise<{ plus: number; thread: number }> {
  const { outputs } = await server.infer(model, { x: row(0) });
  return { plus: outputs['y']?.as('FP32').data[0] ?? 0, thread: outputs['thread']?.as('INT32').data[0] ?? 0 };
}

/** A backend directory with these files. */
async function backendDirectory(t: Context, files: Readonly<Record<string, string>>): Promise<string> {
  const folder = join(await temporaryFolder(t), 'backends');
  await mkdir(folder);
  for (const [path, text] of Object.entries(files)) {
    await mkdir(join(folder, path, '..'), { recursive: true });
    await writeFile(join(folder, path), text);
  }
  return folder;
}

void suite('registerBackend', () => {
  test('a module serves two models on threads, each from its own folder', async (t) => {
    const folder = await backendDirectory(t, { 'adds.mjs': addsFile });
    registerBackend('adds-module', pathToFileURL(join(folder, 'adds.mjs')));
    const server = await serve(t, { one: adder('adds-module', 1), ten: adder('adds-module', 10) });
    const [one, ten] = await Promise.all([added(server, 'one'), added(server, 'ten')]);
    assert.deepEqual([one.plus, ten.plus], [1, 10]);
    assert.equal(new Set([0, one.thread, ten.thread]).size, 3);
    assert.equal(server.model('one').config.backend, 'adds-module');
    assert.equal(server.model('one').metadata.platform, 'adds-module');
  });

  test('a model of such a backend requires others, which are there when it is initialised', async (t) => {
    registerBackend('asks-inner', {
      async initialize({ server }: ModelContext): Promise<void> {
        await server.infer('inner', { x: row(0) });
      },
      execute: (requests: readonly ModelRequest[]): Results =>
        requests.map(({ inputs }) => ({ y: inputs['x'] })),
    });
    const config = configText({ backend: 'javascript', parameters: { requires: 'inner' } }).replace(
      'javascript',
      'asks-inner',
    );
    // The caller is first by name, and its callee loads slowly.
    const inner = executing(`return requests.map(({ inputs }) => ({ y: inputs.x }));`).replace(
      'export default class {',
      'export default class { async initialize() { await new Promise((resolve) => setTimeout(resolve, 300)); }',
    );
    const server = await serve(t, { asking: { config, versions: { '1': {} } }, inner: script(inner) });
    assert.deepEqual(floats(await server.infer('asking', { x: row(3) })), [...row(3)]);
  });

  test('a class serves models on this event loop, as one object each', async (t) => {
    const directories: string[] = [];
    registerBackend(
      'adds-class',
      class {
        #plus = 0;
        initialize({ directory, config }: ModelContext): void {
          directories.push(directory);
          this.#plus = Number(config.parameters['plus']?.string_value);
        }
        execute(requests: readonly ModelRequest[]): Results {
          return requests.map(({ inputs }) => ({
            y: inputs['x']?.as('FP32').data.map((value) => value + this.#plus),
          }));
        }
      },
    );
    const model = (plus: number): RepositoryModel => ({
      config: configText({ backend: 'javascript', parameters: { plus } }).replace('javascript', 'adds-class'),
      versions: { '3': {} },
    });
    const server = await serve(t, { one: model(1), ten: model(10) });
    assert.deepEqual(floats(await server.infer('one', { x: row(1) })), [...row(2)]);
    assert.deepEqual(floats(await server.infer('ten', { x: row(1) })), [...row(11)]);
    assert.deepEqual(directories.map((path) => path.split(/[/\\]/).slice(-2).join('/')).sort(), [
      'one/3',
      'ten/3',
    ]);
  });

  test('an object serves all models, and completes their configurations', async (t) => {
    const object = {
      completeConfig: () => ({
        max_batch_size: 8,
        input: [{ name: 'x', data_type: 'TYPE_FP32', dims: [16] } as const],
        output: [{ name: 'y', data_type: 'TYPE_FP32', dims: [16] } as const],
      }),
      execute: (requests: readonly ModelRequest[]): Results =>
        requests.map(({ inputs }) => ({ y: inputs['x'] })),
    };
    registerBackend('echo-object', object);
    const bare = { config: 'backend: "echo-object"', versions: { '1': {} } };
    const server = await serve(t, { a: bare, b: bare });
    for (const name of ['a', 'b']) {
      assert.equal(server.model(name).config.max_batch_size, 8);
      assert.deepEqual(floats(await server.infer(name, { x: row(1) })), [...row(1)]);
    }
  });

  test('a server has what was registered before it was created', async (t) => {
    const folder = await temporaryFolder(t);
    const repository = await writeRepository(folder, { late: adder('comes-late', 1) });
    const early = await start(t, repository, { exitOnError: false });
    registerBackend('comes-late', { execute: (): Results => [] });
    assert.match(early.index()[0]?.reason ?? '', /unknown backend 'comes-late'/);
  });

  test('names and modules that cannot be are refused', () => {
    const backend = { execute: (): Results => [] };
    const refused = (name: unknown, module: unknown): TritonError =>
      thrown(() => {
        registerBackend(name as string, module as URL);
      });
    for (const name of ['onnxruntime', 'identity', 'javascript', 'ensemble'])
      assert.match(refused(name, backend).message, /is a built-in backend/);
    for (const name of ['', '..', 'a/b', 'a b', 7])
      assert.match(refused(name, backend).message, /expected letters, digits/);
    for (const module of [
      undefined,
      7,
      {},
      'backend.js',
      new URL('https://example.org/model.js'),
      () => [],
    ]) {
      const error = refused('odd', module);
      assert.equal(error.code, 'INVALID_ARG');
      assert.match(error.message, /backend 'odd': expected a file: URL, or a class or an object/);
    }
    registerBackend('twice', backend);
    const error = refused('twice', backend);
    assert.equal(error.code, 'ALREADY_EXISTS');
  });

  test('a module that is not there, or has no model, fails the load by name', async (t) => {
    const folder = await backendDirectory(t, { 'seven.mjs': 'export default 7;' });
    registerBackend('is-gone', pathToFileURL(join(folder, 'gone.mjs')));
    registerBackend('is-seven', pathToFileURL(join(folder, 'seven.mjs')));
    const gone = await rejection(serve(t, { m: adder('is-gone', 1) }));
    assert.match(gone.message, /model 'm'.*gone\.mjs/s);
    const seven = await rejection(serve(t, { m: adder('is-seven', 1) }));
    assert.equal(seven.code, 'INVALID_ARG');
    assert.match(
      seven.message,
      /model 'm': expected the default export of .*seven\.mjs' to be a class or an object/s,
    );
  });

  test('its models are not given as bytes or with code of their own, and run on the CPU', async (t) => {
    const folder = await backendDirectory(t, { 'adds.mjs': executing(adds) });
    const module = pathToFileURL(join(folder, 'adds.mjs'));
    registerBackend('no-bytes', module);
    const config = { backend: 'no-bytes', max_batch_size: 1 };
    const bytes = await rejection(
      createServer({ models: { m: { config, files: { plus: new Uint8Array() } } } }),
    );
    assert.equal(bytes.code, 'UNSUPPORTED');
    assert.match(bytes.message, /model 'm': models of the backend 'no-bytes' cannot be given as bytes/);
    const code = await rejection(createServer({ models: { m: { config, module } } }));
    assert.match(code.message, /backend: expected "javascript" or none.* but found "no-bytes"/);
    const { config: text = '', versions = {} } = adder('no-bytes', 1);
    const gpu = await rejection(serve(t, { m: { config: text.replace('KIND_CPU', 'KIND_GPU'), versions } }));
    assert.match(gpu.message, /the no-bytes backend runs on the CPU only/);
  });
});

void suite('backendDirectory', () => {
  for (const [file, text] of [
    ['model.js', 'module.exports = require("./adds.cjs");'],
    ['model.mjs', addsFile],
    ['model.cjs', 'module.exports = require("./adds.cjs");'],
  ] as const) {
    test(`a folder with ${file} is a backend`, async (t) => {
      const common = addsFile
        .replaceAll(/import \{ (.*) \} from (.*);/g, 'const { $1 } = require($2);')
        .replace('export default', 'module.exports =');
      const directory = await backendDirectory(t, { [`adds/${file}`]: text, 'adds/adds.cjs': common });
      const models = { one: adder('adds', 1), ten: adder('adds', 10), dot: adder('adds', 5) };
      const server = await serve(t, models, {
        backendDirectory: file === 'model.js' ? directory : pathToFileURL(directory),
      });
      assert.deepEqual([(await added(server, 'one')).plus, (await added(server, 'ten')).plus], [1, 10]);
    });
  }

  test('a model that is loaded anew takes new code of the backend', async (t) => {
    const directory = await backendDirectory(t, { 'adds/model.mjs': addsFile });
    const server = await serve(
      t,
      { one: adder('adds', 1) },
      { backendDirectory: directory, modelControlMode: 'explicit', loadModels: ['one'] },
    );
    assert.equal((await added(server, 'one')).plus, 1);
    await writeFile(join(directory, 'adds', 'model.mjs'), addsFile.replace('+ this.plus', '- this.plus'));
    await server.unloadModel('one');
    await server.loadModel('one');
    assert.equal((await added(server, 'one')).plus, -1);
  });

  test('an unknown backend names those that there are, and where it was looked for', async (t) => {
    registerBackend('is-known', { execute: (): Results => [] });
    const directory = await backendDirectory(t, { 'other/readme.txt': '', 'evil.mjs': addsFile });
    for (const name of ['other', '../backends/other', 'none']) {
      const error = await rejection(serve(t, { m: adder(name, 1) }, { backendDirectory: directory }));
      assert.equal(error.code, 'INVALID_ARG');
      const { message } = error;
      assert.ok(
        message.includes(
          `unknown backend '${name}'; the backends are fil, identity, javascript, onnxruntime`,
        ),
        message,
      );
      assert.match(
        message,
        /registered ones:.*is-known.*<name>.model\.js' was looked for, and model\.mjs, model\.cjs, model\.ts/s,
      );
    }
  });

  test('a folder that is not there, and names that are taken, are refused', async (t) => {
    registerBackend('is-taken', { execute: (): Results => [] });
    const directory = await backendDirectory(t, {
      'onnxruntime/libtriton_onnxruntime.so': '',
      'file.txt': '',
    });
    const server = await serve(t, {}, { backendDirectory: directory });
    assert.equal(server.ready, true);
    for (const [given, code, message] of [
      [join(directory, 'gone'), 'NOT_FOUND', /options\.backendDirectory: '.*gone' does not exist/],
      [join(directory, 'file.txt'), 'NOT_FOUND', /'.*file\.txt' is not a folder/],
      [
        await backendDirectory(t, { 'onnxruntime/model.js': '' }),
        'INVALID_ARG',
        /backend 'onnxruntime' is built in, but there is '.*model\.js'/,
      ],
      [
        await backendDirectory(t, { 'is-taken/model.ts': '' }),
        'INVALID_ARG',
        /backend 'is-taken' is registered by the program/,
      ],
      [7, 'INVALID_ARG', /expected a path or a file: URL for options\.backendDirectory/],
    ] as const) {
      const error = await rejection(serve(t, {}, { backendDirectory: given as string }));
      assert.equal(error.code, code);
      assert.match(error.message, message);
    }
  });
});
