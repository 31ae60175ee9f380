/** `serveGrpc`: the end, secrets, TLS, connections, options. */

import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { credentials, status } from '@grpc/grpc-js';
import type { GivenModel, InferenceServer } from '../../../src/index.js';
import { serveGrpc } from '../../../src/endpoints/grpc/serve.js';
import { certificate } from '../../support/certificate.js';
import { identity, rejection, row, serve, until } from '../../support/harness.js';
import { endpointOf, failure, foreign, responses } from './harness.js';
import { answerOf, ask, closed, framed, open, session, socketOf } from './raw.js';

const request = (model = 'm'): Record<string, unknown> => ({
  model_name: model,
  inputs: [{ name: 'x', datatype: 'FP32', shape: [1, 16] }],
  raw_input_contents: [Buffer.from(row().buffer)],
});
const pending = (server: InferenceServer): number =>
  Number(/^nv_inference_pending_request_count\{[^}]*\} (\d+)$/m.exec(server.metrics())?.[1] ?? 0);

void suite('the end', () => {
  test('close() lets calls under way end, sends clients away, and takes no new ones', async (t) => {
    let letGo = (): void => undefined;
    const opened = new Promise<void>((resolve) => (letGo = resolve));
    const m: GivenModel = {
      config: {
        max_batch_size: 1,
        input: [{ name: 'x', data_type: 'TYPE_FP32', dims: [16] }],
        output: [{ name: 'y', data_type: 'TYPE_FP32', dims: [16] }],
      },
      execute: async (requests) => {
        await opened;
        return requests.map(({ inputs }) => ({ y: inputs['x'] }));
      },
    };
    const server = await serve(t, {}, { models: { m } });
    const endpoint = await endpointOf(t, server);
    const client = await foreign(t, endpoint);
    const raw = session(t, endpoint);
    const away = new Promise((resolve) => raw.once('goaway', resolve));
    await new Promise((resolve) => raw.once('remoteSettings', resolve));
    const calls = [client.call('ModelInfer', request()), client.call('ModelInfer', request())];
    const stream = client.stream();
    const told = responses(stream);
    stream.write(request());
    stream.end();
    // This one stays open, and ends with its request.
    const openStream = client.stream();
    let answers = 0;
    openStream.on('data', () => answers++);
    const openTold = failure(responses(openStream));
    openStream.write(request());
    await until(() => pending(server) === 3);
    const closed = Promise.all([endpoint.close(), endpoint.close({ timeoutMs: 0 })]);
    await away;
    letGo();
    for (const call of calls) assert.ok('outputs' in (await call));
    assert.equal((await told).length, 1);
    const { code, message } = await openTold;
    assert.deepEqual([answers, code], [1, status.UNAVAILABLE]);
    assert.match(message, /is shutting down/);
    await closed;
    assert.equal(
      (await failure(client.call('ServerLive', {}, { deadline: Date.now() + 5000 }))).code,
      status.UNAVAILABLE,
    );
    // The server goes on.
    await server.infer('m', { x: row() });
  });

  test('after its time limit calls are cancelled', async (t) => {
    const server = await serve(t, { m: identity({ delayMs: 60_000, batching: false }) });
    const endpoint = await endpointOf(t, server);
    const client = await foreign(t, endpoint);
    const calls = [
      failure(client.call('ModelInfer', request())),
      failure(client.call('ModelInfer', request())),
    ];
    await until(() => pending(server) === 1);
    await endpoint.close({ timeoutMs: 10 });
    for (const { code } of await Promise.all(calls))
      assert.ok(
        code === status.UNAVAILABLE || code === status.CANCELLED || code === status.INTERNAL,
        String(code),
      );
    await until(() => pending(server) === 0);
  });

  test('a signal closes it, and so does await using', async (t) => {
    const server = await serve(t, { m: identity() });
    const controller = new AbortController();
    const endpoint = await endpointOf(t, server, { signal: controller.signal });
    const client = await foreign(t, endpoint);
    controller.abort();
    await endpoint.close();
    assert.equal((await failure(client.call('ServerLive'))).code, status.UNAVAILABLE);
    const error = await rejection(serveGrpc(server, { port: 0, signal: controller.signal }));
    assert.equal(error.code, 'CANCELLED');
    const other = await endpointOf(t, server);
    await other[Symbol.asyncDispose]();
    const taken = await endpointOf(t, server);
    const busy = await rejection(serveGrpc(server, { port: taken.address.port }));
    assert.equal(busy.code, 'UNAVAILABLE');
  });
});

test('restricted groups need their secret', async (t) => {
  const server = await serve(t, { m: identity() });
  const endpoint = await endpointOf(t, server, {
    restricted: [
      { protocols: ['inference', 'statistics'], header: 'triton-grpc-protocol-infer-key', value: 'a' },
    ],
  });
  const client = await foreign(t, endpoint);
  for (const metadata of [{}, { 'triton-grpc-protocol-infer-key': 'b' }, { 'infer-key': 'a' }] as Record<
    string,
    string
  >[]) {
    const error = await failure(client.call('ModelInfer', request(), { metadata }));
    assert.equal(error.code, status.UNAVAILABLE);
    assert.equal(
      error.details,
      "This protocol is restricted, expecting header 'triton-grpc-protocol-infer-key'",
    );
    assert.equal((await failure(client.call('ModelStatistics', {}, { metadata }))).code, status.UNAVAILABLE);
  }
  await client.call('ModelInfer', request(), { metadata: { 'triton-grpc-protocol-infer-key': 'a' } });
  await client.call('ServerLive');
});

test('TLS, with and without certificates of clients', async (t) => {
  const tls = await certificate(t);
  if (tls === undefined) return;
  const name = { 'grpc.ssl_target_name_override': 'localhost' };
  const server = await serve(t, { m: identity() });
  const client = await foreign(
    t,
    await endpointOf(t, server, { tls }),
    name,
    credentials.createSsl(tls.cert),
  );
  assert.deepEqual(await client.call('ServerLive'), { live: true });

  const mutual = await endpointOf(t, server, {
    tls: { ...tls, ca: tls.cert, requestCert: true, rejectUnauthorized: true },
  });
  const known = await foreign(t, mutual, name, credentials.createSsl(tls.cert, tls.key, tls.cert));
  assert.deepEqual(await known.call('ServerLive'), { live: true });
  const stranger = failure(foreign(t, mutual, name, credentials.createSsl(tls.cert)));
  assert.equal((await stranger).code, status.UNAVAILABLE);

  const wrong = await rejection(serveGrpc(server, { port: 0, tls: { key: 'x', cert: 'y' } }));
  assert.equal(wrong.code, 'INVALID_ARG');
  assert.match(wrong.message, /options\.tls cannot be used/);
});

test('clients that do not answer pings lose their connection, and old connections end', async (t) => {
  const server = await serve(t, { m: identity({ delayMs: 60_000, batching: false }) });
  const pinged = await endpointOf(t, server, {
    keepaliveTimeMs: 20,
    keepaliveTimeoutMs: 60_000,
    keepalivePermitWithoutCalls: true,
    maxPingsWithoutData: 3,
  });
  const raw = session(t, pinged);
  let pings = 0;
  raw.on('ping', () => pings++);
  await until(() => pings === 3);
  const client = await foreign(t, pinged);
  const old = await endpointOf(t, server, { maxConnectionAgeMs: 50, maxConnectionAgeGraceMs: 50 });
  const aged = session(t, old);
  const slow = open(aged);
  slow.end(framed(client.messages.write('inference.ModelInferRequest', request())));
  await answerOf(slow);
  await until(() => aged.destroyed);
  assert.equal(pings, 3);
});

test('one connection more than maxConnections is closed, and the others go on', async (t) => {
  const endpoint = await endpointOf(t, await serve(t, { m: identity() }), { maxConnections: 2 });
  const all = [session(t, endpoint), session(t, endpoint)];
  const asked = () => Promise.all(all.map((one) => ask(one, framed(Buffer.alloc(0)))));
  const answers = (await asked()).map((answer) => answer.status);
  assert.deepEqual(answers, [status.NOT_FOUND, status.NOT_FOUND]);
  await closed(socketOf(t, endpoint));
  assert.deepEqual(
    (await asked()).map((answer) => answer.status),
    answers,
  );
  all.pop()?.destroy();
  await until(
    async () => (await ask(session(t, endpoint), framed(Buffer.alloc(0)))).status === status.NOT_FOUND,
  );
});

test('a closed server is not served', async (t) => {
  const server = await serve(t, { m: identity() });
  await server.close();
  const { code, reason } = await rejection(serveGrpc(server, { port: 0 }));
  assert.deepEqual([code, reason], ['UNAVAILABLE', 'CLOSED']);
});

test('early pings are counted', async (t) => {
  const server = await serve(t, { m: identity() });
  const strict = session(t, await endpointOf(t, server, { maxPingStrikes: 1 }));
  const away = new Promise<string>((resolve) => {
    strict.once('goaway', (_code, _last, data) => {
      resolve(String(data));
    });
    strict.once('close', () => {
      resolve('closed without a reason');
    });
  });
  await new Promise((resolve) => strict.once('remoteSettings', resolve));
  for (let i = 0; i < 3; i++) strict.ping(() => undefined);
  assert.equal(await away, 'too_many_pings');
  const endpoint = await endpointOf(t, server, { maxPingStrikes: 0 });
  const lenient = session(t, endpoint);
  await new Promise((resolve) => lenient.once('remoteSettings', resolve));
  for (let i = 0; i < 8; i++) await new Promise((resolve) => lenient.ping(resolve));
  assert.equal((await ask(lenient, framed(Buffer.alloc(0)))).status, status.NOT_FOUND);
});

test('options are checked', async (t) => {
  const server = await serve(t, { m: identity() });
  const wrong: readonly [object, RegExp][] = [
    [{ prot: 1 }, /unknown key 'prot'.*port/],
    [{ port: -1 }, /options\.port/],
    [{ host: '' }, /options\.host/],
    [{ tls: 1 }, /options\.tls/],
    [{ maxRequestBytes: 2 ** 31 }, /options\.maxRequestBytes/],
    [{ maxHeldBytes: 0 }, /options\.maxHeldBytes/],
    [{ requestTimeoutMs: 0 }, /options\.requestTimeoutMs/],
    [{ maxConnections: 0 }, /options\.maxConnections/],
    [{ maxConcurrentStreams: 0 }, /options\.maxConcurrentStreams/],
    [{ restricted: [{ protocols: ['all'], header: 'a', value: 'b' }] }, /protocols/],
    [{ restricted: [{ protocols: ['health'], header: 'a', value: '' }] }, /value/],
    [{ headerForwardPattern: 'x' }, /headerForwardPattern/],
    [{ headerForwardPattern: /x/g }, /flags/],
    [{ responseCompression: 'gzip' }, /responseCompression/],
    [{ keepaliveTimeMs: -1 }, /keepaliveTimeMs/],
    [{ keepalivePermitWithoutCalls: 1 }, /keepalivePermitWithoutCalls/],
    [{ maxPingStrikes: -1 }, /maxPingStrikes/],
    [{ maxConnectionAgeMs: 0 }, /maxConnectionAgeMs/],
    [{ signal: 1 }, /signal/],
  ];
  for (const [options, text] of wrong) {
    const error = await rejection(serveGrpc(server, options));
    assert.equal(error.code, 'INVALID_ARG');
    assert.match(error.message, text);
  }
  const nobody = await rejection(serveGrpc({} as InferenceServer));
  assert.equal(nobody.code, 'INVALID_ARG');
  const endpoint = await endpointOf(t, server);
  assert.equal((await rejection(endpoint.close({ timeoutMs: -1 }))).code, 'INVALID_ARG');
});
