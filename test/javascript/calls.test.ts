/** Models that call other models. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkRepository } from '../../src/registry/check-repository.js';
import type { Results } from '../../src/javascript/index.js';
import type { Model, ModelServer } from '../../src/index.js';
import { createServer } from '../../src/index.js';
import { floats, onnx, rejection, row, serve, thrown, turn } from '../support/harness.js';
import { temporaryFolder, writeRepository } from '../support/repository.js';
import { callOf, calling } from './calls.js';
import { adds, executing, script } from './harness.js';

const explicit = { modelControlMode: 'explicit' } as const;

void test('a model calls others by infer, model, stream and map, from execute', async (t) => {
  const server = await serve(t, {
    a: onnx(),
    b: script(executing(adds)),
    c: script(
      calling(`
        let x = request.inputs.x;
        x = (await server.infer('a', { x })).outputs.y;
        x = (await server.model('b').infer({ x })).outputs.y;
        for await (const { outputs } of server.stream('a', { x })) x = outputs.y;
        for await (const { outputs } of server.model('b').map([{ x }])) x = outputs.y;
        return { y: x };`),
    ),
  });
  const results = await Promise.all([0, 10, 20].map((i) => server.infer('c', { x: row(i) })));
  assert.deepEqual(
    results.map((result) => floats(result)[0]),
    [4, 14, 24],
  );
});

void test('the server is a full one of the thread, and is connected once', async (t) => {
  const server = await serve(t, {
    a: onnx(),
    c: script(
      calling(`
        const { server: again } = this.context;
        const told = [server === again, server.ready, server.metadata().name, server.model('a').ready, server.metadata().devices[0]];
        throw new Error(JSON.stringify(told));`),
    ),
  });
  const { message } = await rejection(server.infer('c', { x: row() }));
  assert.equal(message, `model 'c': [true,true,"tritonts",true,"cpu"]`);
});

void test('what a call rejects with reaches the caller, with its code', async (t) => {
  const server = await serve(t, { c: script(calling(callOf('nobody'))) });
  const error = await rejection(server.infer('c', { x: row() }));
  assert.equal(error.code, 'NOT_FOUND');
  assert.match(error.message, /model 'c': unknown model 'nobody'/);
});

void test('a model that is required is loaded first, and is called from initialize', async (t) => {
  const first = script(
    calling(
      'return { y: request.inputs.x.data.map((value) => value + this.first) };',
      "this.first = (await server.infer('z', { x: new Float32Array(16).fill(5) })).outputs.y.data[0];",
    ),
    { parameters: { requires: ' z, y' } },
  );
  const server = await serve(t, { a: first, z: onnx(), y: script(executing(adds)) }, explicit);
  await server.loadModel('a');
  assert.deepEqual(
    server.index({ ready: true }).map(({ name }) => name),
    ['a', 'y', 'z'],
  );
  assert.deepEqual([...floats(await server.infer('a', { x: row(1) }))], [...row(7)]);
  const error = await rejection(server.unloadModel('z'));
  assert.equal(error.code, 'INVALID_ARG');
  assert.match(error.message, /model 'z' cannot be unloaded: the model 'a' needs it; unload that first/);
  await server.unloadModel('a', { unloadDependents: true });
  assert.deepEqual(server.index({ ready: true }), []);
});

void test('models that require each other, missing or broken ones are not loaded, and say why', async (t) => {
  const requiring = (requires: string): ReturnType<typeof script> =>
    script(executing(adds), { parameters: { requires } });
  const models = {
    a: requiring('b'),
    b: requiring('c'),
    c: requiring('a'),
    own: requiring('own'),
    missing: requiring('nobody'),
    broken: script('throw new Error("no");'),
    needs: requiring('broken'),
  };
  const server = await serve(t, models, { ...explicit, exitOnError: false });
  const messageOf = async (model: string, code: string): Promise<string> => {
    const error = await rejection(server.loadModel(model));
    assert.equal(error.code, code);
    return error.message;
  };
  assert.match(await messageOf('a', 'UNAVAILABLE'), /a model cannot require itself: c → a → b → c/);
  assert.match(await messageOf('own', 'INVALID_ARG'), /a model cannot require itself: own → own/);
  assert.match(
    await messageOf('missing', 'INVALID_ARG'),
    /parameters\["requires"\].*no repository has a model 'nobody'/,
  );
  assert.match(await messageOf('needs', 'UNAVAILABLE'), /model 'broken' could not be loaded: .*no/);
  const checked = await checkRepository({
    modelRepository: await writeRepository(await temporaryFolder(t), models),
  });
  const problems = new Map(checked.map(({ name, problems }) => [name, problems[0]?.message ?? '']));
  assert.match(problems.get('a') ?? '', /cannot need itself: a → b → c → a/);
  assert.match(problems.get('missing') ?? '', /no repository has a model 'nobody'/);
  assert.match(problems.get('needs') ?? '', /model 'broken' could not be loaded/);
});

void test('check loads what it can: a model whose initialize calls one that it requires is right', async (t) => {
  const models = {
    a: script(calling(callOf('z'), "await server.infer('z', { x: new Float32Array(16) });"), {
      parameters: { requires: 'z' },
    }),
    b: script(calling(callOf('z'), "await server.infer('z', { x: new Float32Array(16) });")),
    z: onnx(),
  };
  const checked = await checkRepository({
    modelRepository: await writeRepository(await temporaryFolder(t), models),
  });
  assert.deepEqual(
    checked.map(({ name, ok }) => [name, ok]),
    [
      ['a', true],
      ['b', false],
      ['z', true],
    ],
  );
  assert.match(checked[1]?.problems[0]?.message ?? '', /no models are served while a repository is checked/);
});

void test('a model of the program is given the server that its program has', async () => {
  let given: ModelServer | undefined;
  let adder: Model | undefined;
  const tensors = (name: string) => [{ name, data_type: 'TYPE_FP32', dims: [16] }] as const;
  const config = { max_batch_size: 4, input: tensors('x'), output: tensors('y') };
  const server = await createServer({
    models: {
      inner: {
        config,
        execute: (requests): Results =>
          requests.map(({ inputs }) => ({ y: inputs['x']?.as('FP32').data.map((value) => value + 1) })),
      },
      outer: {
        config: { ...config, parameters: { requires: { string_value: 'inner' } } },
        initialize({ server }): void {
          given = server;
          adder = server.model('inner');
        },
        execute: (requests): Promise<Results> =>
          Promise.all(
            requests.map(async ({ inputs }) => ({
              y: (await adder?.infer({ x: inputs['x'] }))?.outputs['y'],
            })),
          ),
      },
    },
  });
  assert.equal(given, server);
  assert.deepEqual([...floats(await server.infer('outer', { x: row(1) }))], [...row(2)]);
  await server.close();
  assert.equal(thrown(() => given?.model('inner')).code, 'UNAVAILABLE');
});

void test('close and unload end while calls are open', async (t) => {
  const models = {
    never: script(executing('return new Promise(() => undefined);')),
    c: script(calling(callOf('never'))),
  };
  for (const unloads of [false, true]) {
    const server = await serve(t, models, {
      ...explicit,
      loadModels: ['*'],
      workers: { unloadTimeoutMs: 50 },
    });
    const asked = rejection(server.infer('c', { x: row() }));
    await turn();
    if (unloads) await server.unloadModel('c');
    await server.close({ timeoutMs: 50 });
    // The time limit ends the request itself, or its call first.
    assert.match((await asked).code, /^(CANCELLED|UNAVAILABLE)$/);
  }
});

void test('a thread that dies with open calls loses its own requests only', async (t) => {
  const server = await serve(t, {
    slow: script(
      executing(`return new Promise((resolve) => setTimeout(() => resolve((() => { ${adds} })()), 20));`),
      { batching: false },
    ),
    c: script(
      calling(`void server.infer('slow', { x: request.inputs.x }).catch(() => undefined);
      await new Promise((resolve) => setTimeout(resolve, 5)); process.exit(3);`),
    ),
  });
  const others = [1, 2, 3, 4].map((i) => server.infer('slow', { x: row(i) }));
  const error = await rejection(server.infer('c', { x: row() }));
  assert.equal(error.code, 'UNAVAILABLE');
  assert.deepEqual(
    (await Promise.all(others)).map((result) => floats(result)[0]),
    [2, 3, 4, 5],
  );
  assert.equal(floats(await server.infer('slow', { x: row(9) }))[0], 10);
});
