/** Repositories that a program registers with a running server, and takes away again. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { rename, writeFile } from 'node:fs/promises';
import { createServer as createTcpServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { test } from 'node:test';
import { attachServer, createServer, type InferenceServer } from '../../src/index.js';
import { addressOf, connected } from '../client/harness.js';
import {
  chain,
  configText,
  ensemble,
  floats,
  onnx,
  rejection,
  row,
  type Context,
} from '../support/harness.js';
import { addModel } from '../support/models.js';
import { temporaryFolder, writeRepository, type RepositoryModel } from '../support/repository.js';
import { settle, short } from './polling/harness.js';

const add = (addend: number): RepositoryModel => onnx(addModel({ addend }));

async function repository(t: Context, models: Readonly<Record<string, RepositoryModel>>): Promise<string> {
  return writeRepository(await temporaryFolder(t), models);
}

/** A server in mode 'explicit' with a repository that has `base`. */
async function start(
  t: Context,
  options: { readonly modelNamespacing?: boolean } = {},
): Promise<InferenceServer> {
  const server = await createServer(await repository(t, { base: add(0) }), {
    modelControlMode: 'explicit',
    loadModels: ['*'],
    ...options,
  });
  t.after(() => server.close({ timeoutMs: 0 }));
  return server;
}

const sum = async (server: Pick<InferenceServer, 'infer'>, model: string): Promise<number | undefined> =>
  floats(await server.infer(model, { x: row(0) }))[0];

const states = (server: InferenceServer): string[] =>
  server.index().map(({ name, state }) => `${name} ${state ?? ''}`.trim());

function addressIn(server: Server): string {
  const address = server.address();
  return typeof address === 'object' && address !== null ? `127.0.0.1:${address.port}` : '';
}

/** Code and message of what a call rejects with. */
async function refusal(call: Promise<unknown>): Promise<string> {
  const { code, message } = await rejection(call);
  return `${code}: ${message}`;
}

test('models of a registered repository become known and are loaded on request', async (t) => {
  const server = await start(t);
  const folder = await repository(t, { m: add(1), e: ensemble(chain(['m', 'base'])) });
  await server.registerRepository(folder);
  assert.deepEqual(states(server), ['base READY', 'e', 'm']);
  await server.loadModel('e');
  assert.equal(await sum(server, 'e'), 1);
  // It is looked at as all others are.
  await writeFile(join(folder, 'm', '1', 'model.onnx'), addModel({ addend: 7 }));
  assert.equal(await settle(server), '~m:1-1');
  assert.equal(await sum(server, 'e'), 7);
});

test('clients see and load what was registered', async (t) => {
  const server = await start(t);
  const remote = await connected(t, await addressOf(t, 'http', server));
  await server.registerRepository(pathToFileURL(await repository(t, { m: add(1) })));
  assert.deepEqual(
    (await remote.index()).map(({ name }) => name),
    ['base', 'm'],
  );
  await remote.loadModel('m');
  assert.equal(await sum(server, 'm'), 1);
});

test('a name that is given to a folder replaces those of the folder and the configuration', async (t) => {
  const server = await start(t);
  const folder = await repository(t, {
    m: { ...add(1), config: `name: "m"\n${configText()}` },
    other: add(2),
  });
  await server.registerRepository(folder, { names: { m: 'public' } });
  assert.deepEqual(states(server), ['base READY', 'other', 'public']);
  await server.loadModel('public');
  await server.loadModel('other');
  assert.deepEqual([await sum(server, 'public'), await sum(server, 'other')], [1, 2]);
  assert.equal(server.model('public').config.name, 'public');
  assert.equal((await rejection(server.loadModel('m'))).code, 'NOT_FOUND');
  // A configuration of the program may have the old name, too.
  await server.loadModel('public', { config: { name: 'm', max_batch_size: 2 } });
  assert.equal(server.model('public').config.max_batch_size, 2);
});

test('a registration is refused with the words of Triton', async (t) => {
  const server = await start(t);
  const folder = await repository(t, { m: add(1) });
  const second = await repository(t, { m: add(2) });
  await server.registerRepository(folder, { names: { m: 'public' } });
  const missing = join(folder, 'missing');
  const file = join(folder, 'm', 'config.pbtxt');
  assert.deepEqual(
    [
      await refusal(server.registerRepository(folder)),
      await refusal(server.registerRepository(missing)),
      await refusal(server.registerRepository(file)),
      await refusal(server.registerRepository(second, { names: { m: 'public' } })),
      await refusal(server.unregisterRepository(second)),
    ],
    [
      `ALREADY_EXISTS: model repository '${folder}' has already been registered`,
      `INVALID_ARG: failed to register '${missing}', repository not found`,
      `INVALID_ARG: failed to register '${file}', repository not found`,
      "ALREADY_EXISTS: failed to register 'public', there is a conflicting mapping for 'public'",
      `INVALID_ARG: failed to unregister '${second}', repository not found`,
    ],
  );
  // What was refused left nothing behind.
  await server.registerRepository(second, { names: { m: 'public2' } });
  assert.deepEqual(states(server), ['base READY', 'public', 'public2']);
});

test('a repository is registered only in explicit mode, and by the owner', async (t) => {
  const folder = await repository(t, { m: add(1) });
  const server = await createServer(folder);
  t.after(() => server.close({ timeoutMs: 0 }));
  const rest = 'is not allowed if model control mode is not EXPLICIT';
  assert.equal(
    await refusal(server.registerRepository(folder)),
    `UNSUPPORTED: repository registration ${rest}`,
  );
  assert.equal(
    await refusal(server.unregisterRepository(folder)),
    `UNSUPPORTED: repository unregistration ${rest}`,
  );
  const attached = await attachServer(server.handle);
  t.after(() => attached.close());
  assert.match(await refusal(attached.registerRepository(folder)), /^UNSUPPORTED: an attached server/);
  await server.close();
  assert.match(await refusal(server.registerRepository(folder)), /^UNAVAILABLE: the server is closed/);
});

test('what was loaded from a repository that was taken away is served until it is unloaded', async (t) => {
  const server = await start(t);
  const folder = await repository(t, { m: add(1), never: add(2) });
  await server.registerRepository(folder);
  await server.loadModel('m');
  await server.unregisterRepository(folder);
  assert.deepEqual(states(server), ['base READY', 'm READY']);
  // Neither looks nor changes of its files concern it.
  await rename(join(folder, 'm'), join(folder, 'moved'));
  assert.equal(short(await server.rescan()), '');
  assert.equal(short(await server.rescan()), '');
  assert.equal(await sum(server, 'm'), 1);
  assert.equal((await rejection(server.loadModel('m', { force: true }))).code, 'NOT_FOUND');
  assert.equal(await sum(server, 'm'), 1);
  await server.unloadModel('m');
  assert.equal((await rejection(server.loadModel('m'))).code, 'NOT_FOUND');
  await rename(join(folder, 'moved'), join(folder, 'm'));
  await server.registerRepository(folder, { names: { never: 'now' } });
  await server.loadModel('m');
  await server.loadModel('now');
  assert.deepEqual([await sum(server, 'm'), await sum(server, 'now')], [1, 2]);
});

test('registrations at the same time do not lose models', async (t) => {
  const server = await start(t);
  const folders = await Promise.all(
    Array.from({ length: 8 }, (_, i) => repository(t, { [`m${i}`]: add(i) })),
  );
  const [same = ''] = folders;
  const twice = server.registerRepository(same);
  assert.match(await refusal(server.registerRepository(same)), /has already been registered/);
  const others = folders.slice(1).map((folder) => server.registerRepository(folder));
  const loads = ['base', 'm0'].map((name) => server.loadModel(name, { force: true }).catch(() => undefined));
  await Promise.all([twice, ...others, ...loads]);
  await Promise.all(folders.map((_, i) => server.loadModel(`m${i}`)));
  assert.equal(server.index({ ready: true }).length, 9);
  await Promise.all(folders.map((folder) => server.unregisterRepository(folder)));
  assert.equal(server.index({ ready: true }).length, 9);
});

test('with namespaces a registered repository has its own', async (t) => {
  const server = await start(t, { modelNamespacing: true });
  const [first, second] = await Promise.all([1, 10].map((n) => repository(t, { m: add(n) })));
  assert.ok(first !== undefined && second !== undefined);
  await server.registerRepository(first);
  await server.registerRepository(second);
  await server.loadModel('m');
  assert.deepEqual(states(server), ['base READY', 'm READY', 'm READY']);
  assert.ok(server.metrics().includes(`namespace="${second.replaceAll('\\', '\\\\')}"`));
  await server.unregisterRepository(first);
  await server.unloadModel('m');
  await server.loadModel('m');
  assert.equal(await sum(server, 'm'), 10);
});

test('another repository does not replace a model whose own was taken away, until it is loaded by name', async (t) => {
  const server = await start(t);
  const [first, second] = await Promise.all([1, 10].map((n) => repository(t, { m: add(n) })));
  assert.ok(first !== undefined && second !== undefined);
  await server.registerRepository(first);
  await server.loadModel('m');
  await server.unregisterRepository(first);
  await server.registerRepository(second);
  assert.deepEqual([short(await server.rescan()), short(await server.rescan())], ['', '']);
  assert.equal(await sum(server, 'm'), 1);
  await server.loadModel('m');
  assert.equal(await sum(server, 'm'), 10);
});

test('the index forgets an unloaded model whose repository was taken away', async (t) => {
  const server = await start(t);
  const folder = await repository(t, { early: add(1), late: add(2) });
  await server.registerRepository(folder);
  await server.loadModel('early');
  await server.loadModel('late');
  await server.unloadModel('early');
  await server.unregisterRepository(folder);
  assert.deepEqual(states(server), ['base READY', 'late READY']);
  await server.unloadModel('late');
  assert.deepEqual(states(server), ['base READY']);
});

test('a repository that does not answer while it is registered holds nobody up, and can be taken away', async (t) => {
  const server = await start(t);
  // A store that accepts connections, and never says anything.
  const silent = createTcpServer().listen(0, '127.0.0.1');
  await once(silent, 'listening');
  const sockets = new Set<Socket>();
  silent.on('connection', (socket) => sockets.add(socket));
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    silent.close();
  });
  const place = `s3://${addressIn(silent)}/bucket/models`;
  const registration = refusal(server.registerRepository(place));
  assert.match(await refusal(server.registerRepository(place)), /has already been registered/);
  assert.deepEqual(await server.loadModel('base', { force: true }), { changed: true });
  assert.equal(short(await server.rescan()), '');
  await server.unregisterRepository(place);
  assert.equal(await registration, `CANCELLED: the registration of '${place}' was cancelled`);
  assert.match(await refusal(server.unregisterRepository(place)), /repository not found/);
});

test('wrong names are refused, and nothing is registered', async (t) => {
  const server = await start(t);
  const folder = await repository(t, { m: add(1) });
  const wrong: unknown[] = [
    { names: { '../m': 'x' } },
    { names: { '..': 'x' } },
    { names: { 'a/b': 'x' } },
    { names: { 'a\\b': 'x' } },
    { names: { m: '../x' } },
    { names: { m: '' } },
    { names: { m: 1 } },
    { names: [] },
    { names: new Map([['m', 'x']]) },
    { other: 1 },
    3,
  ];
  for (const options of wrong) {
    // A JavaScript program may pass anything.
    const error = await rejection(server.registerRepository(folder, options as object));
    assert.equal(error.code, 'INVALID_ARG', error.message);
  }
  for (const path of ['', 3, null, 'ftp://host/models', {}]) {
    const error = await rejection(server.registerRepository(path as string));
    assert.equal(error.code, 'INVALID_ARG', error.message);
  }
  assert.deepEqual(states(server), ['base READY']);
  // A folder that is not there is no fault: it may come.
  await server.registerRepository(folder, { names: { later: 'x' } });
  assert.deepEqual(states(server), ['base READY', 'm']);
});
