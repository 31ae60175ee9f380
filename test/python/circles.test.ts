import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  registerBackend,
  type AnyTensor,
  type InferenceServer,
  type ModelServer,
  type JavaScriptModel,
  type ModelRequest,
  type ServerOptions,
} from '../../src/index.js';
import { script as javaScript } from '../javascript/harness.js';
import { adds as addsInPython, recorded, script as python, skip, withPython } from './harness.js';
import { chain, configText, ensemble, rejection, serve, until, type Context } from '../support/harness.js';
import type { RepositoryModel } from '../support/repository.js';

type GivenModels = NonNullable<ServerOptions['models']>;
type Phase = 'complete' | 'initialize' | 'execute' | 'finalize';
/** The loads and unloads that a model requests in each phase, such as `load b`. Otherwise it adds 1. */
type Asks = Readonly<Partial<Record<Phase, readonly `${'load' | 'unload'} ${string}`[]>>>;

const x = new Float32Array(16);
const config = {
  input: [{ name: 'x', data_type: 'TYPE_FP32', dims: [16] }],
  output: [{ name: 'y', data_type: 'TYPE_FP32', dims: [16] }],
} as const;

function inPython(asks: Asks): RepositoryModel {
  const lines = (phase: Phase): string =>
    (asks[phase] ?? [])
      .map((ask) => ask.split(' '))
      .map(([what, model]) => `    pb_utils.${what}_model("${model}")\n`)
      .join('');
  const text = `@staticmethod
def auto_complete_config(config):
${lines('complete')}    return config
def initialize(self, args):
${lines('initialize')}    pass
${addsInPython.replace('\n', `\n${lines('execute')}`)}
def finalize(self):
${lines('finalize')}    pass`;
  return python(text, { maxBatchSize: 0, batching: false });
}

function inProgram(asks: Asks): GivenModels[string] {
  let server: ModelServer | undefined;
  const one = async (ask: string): Promise<void> => {
    const [what, model = ''] = ask.split(' ');
    if (what === 'load') await server?.loadModel(model);
    else await server?.unloadModel(model);
  };
  const ask = async (phase: Phase): Promise<void> => {
    for (const each of asks[phase] ?? []) await one(each);
  };
  return {
    config,
    initialize: async (context) => {
      ({ server } = context);
      // A model of the program has a complete configuration.
      await ask('complete');
      await ask('initialize');
    },
    execute: (requests) => {
      // Requests after `execute` has returned would count as the program's.
      const asked = Promise.all((asks.execute ?? []).map(one));
      return requests.map(async ({ inputs }) => {
        await asked;
        return { y: inputs['x']?.data };
      });
    },
    finalize: () => ask('finalize'),
  };
}

const forms: Readonly<Record<string, { readonly skip: string | false; readonly isPython: boolean }>> = {
  Python: { skip, isPython: true },
  'models of the program': { skip: false, isPython: false },
};

/** A server of these models, none of which is loaded. */
function serving(
  t: Context,
  isPython: boolean,
  models: Readonly<Record<string, Asks>>,
  others: Readonly<Record<string, RepositoryModel>> = {},
  options: Omit<ServerOptions, 'modelRepository'> = {},
): Promise<InferenceServer> {
  const all = Object.entries(models);
  return serve(
    t,
    isPython
      ? { ...others, ...Object.fromEntries(all.map(([name, asks]) => [name, inPython(asks)])) }
      : others,
    withPython({
      modelControlMode: 'explicit',
      modelLoadConcurrency: 1,
      logger: recorded().logger,
      ...(!isPython && {
        models: Object.fromEntries(all.map(([name, asks]) => [name, inProgram(asks)])),
      }),
      ...options,
    } as const),
  );
}

async function circular(promise: Promise<unknown>, words: string): Promise<void> {
  const error = await rejection(promise);
  assert.equal(error.code, 'UNAVAILABLE', error.message);
  assert.equal(error.reason, 'CIRCULAR_CALL', error.message);
  assert.ok(error.message.includes(words), error.message);
}

const ended = (server: InferenceServer, model: string): Promise<void> =>
  until(() => server.index().find(({ name }) => name === model)?.state === 'UNAVAILABLE');

for (const [form, { skip: skipped, isPython }] of Object.entries(forms)) {
  const circles: Readonly<Record<string, readonly [Readonly<Record<string, Asks>>, string]>> = {
    'loads itself': [{ a: { initialize: ['load a'] } }, "load of 'a' → load of 'a'"],
    'unloads itself': [
      { a: { initialize: ['unload a'] } },
      "model 'a': this unload would wait for itself: load of 'a' → unload of 'a' → load of 'a'",
    ],
    'loads itself while it completes its configuration': [
      { a: { complete: ['load a'] } },
      "load of 'a' → load of 'a'",
    ],
    'loads one that loads it': [
      { a: { initialize: ['load b'] }, b: { initialize: ['load a'] } },
      "model 'a': this load would wait for itself: load of 'b' → load of 'a' → load of 'b'",
    ],
    'loads one that unloads it': [
      { a: { initialize: ['load b'] }, b: { complete: ['unload a'] } },
      "load of 'b' → unload of 'a' → load of 'a' → load of 'b'",
    ],
    'loads itself over two others': [
      { a: { initialize: ['load b'] }, b: { initialize: ['load c'] }, c: { initialize: ['load a'] } },
      "load of 'c' → load of 'a' → load of 'b' → load of 'c'",
    ],
    'loads an ensemble of itself': [
      { a: { initialize: ['load e'] } },
      "load of 'e' → load of 'a' → load of 'e'",
    ],
  };
  for (const [what, [models, words]] of Object.entries(circles)) {
    test(`${form}: a model that ${what} is refused`, { skip: skipped }, async (t) => {
      const server = await serving(t, isPython, models, { e: ensemble(chain(['a']), { maxBatchSize: 0 }) });
      await circular(server.loadModel('a'), words);
      assert.deepEqual(
        server.index().filter(({ state }) => state === 'READY' || state === 'LOADING'),
        [],
      );
    });
  }

  test(`${form}: an ensemble whose part loads it is refused`, { skip: skipped }, async (t) => {
    const server = await serving(
      t,
      isPython,
      { a: { initialize: ['load e'] } },
      { e: ensemble(chain(['a']), { maxBatchSize: 0 }) },
    );
    await circular(server.loadModel('e'), "load of 'a' → load of 'e' → load of 'a'");
  });

  test(
    `${form}: models that load each other are refused where a server starts`,
    { skip: skipped },
    async (t) => {
      const models = { a: { initialize: ['load b'] }, b: { initialize: ['load a'] } } as const;
      const server = await serving(
        t,
        isPython,
        models,
        { e: ensemble(chain(['a']), { maxBatchSize: 0 }) },
        { loadModels: ['e', 'a', 'b'], exitOnError: false },
      );
      const states = server.index();
      assert.ok(
        states.some(({ reason = '' }) => reason.includes('would wait for itself')),
        JSON.stringify(states),
      );
    },
  );

  test(
    `${form}: models that load others from initialize load, and load themselves later`,
    { skip: skipped },
    async (t) => {
      const server = await serving(t, isPython, {
        a: { complete: ['load c'], initialize: ['load b'], execute: ['load a', 'unload b'] },
        b: { initialize: ['load c', 'unload d'], finalize: ['load d'] },
        c: {},
        d: {},
      });
      await server.loadModel('a');
      await server.infer('a', { x });
      await server.unloadModel('b');
      assert.deepEqual(
        server.index().map(({ name, state }) => `${name} ${state}`),
        ['a READY', 'b UNAVAILABLE', 'c READY', 'd READY'],
      );
    },
  );

  test(
    `${form}: execute that unloads its own model is answered, and the unload follows`,
    { skip: skipped },
    async (t) => {
      const server = await serving(t, isPython, { a: { execute: ['unload a'] } });
      for (let i = 0; i < 2; i++) {
        await server.loadModel('a');
        await server.infer('a', { x });
        await ended(server, 'a');
      }
    },
  );

  test(
    `${form}: execute that unloads the ensemble it is part of is answered, and the unload follows`,
    { skip: skipped },
    async (t) => {
      const server = await serving(
        t,
        isPython,
        { a: { execute: ['unload e'] } },
        { e: ensemble(chain(['a']), { maxBatchSize: 0 }) },
      );
      await server.loadModel('e');
      await server.infer('e', { x });
      await ended(server, 'e');
    },
  );

  test(
    `${form}: a load behind the unload that waits for who asks for it is refused`,
    { skip: skipped },
    async (t) => {
      const server = await serving(t, isPython, { a: { execute: ['unload a', 'load a'] } });
      await server.loadModel('a');
      const circle = "requests of 'a' → load of 'a' → unload of 'a' → requests of 'a'";
      await circular(server.infer('a', { x }), circle);
      await ended(server, 'a');
    },
  );

  test(`${form}: execute that unloads a model which others need is told so`, { skip: skipped }, async (t) => {
    const server = await serving(
      t,
      isPython,
      { a: { execute: ['unload a'] } },
      { e: ensemble(chain(['a']), { maxBatchSize: 0 }) },
    );
    await server.loadModel('e');
    const { message } = await rejection(server.infer('e', { x }));
    assert.match(message, /model 'a' cannot be unloaded: the ensemble 'e' needs it/);
  });

  test(
    `${form}: finalize that loads or unloads its own model holds up nothing`,
    { skip: skipped },
    async (t) => {
      const { logger, lines } = recorded();
      const server = await serving(
        t,
        isPython,
        { a: { finalize: ['unload a', 'load a'] } },
        {},
        { logger, finalizeTimeoutMs: 2 ** 31 },
      );
      await server.loadModel('a');
      await server.unloadModel('a');
      const said = lines.filter((line) => line.includes('finalize'));
      assert.equal(said.length, 1, lines.join('\n'));
      assert.match(said[0] ?? '', /requests of 'a' → load of 'a' → unload of 'a' → requests of 'a'/);
    },
  );
}

test('a model on a thread has a server that loads nothing, which says so', async (t) => {
  const text = `export default class {
    async initialize({ server }) { await server.loadModel('a'); }
    execute(requests) { return requests.map(({ inputs }) => ({ y: inputs.x })); }
  }`;
  const server = await serve(
    t,
    { a: javaScript(text) },
    { modelControlMode: 'explicit', logger: recorded().logger },
  );
  const { code, message } = await rejection(server.loadModel('a'));
  assert.equal(code, 'UNSUPPORTED');
  assert.match(message, /an attached server cannot load or unload models/);
});

test('a backend of the program that loads its own model is refused, wherever it asks', async (t) => {
  let phase: 'complete' | 'initialize' | 'none' = 'none';
  const ask = async (now: typeof phase): Promise<void> => {
    if (phase === now) await server.loadModel('a');
  };
  class Rules implements JavaScriptModel {
    static async completeConfig(): Promise<object> {
      await new Promise((resolve) => setTimeout(resolve, 1));
      await ask('complete');
      return {};
    }
    async initialize(): Promise<void> {
      await new Promise((resolve) => setTimeout(resolve, 1));
      await ask('initialize');
    }
    execute(requests: readonly ModelRequest[]): { y: AnyTensor | undefined }[] {
      return requests.map(({ inputs }) => ({ y: inputs['x'] }));
    }
  }
  registerBackend('circles', Rules);
  const text = configText({ maxBatchSize: 0, batching: false }).replace('onnxruntime', 'circles');
  const server: InferenceServer = await serve(
    t,
    { a: { config: text, versions: { '1': {} } } },
    { modelControlMode: 'explicit', logger: recorded().logger },
  );
  for (phase of ['complete', 'initialize'] as const)
    await circular(server.loadModel('a'), "load of 'a' → load of 'a'");
  phase = 'none';
  await server.loadModel('a');
});

test('a model of the program says with parent for which request it asks, after an await', async (t) => {
  const refused: string[] = [];
  let last: ModelRequest | undefined;
  const server: InferenceServer = await serve(
    t,
    {},
    {
      modelControlMode: 'explicit',
      logger: recorded().logger,
      models: {
        a: {
          config,
          async execute(requests) {
            await new Promise((resolve) => setTimeout(resolve, 1));
            [last] = requests;
            const parent = last;
            await server.unloadModel('a', { parent });
            const { reason, message } = await rejection(server.loadModel('a', { parent }));
            refused.push(`${String(reason)} ${message}`);
            return requests.map(({ inputs }) => ({ y: inputs['x'] }));
          },
        },
      },
    },
  );
  await server.loadModel('a');
  await server.infer('a', { x });
  assert.deepEqual(refused, [
    "CIRCULAR_CALL model 'a': this load would wait for itself: requests of 'a' → load of 'a' → unload of 'a' → requests of 'a'",
  ]);
  await ended(server, 'a');
  assert.ok(last);
  for (const ask of [server.loadModel('a', { parent: last }), server.unloadModel('a', { parent: last })]) {
    const { code, message } = await rejection(ask);
    assert.equal(code, 'CANCELLED');
    assert.match(message, /model 'a': the request given as options\.parent has ended/);
  }
  const { code, message } = await rejection(server.loadModel('a', { parent: { ...last } }));
  assert.equal(code, 'INVALID_ARG');
  assert.match(message, /expected a request that execute got from this server/);
});

test('timers that a model of the program has set load and unload it', async (t) => {
  let done: Promise<unknown> | undefined;
  const later = (ask: () => Promise<unknown>): Promise<void> =>
    new Promise((resolve) => {
      setTimeout(() => {
        done = ask();
        resolve();
      }, 1);
    });
  let set: Promise<void> | undefined;
  const server: InferenceServer = await serve(
    t,
    {},
    {
      modelControlMode: 'explicit',
      models: {
        a: {
          config,
          initialize: () => {
            set ??= later(() => server.loadModel('a', { force: true }));
          },
          execute: (requests) => requests.map(({ inputs }) => ({ y: inputs['x'] })),
        },
      },
    },
  );
  await server.loadModel('a');
  await set;
  assert.deepEqual(await done, { changed: true });
});
