/** `serveHttp` and `httpHandler`: connections, secrets, TLS, the end, other servers, options. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { get } from 'node:https';
import type { Socket } from 'node:net';
import { suite, test } from 'node:test';
import { TritonError, type InferenceServer } from '../../../src/index.js';
import { httpHandler, serveHttp, type ServeHttpOptions } from '../../../src/endpoints/http/serve.js';
import { certificate } from '../../support/certificate.js';
import { identity, rejection, row, serve, thrown, until } from '../../support/harness.js';
import { ask, endpointOf, errorOf, exchange, json, open } from './harness.js';

const path = '/v2/models/m/infer';
const good = { inputs: [{ name: 'x', datatype: 'FP32', shape: [1, 16], data: [...row()] }] };
const text = JSON.stringify(good);
const request = (more = ''): string =>
  `POST ${path} HTTP/1.1\r\nHost: x\r\n${more}Content-Length: ${text.length}\r\n\r\n${text}`;

/** How many of a model's requests are under way. */
function pending(server: InferenceServer): number {
  const [, count = '0'] = /^nv_inference_pending_request_count\{[^}]*\} (\d+)$/m.exec(server.metrics()) ?? [];
  return Number(count);
}

test('answers of a connection come in the order of their requests', async (t) => {
  const server = await serve(t, { m: identity(), slow: identity({ delayMs: 50 }) });
  const endpoint = await endpointOf(t, server);
  const slow = request().replace('/m/', '/slow/');
  const sent =
    slow +
    request() +
    'GET /v2/models/m/ready HTTP/1.1\r\nHost: x\r\n\r\n' +
    'GET /no HTTP/1.1\r\nHost: x\r\n\r\n';
  const answers = await exchange(t, endpoint, sent, /Not Found/);
  const order = [...answers.matchAll(/HTTP\/1\.1 (\d+)|"model_name":"(\w+)"/g)].map(
    ([, status, name]) => status ?? name,
  );
  assert.deepEqual(order, ['200', 'slow', '200', 'm', '200', '404']);
});

test('a client that disconnects cancels its requests', async (t) => {
  const server = await serve(t, { m: identity({ delayMs: 60_000, batching: false }) });
  const endpoint = await endpointOf(t, server);
  const socket = open(t, endpoint);
  socket.write(request().repeat(3));
  await until(() => pending(server) === 2);
  socket.destroy();
  await until(() => pending(server) === 0);
  const other = open(t, endpoint);
  other.write(request());
  await until(() => pending(server) === 1);
});

test('pages of other origins get no permission to read answers', async (t) => {
  const endpoint = await endpointOf(t, await serve(t, { m: identity() }));
  const headers = { Origin: 'http://elsewhere', 'Access-Control-Request-Method': 'POST' };
  for (const [method, status] of [
    ['GET', 200],
    ['OPTIONS', 405],
  ] as const) {
    const answer = await ask(endpoint, '/v2', { method, headers });
    assert.equal(answer.status, status);
    assert.deepEqual(
      Object.keys(answer.headers).filter((name) => name.startsWith('access-control')),
      [],
    );
  }
});

test('one connection more than maxConnections is closed, and the others go on', async (t) => {
  const endpoint = await endpointOf(t, await serve(t, { m: identity() }), { maxConnections: 2 });
  const first = open(t, endpoint);
  const second = open(t, endpoint);
  const answered = (socket: Socket): Promise<void> =>
    new Promise((resolve) => {
      socket.once('data', () => {
        resolve();
      });
      socket.write(request());
    });
  await Promise.all([answered(first), answered(second)]);
  const third = open(t, endpoint);
  await once(third, 'close');
  await Promise.all([answered(first), answered(second)]);
  first.destroy();
  // The connection's place is free when the endpoint has noticed its end.
  await until(async () => (await exchange(t, endpoint, request(), /model_name/)).includes('model_name'));
});

test('a request may name the whole address, as to a proxy', async (t) => {
  const endpoint = await endpointOf(t, await serve(t, { m: identity() }));
  for (const [target, status] of [
    ['http://x/v2', 200],
    ['HTTPS://x:1/v2/models/m/ready?a', 200],
    ['http://x', 404],
    ['http://x?/v2', 404],
    ['http://x/http://x/v2', 404],
    ['ftp://x/v2', 404],
    ['*', 404],
    ['v2', 400],
  ] as const) {
    const answer = await exchange(t, endpoint, `GET ${target} HTTP/1.1\r\nHost: x\r\n\r\n`, /\r\n\r\n/);
    assert.match(answer, new RegExp(`^HTTP/1\\.1 ${status} `), target);
  }
});

void suite('the end', () => {
  test('close() lets answers under way end, and takes no new ones', async (t) => {
    const server = await serve(t, { m: identity({ delayMs: 500 }) });
    const endpoint = await endpointOf(t, server);
    const idle = open(t, endpoint);
    const answer = exchange(t, endpoint, request());
    await until(() => server.explain('m').batches.some(({ running }) => running));
    const closed = Promise.all([endpoint.close(), endpoint.close()]);
    await assert.rejects(ask(endpoint, '/v2'));
    assert.match(await answer, /^HTTP\/1\.1 200 OK[^]*Connection: close[^]*outputs/);
    await closed;
    if (!idle.destroyed) await new Promise((resolve) => idle.resume().once('close', resolve));
    // The server goes on.
    await server.infer('m', { x: row() });
  });

  test('after its time limit requests are cancelled', async (t) => {
    const server = await serve(t, { m: identity({ delayMs: 60_000, batching: false }) });
    const endpoint = await endpointOf(t, server);
    const answers = [exchange(t, endpoint, request()), exchange(t, endpoint, request())];
    await until(() => pending(server) === 1);
    await endpoint.close({ timeoutMs: 10 });
    assert.deepEqual(await Promise.all(answers), ['', '']);
    await until(() => pending(server) === 0);
  });

  test('a signal closes it', async (t) => {
    const server = await serve(t, { m: identity() });
    const controller = new AbortController();
    const endpoint = await endpointOf(t, server, { signal: controller.signal });
    json(await ask(endpoint, '/v2'));
    controller.abort();
    await endpoint.close();
    await assert.rejects(ask(endpoint, '/v2'));
    const error = await rejection(serveHttp(server, { port: 0, signal: controller.signal }));
    assert.equal(error.code, 'CANCELLED');
  });

  test('await using closes it', async (t) => {
    const server = await serve(t, { m: identity() });
    const endpoint = await endpointOf(t, server);
    await endpoint[Symbol.asyncDispose]();
    await assert.rejects(ask(endpoint, '/v2'));
  });
});

test('restricted groups need their secret', async (t) => {
  const server = await serve(t, { m: identity() });
  const endpoint = await endpointOf(t, server, {
    restricted: [
      { protocols: ['inference', 'statistics'], header: 'Infer-Key', value: 'a' },
      { protocols: ['health'], header: 'other', value: 'é b' },
    ],
  });
  const refused = "This API is restricted, expecting header 'infer-key'";
  for (const headers of [
    {},
    { 'infer-key': 'b' },
    { 'infer-key': '' },
    { 'infer-key': 'aa' },
    { other: 'a' },
  ]) {
    assert.equal(errorOf(await ask(endpoint, path, { body: good, headers }), 403), refused);
    assert.equal(errorOf(await ask(endpoint, '/v2/models/m/generate', { body: {}, headers }), 403), refused);
    assert.equal(errorOf(await ask(endpoint, '/v2/models/stats', { headers }), 403), refused);
  }
  json(await ask(endpoint, path, { body: good, headers: { 'INFER-KEY': 'a' } }));
  errorOf(await ask(endpoint, '/v2/models/m/ready'), 403);
  // In Latin-1, which Node's client writes, and in UTF-8.
  for (const [other, status] of [
    ['é b', 200],
    ['\xc3\xa9 b', 200],
    ['e b', 403],
    ['\xc3 b', 403],
  ] as const)
    assert.equal((await ask(endpoint, '/v2/models/m/ready', { headers: { other } })).status, status);
  json(await ask(endpoint, '/v2'));
});

test('TLS', async (t) => {
  const tls = await certificate(t);
  if (tls === undefined) return;
  const endpoint = await endpointOf(t, await serve(t, { m: identity() }), { tls });
  const { host, port } = endpoint.address;
  const status = await new Promise((resolve, reject) => {
    get(
      { host, port, path: '/v2/health/ready', ca: tls.cert, servername: 'localhost', agent: false },
      (response) => {
        response.resume();
        resolve(response.statusCode);
      },
    ).on('error', reject);
  });
  assert.equal(status, 200);
  const wrong = await rejection(
    serveHttp(await serve(t, { m: identity() }), { port: 0, tls: { key: 'x', cert: 'y' } }),
  );
  assert.equal(wrong.code, 'INVALID_ARG');
  assert.match(wrong.message, /options\.tls cannot be used/);
});

test('a closed server is not served', async (t) => {
  const server = await serve(t, { m: identity() });
  await server.close();
  const { code, reason } = await rejection(serveHttp(server, { port: 0 }));
  assert.deepEqual([code, reason], ['UNAVAILABLE', 'CLOSED']);
});

test('a port that is in use is told', async (t) => {
  const server = await serve(t, { m: identity() });
  const { address } = await endpointOf(t, server);
  assert.equal(address.host, '127.0.0.1');
  const error = await rejection(serveHttp(server, { port: address.port }));
  assert.equal(error.code, 'UNAVAILABLE');
  assert.match(error.message, /cannot be served on 127\.0\.0\.1, port \d+: .*EADDRINUSE/);
});

test('wrong options are refused', async (t) => {
  const server = await serve(t, { m: identity() });
  // As a program in JavaScript may.
  const wrong = (options: unknown): ServeHttpOptions => options as ServeHttpOptions;
  const secret = { protocols: ['health'], header: 'a', value: 'b' };
  for (const [options, message] of [
    [{ port: 65536 }, /options\.port but received 65536/],
    [{ host: '' }, /a host name or address for options\.host/],
    [{ prot: 1 }, /unknown key 'prot' in HTTP options \(did you mean port\?\)/],
    [5, /an object for HTTP options/],
    [{ tls: 5 }, /an object for options\.tls/],
    [{ tls: {} }, /one of cert, pfx, .* in options\.tls/],
    [{ tls: { key: 'x' } }, /one of cert, pfx, .* in options\.tls/],
    [{ signal: {} }, /an AbortSignal for options\.signal/],
    [{ maxConnections: 0.5 }, /options\.maxConnections/],
    [{ requestTimeoutMs: 0 }, /milliseconds/],
    [{ maxRequestBytes: 0 }, /options\.maxRequestBytes but received 0/],
    [{ maxRequestBytes: 1e12 }, /options\.maxRequestBytes/],
    [{ headerForwardPattern: 'x' }, /a RegExp/],
    [{ headerForwardPattern: /x/g }, /without the flags g and y/],
    [{ restricted: {} }, /an array for options\.restricted/],
    [{ restricted: [{ ...secret, protocols: ['helth'] }] }, /one of .*health.* but received 'helth'/],
    [{ restricted: [{ ...secret, protocols: [] }] }, /an array of groups/],
    [{ restricted: [{ ...secret, header: 'a b' }] }, /a header's name/],
    [{ restricted: [{ ...secret, value: '' }] }, /a non-empty string for options\.restricted\[0\]\.value/],
    [{ restricted: [{ ...secret, value: 'a ' }] }, /no space at either end and no control character/],
    [{ restricted: [{ ...secret, value: 'a\n' }] }, /no space at either end and no control character/],
    [{ restricted: [secret, secret] }, /'health' is restricted twice/],
    [{ restricted: [{ ...secret, key: 1 }] }, /unknown key 'key' in options\.restricted\[0\]/],
  ] as const) {
    const error = await rejection(serveHttp(server, wrong(options)));
    assert.equal(error.code, 'INVALID_ARG');
    assert.match(error.message, message);
  }
  const none = await rejection(serveHttp({} as InferenceServer));
  assert.match(none.message, /an InferenceServer for serveHttp/);
  assert.match(
    thrown(() => httpHandler({} as InferenceServer)).message,
    /an InferenceServer for httpHandler/,
  );
  assert.match(thrown(() => httpHandler(server, { port: 1 } as object)).message, /unknown key 'port'/);
  const endpoint = await endpointOf(t, server);
  const close = await rejection(endpoint.close({ timeoutMs: -1 }));
  assert.ok(close instanceof TritonError && close.code === 'INVALID_ARG');
});
