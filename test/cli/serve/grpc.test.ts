/** `tritonts serve` answers a gRPC client (grpc-js). */
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { failure, floats, foreign } from '../../endpoints/grpc/harness.js';
import { identity } from '../../support/harness.js';
import { temporaryFolder } from '../../support/repository.js';
import { ran, repositoryOf, run } from './harness.js';

const ports: readonly string[] = ['--http-port=0', '--metrics-port=0', '--grpc-port=0'];

test('a request is answered, restricted calls need their secret, and the end is said', async (t) => {
  const repository = await repositoryOf(t, {
    one: identity({ inputs: [{ name: 'x', dims: [4] }], outputs: [{ name: 'y', dims: [4] }] }),
  });
  const secret = '--grpc-restricted-protocol=statistics:key=abc';
  const served = run(t, repository, ...ports, '--grpc-address=127.0.0.1', secret);
  const client = await foreign(t, await served.place('GRPCInferenceService'));
  const answer = await client.call('ModelInfer', {
    model_name: 'one',
    inputs: [{ name: 'x', datatype: 'FP32', shape: [1, 4] }],
    raw_input_contents: [floats(1, 2, 3, 4)],
  });
  assert.deepEqual(answer['raw_output_contents'], [floats(1, 2, 3, 4)]);
  const refused = await failure(client.call('ModelStatistics'));
  assert.match(refused.details, /triton-grpc-protocol-key/);
  const metadata = { 'triton-grpc-protocol-key': 'abc' };
  const { model_stats: statistics } = await client.call('ModelStatistics', {}, { metadata });
  assert.equal((statistics as unknown[]).length, 1);
  served.child.kill('SIGTERM');
  assert.equal((await served.ended).code, 0);
});

test('TLS files that are absent or wrong end the start before a model is loaded, by name', async (t) => {
  const repository = await repositoryOf(t, { one: identity() });
  const folder = await temporaryFolder(t);
  const cert = join(folder, 'cert.pem');
  await writeFile(cert, 'no certificate');
  const tls = ['--grpc-use-ssl=true', `--grpc-server-cert=${cert}`];
  const missing = await ran(t, repository, ...ports, ...tls, `--grpc-server-key=${join(folder, 'key.pem')}`);
  assert.equal(missing.code, 1);
  assert.match(missing.stderr, /cannot read '.*key\.pem': ENOENT/);
  assert.doesNotMatch(missing.stderr, /model 'one'/);
  const wrong = await ran(t, repository, ...ports, ...tls, `--grpc-server-key=${cert}`);
  assert.equal(wrong.code, 1);
  assert.match(wrong.stderr, /--grpc-server-cert '.*cert\.pem': expected PEM files/);
  assert.doesNotMatch(wrong.stderr, /model 'one'/);
});
