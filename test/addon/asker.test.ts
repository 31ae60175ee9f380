/** Native programs that ask lazy models, and models in namespaces. */

// Long: it starts many processes.

import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { test } from 'node:test';
import { createServer, nativeApi, type GivenModel, type InferenceServer } from '../../src/index.js';
import { noCompiler, sharedObject } from '../support/c-compiler.js';
import { runChild } from '../support/child.js';
import { onlyGlibc } from '../support/glibc.js';
import { anyLength, identity, until, type Context } from '../support/harness.js';
import { root } from '../support/project.js';
import { temporaryFolder, writeRepository } from '../support/repository.js';

/** The functions of `asker.c`. */
interface Asker {
  begin(table: unknown, engine: number, id: number, model: string): string;
  end(): string;
  ask(
    slot: number,
    table: unknown,
    engine: number,
    id: number,
    space: string | undefined,
    model: string,
    value: number,
  ): boolean;
  look(slot: number): string;
  cancel(slot: number): void;
  detach(slot: number): string;
  find(table: unknown, engine: number, id: number, model: string): string;
}

const skip = noCompiler === false ? onlyGlibc : noCompiler;

async function compiledFile(t: Context): Promise<string> {
  const file = join(await temporaryFolder(t), 'asker.node');
  const require = createRequire(import.meta.url);
  const { include_dir: node } = require('node-api-headers') as { include_dir: string };
  const source = join(root, 'test', 'addon', 'asker.c');
  const includes = [`-I${node}`, `-I${nativeApi.include}`, `-I${nativeApi.tritonInclude}`];
  sharedObject(file, [source, '-DNAPI_VERSION=9', ...includes, nativeApi.library]);
  return file;
}

async function compiled(t: Context): Promise<Asker> {
  return createRequire(import.meta.url)(await compiledFile(t)) as Asker;
}

/** A model that answers with its input. */
const echo = identity({ ...anyLength, maxBatchSize: 8 });

function ask(asker: Asker, server: InferenceServer, slot: number, model: string, space?: string): boolean {
  const { engine, id } = server.handle;
  return asker.ask(slot, nativeApi.external, engine, id, space, model, slot + 0.5);
}

async function answer(asker: Asker, slot: number): Promise<string> {
  await until(() => asker.look(slot) !== '');
  return asker.look(slot);
}

const isLoaded = (server: InferenceServer, model: string): boolean => {
  try {
    return server.model(model).metadata.versions.length > 0;
  } catch {
    return false;
  }
};

test('a request of native code has its lazy model loaded, as infer does', { skip }, async (t) => {
  const asker = await compiled(t);
  const server = await createServer(await writeRepository(await temporaryFolder(t), { echo }), {
    load: 'lazy',
  });
  t.after(() => server.close({ timeoutMs: 0 }));
  assert.equal(isLoaded(server, 'echo'), false);
  // All wait for one load.
  for (const slot of [0, 1, 2]) assert.equal(ask(asker, server, slot, 'echo'), true);
  for (const slot of [0, 1, 2]) assert.equal(await answer(asker, slot), `${slot + 0.5} of version 1`);
  assert.equal(isLoaded(server, 'echo'), true);
  assert.match(server.metrics(), /^tritonts_lazy_loads(\{\})? 1$/m);
  for (const slot of [0, 1, 2]) assert.equal(asker.detach(slot), '');
});

test('a request that waits for its lazy model can be cancelled', { skip }, async (t) => {
  const asker = await compiled(t);
  const server = await createServer(await writeRepository(await temporaryFolder(t), { echo }), {
    load: 'lazy',
  });
  t.after(() => server.close({ timeoutMs: 0 }));
  for (const slot of [0, 1, 2]) assert.equal(ask(asker, server, slot, 'echo'), true);
  asker.cancel(0);
  assert.match(asker.look(0), /^response CANCELLED\/: model 'echo': the request was cancelled/);
  assert.equal(asker.detach(1), '');
  assert.equal(await answer(asker, 2), '2.5 of version 1');
  assert.equal(asker.detach(0), '');
  assert.equal(asker.detach(2), '');
});

test('a lazy model that cannot be loaded fails the requests that wait for it', { skip }, async (t) => {
  const asker = await compiled(t);
  const { config = '' } = echo;
  const broken = { config: config.replace('"identity"', '"onnxruntime"'), versions: { '1': {} } };
  const server = await createServer(await writeRepository(await temporaryFolder(t), { broken }), {
    load: 'lazy',
    logger: {},
  });
  t.after(() => server.close({ timeoutMs: 0 }));
  assert.equal(ask(asker, server, 0, 'broken'), true);
  assert.match(await answer(asker, 0), /^response \w+\/\w*: .*broken/);
  assert.equal(asker.detach(0), '');
});

/** A model of the program, whose load waits for the test. */
function gated(): { readonly model: GivenModel; readonly open: () => void } {
  let open: () => void = () => undefined;
  const gate = new Promise<void>((resolve) => (open = resolve));
  const tensor = { data_type: 'TYPE_FP32', dims: [-1] } as const;
  const model: GivenModel = {
    config: { max_batch_size: 8, input: [{ name: 'x', ...tensor }], output: [{ name: 'y', ...tensor }] },
    initialize: () => gate,
    execute: (requests) => requests.map(({ inputs }) => ({ y: inputs['x']?.as('FP32').data })),
  };
  return { model, open };
}

const isBeingLoaded = (server: InferenceServer, model: string): boolean =>
  server.index().some(({ name, reason }) => name === model && reason === 'lazy: being loaded');

test('a request that comes while its lazy model is being loaded waits, too', { skip }, async (t) => {
  const asker = await compiled(t);
  const { model, open } = gated();
  const server = await createServer({ models: { slow: model }, load: 'lazy' });
  t.after(() => server.close({ timeoutMs: 0 }));
  assert.equal(ask(asker, server, 0, 'slow'), true);
  await until(() => isBeingLoaded(server, 'slow'));
  assert.equal(ask(asker, server, 1, 'slow'), true, asker.look(1));
  open();
  for (const slot of [0, 1]) assert.equal(await answer(asker, slot), `${slot + 0.5} of version 1`);
  for (const slot of [0, 1]) assert.equal(asker.detach(slot), '');
});

test('requests that wait for a lazy model are not overtaken by later ones', { skip }, async (t) => {
  const asker = await compiled(t);
  // One instance on one thread, whose answers come in the order of its runs.
  const ordered = identity({ ...anyLength, maxBatchSize: 8, parameters: { inline: 'off' } });
  let isReady = false;
  // The model is served then, and the requests that wait are not submitted yet.
  const info = (message: string): void => {
    if (!message.includes('ready in')) return;
    isReady = true;
    const begin = performance.now();
    while (performance.now() < begin + 30);
  };
  const server = await createServer(await writeRepository(await temporaryFolder(t), { ordered }), {
    load: 'lazy',
    logger: { info },
  });
  t.after(() => server.close({ timeoutMs: 0 }));
  const { engine, id } = server.handle;
  assert.equal(asker.begin(nativeApi.external, engine, id, 'ordered'), '');
  let told = '';
  await until(() => (told = asker.end()) !== '');
  assert.equal(told, '0 out of order; ');
  assert.equal(isReady, true);
});

test('a server that closes ends the requests that wait for a lazy model', { skip }, async (t) => {
  const asker = await compiled(t);
  const { model, open } = gated();
  const server = await createServer({ models: { slow: model }, load: 'lazy' });
  t.after(open);
  assert.equal(ask(asker, server, 0, 'slow'), true);
  await until(() => isBeingLoaded(server, 'slow'));
  const closed = server.close({ timeoutMs: 0 });
  assert.match(await answer(asker, 0), /^response UNAVAILABLE\/CLOSED: /);
  assert.equal(asker.detach(0), '');
  open();
  await closed;
});

const exiting = new URL('children/exit-asleep.js', import.meta.url);

test('a process that exits ends the requests that wait for a lazy model', { skip }, async (t) => {
  const models = await writeRepository(await temporaryFolder(t), { echo });
  const { code, stdout, stderr } = await runChild(exiting, ['process', await compiledFile(t), models]);
  assert.deepEqual(
    [code, stdout, stderr],
    [3, 'accepted\nresponse UNAVAILABLE/CLOSED: the server is closed\n', ''],
  );
});

test('a worker exits while a callback submits again what waits for a lazy model', { skip }, async (t) => {
  const models = await writeRepository(await temporaryFolder(t), { echo });
  const { code, signal, stdout } = await runChild(exiting, ['worker', await compiledFile(t), models]);
  assert.deepEqual(
    [code, signal, stdout],
    [0, null, 'the worker ended with 3\nUNAVAILABLE/CLOSED: the server is closed\n'],
  );
});

test('native code names the namespace of a model', { skip }, async (t) => {
  const asker = await compiled(t);
  const folders = [
    await writeRepository(await temporaryFolder(t), { echo, only: echo }),
    await writeRepository(await temporaryFolder(t), { echo }),
  ];
  const server = await createServer(folders, { modelNamespacing: true });
  t.after(() => server.close({ timeoutMs: 0 }));
  const { engine, id } = server.handle;
  for (const [slot, folder] of folders.entries()) {
    assert.equal(ask(asker, server, slot, 'echo', folder), true, asker.look(slot));
    assert.equal(await answer(asker, slot), `${slot + 0.5} of version 1`);
  }
  assert.equal(ask(asker, server, 2, 'echo'), false);
  assert.match(asker.look(2), /There are 2 identifiers of model 'echo'|namespace/);
  assert.equal(ask(asker, server, 3, 'echo', 'nowhere'), false);
  assert.match(asker.look(3), /^NOT_FOUND\/.*is not in the namespace 'nowhere'/);
  assert.equal(ask(asker, server, 4, 'only'), true);
  assert.equal(await answer(asker, 4), '4.5 of version 1');
  // Triton's functions have no argument for it: a name has to be the only one.
  assert.match(asker.find(nativeApi.external, engine, id, 'only'), /"name":"only"/);
  assert.match(
    asker.find(nativeApi.external, engine, id, 'echo'),
    /^(Invalid argument|Not found): There are 2 identifiers of model 'echo'/,
  );
  for (const slot of [0, 1, 2, 3, 4]) assert.equal(asker.detach(slot), '');
});
