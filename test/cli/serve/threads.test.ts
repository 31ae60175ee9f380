/** Several endpoint threads, which need a Node that can share a port. */
import assert from 'node:assert/strict';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { reasonHeader } from '../../../src/protocol/statuses.js';
import { canReusePort } from '../../../src/endpoints/service/listen-options.js';
import { foreign } from '../../endpoints/grpc/harness.js';
import { ask, json } from '../../endpoints/http/harness.js';
import { identity, until } from '../../support/harness.js';
import { oneRow, ran, repositoryOf, run, slow } from './harness.js';

const skip = canReusePort() ? false : `Node ${process.version} cannot share a port`;
const ports: readonly string[] = ['--http-port=0', '--metrics-port=0', '--grpc-port=0'];
/** How many sockets of this machine listen on a port. */
async function listeners(port: number): Promise<number> {
  const hex = port.toString(16).toUpperCase().padStart(4, '0');
  const table = await readFile('/proc/net/tcp', 'utf8');
  // The fourth column is the state, and 0A is LISTEN.
  return table.split('\n').filter((line) => new RegExp(`^ *\\d+: [0-9A-F]{8}:${hex} \\S+ 0A `).test(line))
    .length;
}

/**
 * The system distributes connections by their ports. With so many, each of three threads gets some (1 - 10^-11).
 */
const connections = 64;

test(
  'all threads serve the same models, load them and tell of requests; the end is one',
  { skip },
  async (t) => {
    const repository = await repositoryOf(t, { one: identity(), two: identity() });
    const counts = ['--http-thread-count=3', '--grpc-infer-thread-count=2'];
    const explicit = ['--model-control-mode=explicit', '--load-model=one'];
    const served = run(t, repository, ...ports, ...counts, ...explicit, '--log-verbose=1');
    const http = await served.place('HTTPService');
    await served.said(/Started 2 more threads of endpoints: 3 serve HTTP, 2 gRPC/);
    const grpc = await served.place('GRPCInferenceService');
    if (process.platform === 'linux')
      assert.deepEqual([await listeners(http.address.port), await listeners(grpc.address.port)], [3, 2]);
    const client = await foreign(t, grpc);
    const all = async (does: () => Promise<unknown>): Promise<void> => {
      await Promise.all(Array.from({ length: connections }, does));
    };
    await all(async () => {
      const answer = json(await ask(http, '/v2/models/one/infer', { body: oneRow })) as {
        outputs: { data: unknown }[];
      };
      assert.deepEqual(answer.outputs[0]?.data, oneRow.inputs[0].data);
    });
    const { model_stats: statistics } = json(await ask(http, '/v2/models/one/stats')) as {
      model_stats: { inference_count: number }[];
    };
    assert.equal(statistics[0]?.inference_count, connections);
    // Every thread must answer this.
    await all(async () => {
      assert.equal((await ask(http, '/v2/repository/models/two/load', { method: 'POST' })).status, 200);
    });
    await all(async () => {
      assert.equal((await ask(http, '/v2/models/two/ready')).status, 200);
    });
    await all(async () => {
      const answer = await ask(http, '/v2/repository/models/three/load', { method: 'POST' });
      assert.equal(answer.status, 404, answer.text);
    });
    // An error of the main thread keeps its reason on the way to the thread that answers.
    await mkdir(join(repository, 'broken', '1'), { recursive: true });
    await writeFile(join(repository, 'broken', 'config.pbtxt'), 'backend: "javascript"');
    await writeFile(join(repository, 'broken', '1', 'model.mjs'), "import 'tritonts-no-such-package';");
    await all(async () => {
      const answer = await ask(http, '/v2/repository/models/broken/load', { method: 'POST' });
      assert.equal(answer.headers[reasonHeader], 'MISSING', answer.text);
    });
    assert.equal((await client.call('ServerLive'))['live'], true);
    const lines = (): number => served.log().split('POST /v2/models/one/infer: 200').length - 1;
    await until(() => lines() >= connections);
    assert.equal(lines(), connections);
    await all(async () => {
      assert.equal((await ask(http, '/v2/logging', { body: { log_verbose_level: 0 } })).status, 200);
    });
    served.child.kill('SIGTERM');
    const { code, stderr } = await served.ended;
    assert.equal(code, 0, stderr);
  },
);

test('what all threads have under way is answered before the end', { skip }, async (t) => {
  const repository = await repositoryOf(t, { slow: slow(200) });
  const served = run(
    t,
    repository,
    ...ports,
    '--http-thread-count=3',
    '--allow-grpc=false',
    '--log-verbose=1',
  );
  const http = await served.place('HTTPService');
  await served.said(/Started 2 more threads/);
  const answers = Array.from({ length: connections }, () =>
    ask(http, '/v2/models/slow/infer', { body: oneRow }),
  );
  // The first answer shows that the requests have arrived.
  await served.said(/POST \/v2\/models\/slow\/infer: 200/);
  served.child.kill('SIGTERM');
  const statuses = await Promise.all(
    answers.map((one) =>
      one.then(
        ({ status }) => status,
        () => 0,
      ),
    ),
  );
  // Late requests get an error, or no connection.
  assert.ok(statuses.filter((status) => status === 200).length >= 2, statuses.join());
  assert.ok(
    statuses.every((status) => [200, 503, 0].includes(status)),
    statuses.join(),
  );
  const { code, stderr } = await served.ended;
  assert.equal(code, 0, stderr);
});

test('a port that somebody has is not shared with him unless he may be', { skip }, async (t) => {
  const repository = await repositoryOf(t, { one: identity() });
  const first = run(t, repository, ...ports, '--http-thread-count=2', '--allow-grpc=false');
  const { address } = await first.place('HTTPService');
  await first.said(/more threads/);
  const args = [
    `--http-port=${address.port}`,
    '--metrics-port=0',
    '--allow-grpc=false',
    '--http-thread-count=2',
  ];
  const second = await ran(t, repository, ...args);
  assert.equal(second.code, 1);
  assert.match(second.stderr, /HTTP cannot be served on 0\.0\.0\.0, port \d+: .*EADDRINUSE/);
});
