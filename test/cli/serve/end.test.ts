// Long: it starts many processes.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ask, json } from '../../endpoints/http/harness.js';
import { until } from '../../support/harness.js';
import { anyPorts, oneRow, repositoryOf, run, slow, type Place } from './harness.js';

/** Waits until a request of the model runs. */
async function underWay(metrics: Place): Promise<void> {
  await until(async () => {
    const { text } = await ask(metrics, '/metrics');
    const waiting = /^nv_inference_pending_request_count\{model="slow",version="1"\} (\d+)$/m.exec(text)?.[1];
    return waiting === '0' && /^tritonts_in_flight_bytes [1-9]/m.test(text);
  });
}

for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGQUIT'] as const) {
  test(`${signal} ends it with 0`, async (t) => {
    const repository = await repositoryOf(t, { one: slow(0) });
    const served = run(t, repository, ...anyPorts);
    await served.place('Metrics Service');
    served.child.kill(signal);
    const { code, stderr } = await served.ended;
    assert.deepEqual([code, served.child.signalCode], [0, null]);
    assert.match(stderr, new RegExp(`Signal \\(${signal}\\) received`));
  });
}

test('a request under way is answered; meanwhile readiness is 503, new requests are, and a second signal changes nothing', async (t) => {
  const repository = await repositoryOf(t, { slow: slow(3000) });
  const served = run(t, repository, ...anyPorts);
  const http = await served.place('HTTPService');
  const metrics = await served.place('Metrics Service');
  const answer = ask(http, '/v2/models/slow/infer', { body: oneRow });
  await underWay(metrics);
  served.child.kill('SIGTERM');
  await served.said(/Signal \(SIGTERM\) received/);
  assert.equal((await ask(http, '/v2/health/ready')).status, 503);
  assert.equal((await ask(http, '/v2/health/live')).status, 503);
  assert.equal((await ask(http, '/v2/models/slow/infer', { body: oneRow })).status, 503);
  served.child.kill('SIGINT');
  const { outputs } = json(await answer) as { outputs: { data: unknown }[] };
  assert.deepEqual(outputs[0]?.data, oneRow.inputs[0].data);
  const { code, stderr } = await served.ended;
  assert.equal(code, 0);
  assert.doesNotMatch(stderr, /SIGINT/);
});

test('with --exit-timeout-secs=0 what is under way is cancelled', async (t) => {
  const repository = await repositoryOf(t, { slow: slow(3000) });
  const served = run(t, repository, ...anyPorts, '--exit-timeout-secs=0');
  const http = await served.place('HTTPService');
  const metrics = await served.place('Metrics Service');
  const answer = ask(http, '/v2/models/slow/infer', { body: oneRow });
  await underWay(metrics);
  served.child.kill('SIGTERM');
  const { status } = await answer;
  assert.ok(status === 400 || status === 503, String(status));
  assert.equal((await served.ended).code, 0);
});

test('a signal while models are loaded ends it with 0, and nothing listens', async (t) => {
  const models = Object.fromEntries(Array.from({ length: 200 }, (_, i) => [`m${i}`, slow(0)]));
  const repository = await repositoryOf(t, models);
  const served = run(t, repository, ...anyPorts, '--log-verbose=1', '--model-load-thread-count=1');
  await served.said(/LOADING/);
  served.child.kill('SIGTERM');
  const { code, stderr } = await served.ended;
  assert.equal(code, 0, stderr);
});
