import assert from 'node:assert/strict';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { ask } from '../../endpoints/http/harness.js';
import { identity } from '../../support/harness.js';
import { temporaryFolder, type RepositoryModel } from '../../support/repository.js';
import { anyPorts, ran, repositoryOf, run } from './harness.js';

/** A model whose file is none. */
const broken: RepositoryModel = {
  config: 'backend: "onnxruntime"\nmax_batch_size: -1',
  versions: { '1': new Uint8Array(8) },
};

test('a model that cannot be loaded ends the start with 1, after the table says why', async (t) => {
  const repository = await repositoryOf(t, { bad: broken, good: identity() });
  const { code, stdout, stderr } = await ran(t, `--model-repository=${repository}`, ...anyPorts);
  assert.deepEqual([code, stdout], [1, '']);
  assert.match(stderr, /\| bad +\| - +\| UNAVAILABLE: .*max_batch_size/);
  assert.match(stderr, /\| good +\| 1 +\| READY +\|/);
  assert.match(stderr, /E.* creating server: 1 model could not be loaded/);
  assert.doesNotMatch(stderr, /Started/);
});

test('with --exit-on-error=false the others are served, and the server is not ready, unless readiness is not strict', async (t) => {
  const repository = await repositoryOf(t, { bad: broken, good: identity() });
  for (const [strict, status] of [
    ['true', 400],
    ['false', 200],
  ] as const) {
    const args = ['--exit-on-error', 'false', `--strict-readiness=${strict}`];
    const served = run(t, repository, ...anyPorts, ...args);
    const http = await served.place('HTTPService');
    assert.equal((await ask(http, '/v2/health/ready')).status, status);
    assert.equal((await ask(http, '/v2/models/good/ready')).status, 200);
    assert.match(served.log(), /E.* model 'bad'/);
  }
});

test('a repository or a start-up model that is not there: exit code 1', async (t) => {
  const folder = await temporaryFolder(t);
  const gone = await ran(t, join(folder, 'gone'), ...anyPorts);
  assert.equal(gone.code, 1);
  assert.match(gone.stderr, /E.* creating server: NOT_FOUND: .*gone/);
  const repository = await repositoryOf(t, { one: identity() });
  const args = ['--model-control-mode=explicit', '--load-model=other'];
  const missing = await ran(t, repository, ...anyPorts, ...args);
  assert.equal(missing.code, 1, missing.stderr);
  assert.match(missing.stderr, /E.*'other'/);
});

test('a port in use ends the start with 1, and says which', async (t) => {
  const repository = await repositoryOf(t, { one: identity() });
  const taken = createServer();
  await new Promise<void>((resolve) => taken.listen(0, '0.0.0.0', resolve));
  t.after(() => {
    taken.close();
  });
  const { port } = taken.address() as { port: number };
  for (const [flag, what] of [
    ['http-port', 'HTTP'],
    ['metrics-port', 'metrics'],
  ] as const) {
    const { code, stderr } = await ran(t, repository, ...anyPorts, `--${flag}=${port}`);
    assert.equal(code, 1, stderr);
    assert.match(stderr, new RegExp(`${what} cannot be served on 0\\.0\\.0\\.0, port ${port}: .*EADDRINUSE`));
  }
});

test('a log that cannot be written: exit code 1', async (t) => {
  const folder = await temporaryFolder(t);
  const { code, stderr } = await ran(t, folder, ...anyPorts, `--log-file=${join(folder, 'no', 'log')}`);
  assert.equal(code, 1);
  assert.match(stderr, /^tritonts serve: UNAVAILABLE: the log cannot be written to '.*no\/log'/);
});

test('--reuse-http-port is refused where Node does not have it; elsewhere two share a port', async (t) => {
  const repository = await repositoryOf(t, { one: identity() });
  const [major = 0] = process.versions.node.split('.').map(Number);
  const first = run(t, repository, ...anyPorts, '--reuse-http-port=true');
  if (major < 22) {
    const { code, stderr } = await first.ended;
    assert.equal(code, 2);
    assert.match(stderr, /reusePort needs Node 22\.12 or newer/);
    return;
  }
  const { address } = await first.place('HTTPService');
  const second = run(t, repository, '--metrics-port=0', '--reuse-http-port=1', `--http-port=${address.port}`);
  assert.deepEqual((await second.place('HTTPService')).address, address);
});
