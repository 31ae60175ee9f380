import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { test } from 'node:test';
import { createServer, type ModelRequest } from '../../src/index.js';
import { floats, rejection, row, serve, start, batchCountsAfter } from '../support/harness.js';
import { temporaryFolder, writeRepository } from '../support/repository.js';
import { adds, executing, script } from './harness.js';

const forms: Readonly<Record<string, readonly [string, string]>> = {
  'a class of an ES module': [executing(adds), 'model.js'],
  'an object of an ES module': [`export default { execute(requests) { ${adds} } };`, 'model.mjs'],
  'a class of a CommonJS module': [`module.exports = class { execute(requests) { ${adds} } };`, 'model.cjs'],
  'an object of a module compiled to CommonJS': [
    `exports.__esModule = true; exports.default = { async execute(requests) { ${adds} } };`,
    'model.cjs',
  ],
};
for (const [form, [text, file]] of Object.entries(forms)) {
  test(`${form} is a model`, async (t) => {
    const server = await serve(t, { add: script(text, {}, file) });
    const results = await Promise.all(
      Array.from({ length: 20 }, (_, i) => server.infer('add', { x: row(i) })),
    );
    results.forEach((result, i) => {
      assert.deepEqual(floats(result), [...row(i + 1)]);
    });
  });
}

const strips = 'typescript' in process.features && process.features['typescript'] !== false;
test(
  'a TypeScript file is a model',
  { skip: strips ? false : `Node ${process.versions.node} does not strip types` },
  async (t) => {
    const text = `export default class { execute(requests: any[]): object[] { ${adds} } }`;
    const server = await serve(t, { add: script(text, {}, 'model.ts') });
    assert.deepEqual(floats(await server.infer('add', { x: row(1) })), [...row(2)]);
  },
);

test('the backend and the file are found without a config.backend', async (t) => {
  const { config = '', versions } = script(executing(adds));
  const server = await serve(t, {
    add: { config: config.replace('backend: "javascript"', ''), versions: versions ?? {} },
  });
  assert.deepEqual(floats(await server.infer('add', { x: row(1) })), [...row(2)]);
});

test('requests that arrive together come to execute together', async (t) => {
  const server = await serve(t, { add: script(executing(adds)) });
  await server.infer('add', { x: row() });
  await Promise.all(Array.from({ length: 64 }, (_, i) => server.infer('add', { x: row(i) })));
  assert.deepEqual(await batchCountsAfter(server, 'add', 65), { 1: 1, 64: 1 });
});

test('a model learns what it is, waits in initialize, and finalizes when it is unloaded', async (t) => {
  const folder = await temporaryFolder(t);
  const text = `
    import { writeFileSync } from 'node:fs';
    import { join } from 'node:path';
    export default class {
      async initialize(context) {
        await new Promise((resolve) => setTimeout(resolve, 20));
        this.context = context;
      }
      execute(requests) { return requests.map(() => ({ y: [[JSON.stringify(this.context)]] })); }
      finalize() { writeFileSync(join(${JSON.stringify(folder)}, 'finalized'), this.context.name); }
    }`;
  const server = await serve(
    t,
    {
      told: script(text, {
        outputs: [{ name: 'y', datatype: 'BYTES', dims: [1] }],
        parameters: { colour: 'red' },
      }),
    },
    { modelControlMode: 'explicit', loadModels: ['told'] },
  );
  const { outputs } = await server.infer('told', { x: row() });
  const context = JSON.parse(outputs['y']?.strings()[0] ?? '') as Record<string, unknown>;
  const { config, directory, server: connected, ...others } = context;
  assert.ok(connected);
  assert.deepEqual(others, {
    name: 'told',
    version: '1',
    instance: { name: 'told_0_0', index: 0, kind: 'KIND_CPU', device: 0 },
    logger: {},
  });
  assert.match(String(directory), /told.1$/);
  assert.deepEqual((config as { parameters: unknown }).parameters, { colour: { string_value: 'red' } });
  await server.unloadModel('told');
  const { readFile } = await import('node:fs/promises');
  assert.equal(await readFile(join(folder, 'finalized'), 'utf8'), 'told');
});

test('a model completes its configuration, as far as it is not written', async (t) => {
  const text = `export default class {
    static completeConfig(config) {
      return {
        max_batch_size: 8,
        input: [{ name: 'x', data_type: 'TYPE_FP32', dims: [16] }],
        output: [{ name: 'y', data_type: 'TYPE_FP32', dims: [16] }],
        dynamic_batching: {},
      };
    }
    execute(requests) { ${adds} }
  }`;
  const server = await serve(t, {
    add: {
      config: 'max_batch_size: 4',
      versions: { '1': { 'model.mjs': text } },
    },
  });
  const { config, notes } = server.model('add');
  assert.equal(config.max_batch_size, 4);
  assert.notEqual(config.dynamic_batching, undefined);
  assert.ok(notes.some((note) => note.startsWith('output: completed by')));
  assert.deepEqual(floats(await server.infer('add', { x: row(1) })), [...row(2)]);
});

test('completeConfig that returns what cannot be cloned fails the load by name', async (t) => {
  for (const value of ['() => 1', '{ max_batch_size() {} }']) {
    const text = `export default class { static completeConfig() { return (${value}); } execute() {} }`;
    const error = await rejection(serve(t, { add: script(text) }));
    assert.equal(error.code, 'INVALID_ARG');
    assert.match(error.message, /model 'add': expected completeConfig .* could not be cloned/);
  }
});

test('completeConfig that returns something else fails the load by name', async (t) => {
  const text = `export default class { static completeConfig() { return { backend: 'x' }; } execute() {} }`;
  const error = await rejection(serve(t, { add: script(text) }));
  assert.equal(error.code, 'INVALID_ARG');
  assert.match(error.message, /completeConfig of model 'add'.*backend/s);
});

const failures: Readonly<Record<string, readonly [string, RegExp, string]>> = {
  'initialize throws': [
    `export default class { initialize() { throw new Error('no dictionary'); } execute() {} }`,
    /model 'add'.*no dictionary/s,
    'INTERNAL',
  ],
  'initialize rejects with no error': [
    `export default class { async initialize() { throw 'a word'; } execute() {} }`,
    /model 'add'.*initialize failed: it threw 'a word'/s,
    'INTERNAL',
  ],
  'the file has a fault': [`export default class {`, /model 'add'/, 'INTERNAL'],
  'the file has no model': [`export default 7;`, /model 'add'.*function execute/s, 'INVALID_ARG'],
  'the thread ends in initialize': [
    `export default class { initialize() { process.exit(3); } execute() {} }`,
    /model 'add'.*thread has ended/s,
    'UNAVAILABLE',
  ],
};
for (const [what, [text, message, code]] of Object.entries(failures)) {
  test(`the load fails with the reason where ${what}`, async (t) => {
    const error = await rejection(serve(t, { add: script(text) }));
    assert.equal(error.code, code);
    assert.match(error.message, message);
  });
}

test('a missing file and a concurrency that is no number fail the load by name', async (t) => {
  const { config = '' } = script('');
  const missing = await rejection(serve(t, { add: { config, versions: { '1': {} } } }));
  assert.match(missing.message, /its file model\.js is not there: .* is empty\. Put the model there/);
  const wrong = await rejection(
    serve(t, { add: script(executing(adds), { parameters: { max_concurrency: 0 } }) }),
  );
  assert.match(wrong.message, /max_concurrency.*from 1 to 1024/);
});

test('a reload takes the new code', async (t) => {
  const folder = await temporaryFolder(t);
  const repository = await writeRepository(folder, { add: script(executing(adds)) });
  const server = await start(t, repository, { modelControlMode: 'explicit', loadModels: ['add'] });
  assert.deepEqual(floats(await server.infer('add', { x: row(1) })), [...row(2)]);
  const more = adds.replace('+ 1', '+ 10');
  await writeFile(join(repository, 'add', '1', 'model.js'), executing(more));
  await server.loadModel('add');
  assert.deepEqual(floats(await server.infer('add', { x: row(1) })), [...row(11)]);
});

const config = {
  max_batch_size: 8,
  input: [{ name: 'x', data_type: 'TYPE_FP32', dims: [16] }],
  output: [{ name: 'y', data_type: 'TYPE_FP32', dims: [16] }],
  dynamic_batching: {},
} as const;

test('an object of the program is a model, on this event loop, without a repository', async (t) => {
  const seen: number[] = [];
  const server = await createServer({
    models: {
      add: {
        config,
        execute(requests: readonly ModelRequest[]) {
          seen.push(requests.length);
          return requests.map(({ inputs }) => ({
            y: inputs['x']?.as('FP32').data.map((value) => value + 1),
          }));
        },
      },
    },
  });
  t.after(() => server.close({ timeoutMs: 0 }));
  const results = await Promise.all(Array.from({ length: 8 }, (_, i) => server.infer('add', { x: row(i) })));
  results.forEach((result, i) => {
    assert.deepEqual(floats(result), [...row(i + 1)]);
  });
  assert.equal(
    seen.reduce((sum, count) => sum + count),
    8,
  );
});

test('a module of the program runs on threads, and loadModel takes another one', async (t) => {
  const folder = await temporaryFolder(t);
  const file = async (name: string, plus: number): Promise<URL> => {
    const path = join(folder, name);
    await writeFile(path, executing(adds.replace('+ 1', `+ ${plus}`)));
    return pathToFileURL(path);
  };
  const server = await createServer({
    models: { add: { config, module: await file('one.mjs', 1) } },
    modelControlMode: 'explicit',
    loadModels: ['add'],
  });
  t.after(() => server.close({ timeoutMs: 0 }));
  assert.deepEqual(floats(await server.infer('add', { x: row(1) })), [...row(2)]);
  await server.loadModel('add', { config, module: await file('two.mjs', 2) });
  assert.deepEqual(floats(await server.infer('add', { x: row(1) })), [...row(3)]);
});

test('code that is given in two ways, or as bytes, is refused by name', async () => {
  const files = { 'model.js': new Uint8Array() };
  const module = new URL('file:///model.js');
  const both = await rejection(createServer({ models: { add: { config, files, module } } }));
  assert.match(both.message, /model 'add'.*one of files, module and execute/);
  const bytes = await rejection(
    createServer({ models: { add: { config: { ...config, backend: 'javascript' }, files } } }),
  );
  assert.equal(bytes.code, 'UNSUPPORTED');
  assert.match(bytes.message, /module: URL/);
});
