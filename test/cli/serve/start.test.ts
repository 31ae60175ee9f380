// Long: it starts many processes.

import assert from 'node:assert/strict';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { ask, errorOf, json } from '../../endpoints/http/harness.js';
import { identity } from '../../support/harness.js';
import { temporaryFolder, writeRepository } from '../../support/repository.js';
import { anyPorts, oneRow, ran, repositoryOf, run } from './harness.js';

test('it serves two repositories over HTTP, with metrics, and prints their models', async (t) => {
  const first = await repositoryOf(t, { one: identity() });
  const second = await repositoryOf(t, { second_one: identity() });
  const served = run(t, `--model-repository=${first}`, '--model-store', second, ...anyPorts);
  const http = await served.place('HTTPService');
  const metrics = await served.place('Metrics Service');
  assert.ok(
    served.log().includes(`
+------------+---------+--------+
| Model      | Version | Status |
+------------+---------+--------+
| one        | 1       | READY  |
| second_one | 1       | READY  |
+------------+---------+--------+
`),
    served.log(),
  );
  for (const model of ['one', 'second_one']) {
    const answer = json(await ask(http, `/v2/models/${model}/infer`, { body: oneRow }));
    assert.deepEqual((answer as { outputs: { data: unknown }[] }).outputs[0]?.data, oneRow.inputs[0].data);
  }
  const { text } = await ask(metrics, '/metrics');
  assert.match(text, /nv_inference_request_success\{model="second_one",version="1"\} 1/);
});

test('it listens on all addresses, and says so', async (t) => {
  const repository = await repositoryOf(t, { one: identity() });
  const served = run(t, repository, '--http-port=0', '--metrics-port=0', '--grpc-port=0');
  await served.place('Metrics Service');
  assert.match(served.log(), /Started HTTPService at 0\.0\.0\.0:\d+\n/);
  assert.match(served.log(), /Started Metrics Service at 0\.0\.0\.0:\d+\n/);
  assert.match(served.log(), /Started GRPCInferenceService at 0\.0\.0\.0:\d+\n/);
});

test('--http-address is for metrics, too, unless --metrics-address is another', async (t) => {
  const repository = await repositoryOf(t, { one: identity() });
  const served = run(t, repository, ...anyPorts, '--http-address=127.0.0.1');
  await served.place('Metrics Service');
  assert.match(served.log(), /Started HTTPService at 127\.0\.0\.1:\d+\n/);
  assert.match(served.log(), /Started Metrics Service at 127\.0\.0\.1:\d+\n/);
});

test("in mode 'explicit' it loads what it is told, and more on request; --id is its name", async (t) => {
  const repository = await repositoryOf(t, { one: identity(), two: identity() });
  const args = ['--model-control-mode=explicit', '--load-model=one', '--id', 'shop'];
  const served = run(t, `--model-repository=${repository}`, ...anyPorts, ...args);
  const http = await served.place('HTTPService');
  assert.doesNotMatch(served.log(), /\| two /);
  const { name, extensions } = json(await ask(http, '/v2')) as { name: string; extensions: string[] };
  assert.equal(name, 'shop');
  assert.ok(extensions.includes('model_repository'));
  assert.equal((await ask(http, '/v2/models/two/ready')).status, 400);
  assert.equal((await ask(http, '/v2/repository/models/two/load', { method: 'POST' })).status, 200);
  assert.equal((await ask(http, '/v2/models/two/ready')).status, 200);
});

test("in mode 'poll' it serves what is added to the repository, and refuses loads on request", async (t) => {
  const repository = await repositoryOf(t, { one: identity() });
  const args = ['--model-control-mode=poll', '--repository-poll-secs=1'];
  const served = run(t, `--model-repository=${repository}`, ...anyPorts, ...args);
  const http = await served.place('HTTPService');
  await writeRepository(repository, { two: identity() });
  await served.said(/model 'two': version 1 ready/);
  assert.equal((await ask(http, '/v2/models/two/infer', { body: oneRow })).status, 200);
  await rm(join(repository, 'one'), { recursive: true });
  await served.said(/model 'one': unloaded/);
  const { extensions } = json(await ask(http, '/v2')) as { extensions: string[] };
  assert.ok(!extensions.includes('model_repository'));
  for (const call of ['load', 'unload']) {
    const refused = await ask(http, `/v2/repository/models/two/${call}`, { method: 'POST' });
    assert.match(
      errorOf(refused, 503),
      /^explicit model load \/ unload is not allowed if polling is enabled/,
    );
  }
});

test('restricted calls need their header; bodies are limited; headers become parameters', async (t) => {
  const repository = await repositoryOf(t, { one: identity() });
  const served = run(
    t,
    repository,
    ...anyPorts,
    '--http-restricted-api=metadata,statistics:Admin-Key=secret',
    '--http-max-input-size=1000',
    '--http-header-forward-pattern=^(x-tenant|priority)$',
  );
  const http = await served.place('HTTPService');
  assert.match(errorOf(await ask(http, '/v2'), 403), /expecting header 'admin-key'/);
  assert.equal((await ask(http, '/v2', { headers: { 'admin-key': 'secret' } })).status, 200);
  assert.equal((await ask(http, '/v2/health/ready')).status, 200);
  assert.match(
    errorOf(await ask(http, '/v2/models/one/infer', { body: ' '.repeat(1001) }), 400),
    /1001 bytes/,
  );
  const path = '/v2/models/one/infer';
  const tenant = await ask(http, path, { body: oneRow, headers: { 'X-Tenant': 'a' } });
  assert.equal(tenant.status, 200, tenant.text);
  // A forwarded header must not act as a parameter of the server.
  const priority = await ask(http, path, { body: oneRow, headers: { Priority: '1' } });
  assert.match(errorOf(priority, 400), /header 'Priority' cannot be forwarded/);
});

test('without an endpoint, or with an empty repository', async (t) => {
  const empty = await temporaryFolder(t);
  const nothing = await ran(t, empty, '--allow-http=0', '--allow-grpc=0', '--allow-metrics=FALSE');
  assert.deepEqual(
    [nothing.code, nothing.stderr],
    [
      2,
      'tritonts serve: no endpoint is enabled; enable one with --allow-http, --allow-grpc or --allow-metrics\n',
    ],
  );
  const served = run(t, empty, ...anyPorts);
  const http = await served.place('HTTPService');
  assert.equal((await ask(http, '/v2/health/ready')).status, 200);
  assert.match(served.log(), /\| Model \| Version \| Status \|/);
});
