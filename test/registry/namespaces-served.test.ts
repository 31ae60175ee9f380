/** Repositories as namespaces, as programs and clients see them: in the modes 'explicit' and 'poll', over HTTP and gRPC. */

import assert from 'node:assert/strict';
import { rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { createServer, type InferenceServer, type ServerOptions } from '../../src/index.js';
import type { RemoteServer } from '../../src/client/index.js';
import { checkRepository } from '../../src/registry/check-repository.js';
import { addressOf, connected, protocols } from '../client/harness.js';
import {
  chain,
  ensemble,
  floats,
  onnx,
  rejection,
  row,
  thrown,
  until,
  type Context,
} from '../support/harness.js';
import { addModel } from '../support/models.js';
import { temporaryFolder, writeRepository, type RepositoryModel } from '../support/repository.js';
import { settle } from './polling/harness.js';

type Models = Readonly<Record<string, RepositoryModel>>;

const add = (addend: number): RepositoryModel => onnx(addModel({ addend }));
const over = (...steps: readonly string[]): RepositoryModel => ensemble(chain(steps));

/** Folders with these models. */
async function folders(t: Context, ...repositories: readonly Models[]): Promise<string[]> {
  return Promise.all(repositories.map(async (models) => writeRepository(await temporaryFolder(t), models)));
}

/** A server of these repositories with namespaces. */
async function start(
  t: Context,
  repositories: readonly string[],
  options: Omit<ServerOptions, 'modelRepository'> = {},
): Promise<InferenceServer> {
  const server = await createServer(repositories, { modelNamespacing: true, ...options });
  t.after(() => server.close({ timeoutMs: 0 }));
  return server;
}

const polled = { modelControlMode: 'poll', repositoryPollMs: 0 } as const;

async function sum(server: Pick<RemoteServer, 'infer'>, model: string): Promise<number | undefined> {
  return floats(await server.infer(model, { x: row(0) }))[0];
}

const states = (server: InferenceServer): string[] =>
  server.index().map(({ name, state }) => `${name} ${state ?? ''}`.trim());

const twoOf = (name: string): RegExp =>
  new RegExp(
    `^There are 2 identifiers of model '${name}' in global map, model namespace must be provided to resolve ambiguity\\. The namespaces are '.*', '.*'\\.$`,
  );

for (const mode of ['explicit', 'poll'] as const) {
  const all = mode === 'explicit' ? { modelControlMode: mode, loadModels: ['*'] } : polled;

  test(`${mode}: models and ensembles of different names are served as without namespaces`, async (t) => {
    const server = await start(t, await folders(t, { a: add(1), ea: over('a') }, { b: add(2) }), all);
    assert.deepEqual([await sum(server, 'a'), await sum(server, 'ea'), await sum(server, 'b')], [1, 1, 2]);
  });

  test(`${mode}: two models of one name serve the ensembles of their repositories`, async (t) => {
    const [first, second] = await folders(t, { m: add(1), e1: over('m') }, { m: add(10), e2: over('m') });
    assert.ok(first !== undefined && second !== undefined);
    const server = await start(t, [first, second], all);
    assert.deepEqual([await sum(server, 'e1'), await sum(server, 'e2')], [1, 10]);
    assert.deepEqual(states(server), ['e1 READY', 'e2 READY', 'm READY', 'm READY']);
    const error = thrown(() => server.model('m'));
    assert.deepEqual([error.code, error.model], ['INVALID_ARG', 'm']);
    assert.match(error.message, twoOf('m'));
    for (const folder of [first, second]) {
      const series = `nv_inference_count{model="m",namespace="${folder.replaceAll('\\', '\\\\')}",version="1"} 1`;
      assert.ok(server.metrics().includes(series), series);
    }
  });

  test(`${mode}: two ensembles of one name use a model of a third repository`, async (t) => {
    const repositories = await folders(t, { e: over('m') }, { e: over('m') }, { m: add(1), one: over('m') });
    const server = await start(t, repositories, all);
    assert.deepEqual(states(server), ['e READY', 'e READY', 'm READY', 'one READY']);
    assert.match(thrown(() => server.model('e')).message, twoOf('e'));
    assert.equal(await sum(server, 'one'), 1);
  });
}

test('poll: an ensemble goes to the model of its repository when it comes, and back when it goes', async (t) => {
  const [own, other, third] = await folders(t, { e: over('m') }, { m: add(10) }, {});
  assert.ok(own !== undefined && other !== undefined && third !== undefined);
  const server = await start(t, [own, other, third], polled);
  assert.equal(await sum(server, 'e'), 10);
  await writeRepository(own, { m: add(1) });
  assert.equal(await settle(server), '+m:1');
  assert.equal(await sum(server, 'e'), 1);
  // Moved away at once: what is being removed counts as changing.
  await rename(join(own, 'm'), join(own, '.m'));
  assert.equal(await settle(server), '-m');
  assert.equal(await sum(server, 'e'), 10);
  await writeRepository(third, { m: add(100) });
  assert.equal(await settle(server), '+m:1 !e');
  const error = await rejection(server.infer('e', { x: row(0) }));
  assert.equal(error.code, 'UNAVAILABLE');
  assert.ok(
    error.message.includes(`ensemble ${own}::e contains models that are not available or ambiguous: m`),
    error.message,
  );
  await rename(join(third, 'm'), join(third, '.m'));
  await settle(server);
  // The ensemble is loaded again by the poll after the one that removed the second model.
  await server.rescan();
  assert.equal(await sum(server, 'e'), 10);
});

test('explicit: an ensemble goes to the model of its repository when it comes, and back when it goes', async (t) => {
  const [own, other, third] = await folders(t, { e: over('m') }, { m: add(10) }, {});
  assert.ok(own !== undefined && other !== undefined && third !== undefined);
  const server = await start(t, [own, other, third], { modelControlMode: 'explicit', loadModels: ['e'] });
  assert.equal(await sum(server, 'e'), 10);
  await writeRepository(own, { m: add(1) });
  await server.loadModel('m');
  assert.equal(await sum(server, 'e'), 1);
  await rm(join(own, 'm'), { recursive: true });
  await settle(server);
  assert.equal(await sum(server, 'e'), 10);
  await writeRepository(third, { m: add(100) });
  await server.loadModel('m');
  assert.match(
    (await rejection(server.infer('e', { x: row(0) }))).message,
    /contains models that are not available or ambiguous: m/,
  );
  assert.match((await rejection(server.loadModel('e'))).message, /not available or ambiguous: m/);
});

for (const protocol of protocols) {
  test(`${protocol}: the index, statistics, loads and requests know namespaces`, async (t) => {
    const [first, second] = await folders(t, { m: add(1), e: over('m') }, { m: add(10) });
    assert.ok(first !== undefined && second !== undefined);
    const server = await start(t, [first, second], { modelControlMode: 'explicit' });
    const remote = await connected(t, await addressOf(t, protocol, server));
    const index = async (): Promise<string[]> =>
      (await remote.index()).map(({ name, state }) => `${name} ${state ?? ''}`.trim());
    assert.deepEqual(await index(), ['e', 'm', 'm']);
    await remote.loadModel('m');
    assert.deepEqual(await index(), ['e', 'm READY', 'm READY']);
    const statistics = await remote.statistics();
    assert.deepEqual(
      statistics.map(({ name }) => name),
      ['m', 'm'],
    );
    // The protocols' messages have no such field.
    for (const one of [...statistics, ...(await remote.index())]) assert.ok(!('namespace' in one));
    const ambiguous = await rejection(remote.infer('m', { x: row(0) }));
    assert.equal(ambiguous.code, 'INVALID_ARG');
    assert.match(ambiguous.message, twoOf('m'));
    const never = await rejection(remote.infer('never', { x: row(0) }));
    assert.equal(never.code, 'INVALID_ARG');
    assert.match(never.message, /^Request for unknown model: 'never' is not found$/);
    await remote.loadModel('e');
    assert.equal(await sum(remote, 'e'), 1);
    await remote.unloadModel('e');
    await remote.unloadModel('m');
    assert.deepEqual(await index(), ['e UNAVAILABLE', 'm UNAVAILABLE', 'm UNAVAILABLE']);
  });
}

test('a name whose models have all gone is not found, in workers, too', async (t) => {
  const [first] = await folders(t, { m: add(1) });
  assert.ok(first !== undefined);
  const server = await start(t, [first], polled);
  const worker = new Worker(new URL('namespace-worker.js', import.meta.url), {
    workerData: { handle: server.handle },
  });
  t.after(async () => void (await worker.terminate()));
  const ask = (name: string): Promise<unknown> =>
    new Promise((resolve) => {
      worker.once('message', resolve);
      worker.postMessage(name);
    });
  assert.equal(await ask('m'), 'served');
  await rename(join(first, 'm'), join(first, '.m'));
  await settle(server);
  // Its unload ends after the poll.
  await until(() => server.index().length === 0);
  const gone = "Identifier of model 'm' is not found in global map";
  assert.equal(await ask('m'), `NOT_FOUND: ${gone}`);
  const error = thrown(() => server.statistics('m'));
  assert.deepEqual([error.code, error.message], ['NOT_FOUND', gone]);
  assert.equal(await ask('x'), "INVALID_ARG: Request for unknown model: 'x' is not found");
});

test('reports of progress tell the namespace', async (t) => {
  const [first] = await folders(t, { m: add(1) });
  assert.ok(first !== undefined);
  const seen = new Set<string | undefined>();
  await start(t, [first], { ...polled, onProgress: ({ namespace }) => void seen.add(namespace) });
  assert.deepEqual([...seen], [first]);
});

test('files of the program are a model of their own, beside those of repositories', async (t) => {
  const [first] = await folders(t, { m: add(1) });
  assert.ok(first !== undefined);
  const server = await start(t, [first], { modelControlMode: 'explicit', loadModels: ['m'] });
  await server.loadModel('m', {
    config: { max_batch_size: 4 },
    files: { 'model.onnx': addModel({ addend: 5 }) },
  });
  assert.deepEqual(states(server), ['m READY', 'm READY']);
  assert.match(thrown(() => server.model('m')).message, twoOf('m'));
});

test('without namespaces a name in two repositories is not loaded', async (t) => {
  const repositories = await folders(t, { m: add(1) }, { m: add(10) });
  const server = await start(t, repositories, { modelNamespacing: false, exitOnError: false });
  const [model, ...others] = server.index();
  assert.deepEqual([model?.name, model?.state, others], ['m', 'UNAVAILABLE', []]);
  assert.match(model?.reason ?? '', /appears in two or more repositories/);
});

test('a check of repositories takes their models of one name as two', async (t) => {
  const repositories = await folders(t, { m: add(1), e: over('m') }, { m: add(10) }, { f: over('m') });
  const models = await checkRepository({ modelRepository: repositories, modelNamespacing: true });
  assert.deepEqual(
    models.map(({ name, ok }) => [name, ok]),
    [
      ['e', true],
      ['f', false],
      ['m', true],
      ['m', true],
    ],
  );
  assert.match(models[1]?.problems[0]?.message ?? '', /There are 2 identifiers of model 'm'/);
});
