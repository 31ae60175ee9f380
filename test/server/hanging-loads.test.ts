/** Loads that do not end: what an unload of the model and the end of the server do with them. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { connectServer } from '../../src/client/index.js';
import { serveGrpc } from '../../src/endpoints/grpc/serve.js';
import { serveHttp } from '../../src/endpoints/http/serve.js';
import type { InferenceServer, TritonError } from '../../src/index.js';
import { chain, configText, ensemble, identity, rejection, serve, until } from '../support/harness.js';
import type { Context, RepositoryModel } from '../support/repository.js';

const limitMs = 200;

/** A model in JavaScript with this module. */
function model(text: string): RepositoryModel {
  return { config: configText({ backend: 'javascript' }), versions: { '1': { 'model.js': text } } };
}

const models: Readonly<Record<string, RepositoryModel>> = {
  promise: model('module.exports = { initialize: () => new Promise(() => {}), execute() {} };'),
  loop: model('module.exports = { initialize() { for (;;); }, execute() {} };'),
  module: model('for (;;);'),
  completion: model(
    'module.exports = class { static completeConfig() { return new Promise(() => {}); } execute() {} };',
  ),
  // It waits for another model's load, which nobody gives up.
  ensemble: ensemble(chain(['promise'])),
  slow: model(
    'module.exports = { initialize: () => new Promise((resolve) => setTimeout(resolve, 500)), execute() {} };',
  ),
  fine: identity(),
};
const hanging = ['promise', 'loop', 'module', 'completion', 'ensemble'] as const;

function start(t: Context, unloadTimeoutMs = limitMs): Promise<InferenceServer> {
  const workers = { unloadTimeoutMs };
  return serve(t, models, { modelControlMode: 'explicit', loadModels: [], workers });
}

/** Begins a load. `failed` resolves with its error. */
async function begin(
  server: InferenceServer,
  name: string,
): Promise<{ readonly failed: Promise<TritonError> }> {
  const failed = rejection(server.loadModel(name));
  await until(() => server.index().some((one) => one.name === name && one.state === 'LOADING'));
  return { failed };
}

const stateOf = (server: InferenceServer, name: string): unknown =>
  server.index().filter((one) => one.name === name);

for (const name of hanging) {
  test(`an unload gives up a load that hangs: ${name}`, async (t) => {
    const server = await start(t);
    const { failed } = await begin(server, name);
    await server.unloadModel(name);
    const error = await failed;
    assert.equal(error.code, 'CANCELLED');
    assert.match(
      error.message,
      new RegExp(`^model '${name}': its load was given up, .* 0\\.2 s \\(workers\\.unloadTimeoutMs\\)$`),
    );
    assert.deepEqual(stateOf(server, name), [
      { name, version: '1', state: 'UNAVAILABLE', reason: 'unloaded' },
    ]);
    // The model's next load and the others have nothing of it.
    await begin(server, name);
    await server.loadModel('fine');
    assert.equal(server.model('fine').ready, true);
  });

  test(`close() ends within its limit during a load that hangs: ${name}`, async (t) => {
    const server = await start(t);
    const { failed } = await begin(server, name);
    const began = performance.now();
    await server.close({ timeoutMs: 1000 });
    assert.ok(performance.now() - began < 4000);
    await failed;
  });
}

test('an unload waits for a load that ends in time, and has the order of the calls', async (t) => {
  const server = await start(t, 60_000);
  const load = server.loadModel('slow');
  await server.unloadModel('slow');
  assert.deepEqual(await load, { changed: true });
  assert.deepEqual(stateOf(server, 'slow'), [
    { name: 'slow', version: '1', state: 'UNAVAILABLE', reason: 'unloaded' },
  ]);
});

test('loads that wait behind the one that hangs are given up, too', async (t) => {
  const server = await start(t);
  const { failed } = await begin(server, 'promise');
  const second = rejection(server.loadModel('promise'));
  await server.unloadModel('promise');
  assert.deepEqual([(await failed).code, (await second).code], ['CANCELLED', 'CANCELLED']);
  // A load after the unload is another one.
  const { failed: third } = await begin(server, 'promise');
  await server.unloadModel('promise');
  assert.equal((await third).code, 'CANCELLED');
});

test('an unload over HTTP and gRPC gives up a load that hangs', async (t) => {
  const server = await start(t);
  for (const [scheme, open] of [
    ['http', serveHttp],
    ['grpc', serveGrpc],
  ] as const) {
    const endpoint = await open(server, { port: 0 });
    const remote = await connectServer(`${scheme}://127.0.0.1:${endpoint.address.port}`);
    const failed = rejection(remote.loadModel('promise'));
    await until(() => server.index().some(({ name, state }) => name === 'promise' && state === 'LOADING'));
    await remote.unloadModel('promise');
    assert.match((await failed).message, /its load was given up, because an unload of it had waited/);
    await remote.close();
    await endpoint.close();
  }
});
