// Long: it starts many processes.

import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { ask } from '../../endpoints/http/harness.js';
import { identity } from '../../support/harness.js';
import { temporaryFolder, type RepositoryModel } from '../../support/repository.js';
import { anyPorts, ran, repositoryOf, run } from './harness.js';

/** A model whose configuration is invalid. */
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

test('what helps is said: a port in use, an address of nobody, files of TLS', async (t) => {
  const repository = await repositoryOf(t, { one: identity() });
  const folder = await temporaryFolder(t);
  const [cert, key] = [join(folder, 'cert.pem'), join(folder, 'key.pem')];
  await writeFile(cert, 'none');
  const taken = createServer();
  await new Promise<void>((resolve) => taken.listen(0, '0.0.0.0', resolve));
  t.after(() => {
    taken.close();
  });
  const { port } = taken.address() as { port: number };
  const ports = ['--http-port=0', '--grpc-port=0', '--metrics-port=0'];
  const tls = ['--grpc-use-ssl=true', `--grpc-server-cert=${cert}`, `--grpc-server-key=${key}`];
  for (const [args, message] of [
    [[`--http-port=${port}`], /EADDRINUSE.*: another program, .* has the port: end it, or take another port/],
    [[`--grpc-port=${port}`], /EADDRINUSE.*: another program, .* has the port/],
    [[`--metrics-port=${port}`], /EADDRINUSE.*: another program, .* has the port/],
    [['--http-address=192.0.2.1'], /EADDRNOTAVAIL.*: the address is not this machine's: take one of its own/],
    [tls, /INVALID_ARG: --grpc-server-key: cannot read '.*key\.pem': ENOENT/],
    [
      [...tls, `--grpc-server-key=${cert}`],
      /INVALID_ARG: --grpc-server-cert '.*cert\.pem': expected PEM files that fit each other: /,
    ],
  ] as const) {
    const { code, stderr } = await ran(t, repository, ...ports, ...args);
    assert.equal(code, 1, stderr);
    assert.match(stderr, message);
  }
});

test('a folder without models is served with a warning that says what it holds, and one that is named twice counts once', async (t) => {
  const folder = await temporaryFolder(t);
  const empty = run(t, folder, ...anyPorts);
  await empty.place('HTTPService');
  assert.match(
    empty.log(),
    /W.* model repository '.*' has no models: it is empty\. A model is a folder with/,
  );
  const repository = await repositoryOf(t, { one: identity() });
  const version = run(t, join(repository, 'one', '1'), ...anyPorts);
  await version.place('HTTPService');
  assert.match(version.log(), /W.* has no models: it is empty/);
  const twice = run(t, repository, `--model-repository=${repository}`, ...anyPorts);
  await twice.place('HTTPService');
  assert.match(twice.log(), /\| one +\| 1 +\| READY +\|/);
});

test('a name with a line break is one line of the table, and looks like no line of the log', async (t) => {
  const name = 'a\nE0101 00:00:00.000000 1 tritonts] creating server: forged';
  const repository = await repositoryOf(t, { [name]: identity() });
  const served = run(t, repository, ...anyPorts);
  await served.place('HTTPService');
  assert.match(served.log(), /^\| a\\nE0101 .* forged \| 1 +\| READY +\|$/m);
  assert.doesNotMatch(served.log(), /^E/m);
});

test(
  'a log file that cannot be written any more is told of once on stderr',
  { skip: !existsSync('/dev/full') },
  async (t) => {
    const repository = await repositoryOf(t, { one: identity() });
    const served = run(t, repository, ...anyPorts, '--log-file=/dev/full');
    await served.said(/the log cannot be written to '\/dev\/full': ENOSPC/);
    served.child.kill('SIGTERM');
    const { code, stderr } = await served.ended;
    assert.deepEqual([code, stderr.split('ENOSPC').length], [0, 2]);
  },
);
