/** `serveMetrics`: metrics over HTTP. */

import assert from 'node:assert/strict';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { Server } from 'node:http';
import { connect } from 'node:net';
import { test } from 'node:test';
import { TritonError } from '../../src/index.js';
import {
  serveMetrics,
  type MetricsEndpoint,
  type MetricsSource,
  type ServeMetricsOptions,
} from '../../src/metrics/serve.js';
import { identity, rejection, row, serve, until, type Context } from '../support/harness.js';

async function endpointOf(
  t: Context,
  server: MetricsSource,
  options: ServeMetricsOptions = {},
): Promise<MetricsEndpoint> {
  const endpoint = await serveMetrics(server, { port: 0, ...options });
  t.after(() => endpoint.close());
  return endpoint;
}

const url = ({ address: { host, port } }: MetricsEndpoint, path = '/metrics'): string =>
  `http://${host}:${port}${path}`;

test('GET /metrics answers with the server’s text', async (t) => {
  const server = await serve(t, { echo: identity() });
  await server.infer('echo', { x: row() });
  const endpoint = await endpointOf(t, server);
  assert.equal(endpoint.address.host, '127.0.0.1');
  for (const path of ['/metrics', '/metrics?name=x']) {
    const response = await fetch(url(endpoint, path));
    assert.equal(response.status, 200);
    assert.equal(response.headers.get('content-type'), 'text/plain; version=0.0.4; charset=utf-8');
    assert.match(await response.text(), /^nv_inference_count\{model="echo",version="1"\} 1$/m);
  }
});

test('other paths answer with nothing, other methods with 405', async (t) => {
  const endpoint = await endpointOf(t, { metrics: () => 'a 1\n' });
  for (const path of ['/', '/metrics/', '/v2']) {
    const response = await fetch(url(endpoint, path));
    assert.deepEqual([response.status, await response.text()], [200, '']);
  }
  for (const method of ['POST', 'PUT', 'DELETE', 'HEAD']) {
    const response = await fetch(url(endpoint), { method });
    assert.deepEqual([response.status, response.headers.get('allow')], [405, 'GET']);
  }
});

test('a closed server is not served', async (t) => {
  const server = await serve(t, { echo: identity() });
  await server.close();
  const { code, reason } = await rejection(serveMetrics(server, { port: 0 }));
  assert.deepEqual([code, reason], ['UNAVAILABLE', 'CLOSED']);
});

test('a closed server answers 503, with the reason', async (t) => {
  const server = await serve(t, { echo: identity() });
  const endpoint = await endpointOf(t, server);
  await server.close();
  const response = await fetch(url(endpoint));
  assert.deepEqual([response.status, await response.text()], [503, 'the server is closed\n']);
});

test('close() ends it, and may be called again', async (t) => {
  const endpoint = await endpointOf(t, { metrics: () => 'a 1\n' });
  await fetch(url(endpoint)).then((response) => response.text());
  await Promise.all([endpoint.close(), endpoint.close()]);
  await assert.rejects(fetch(url(endpoint)));
});

test('close() does not wait for who sends half a request, or does not read the answer', async (t) => {
  let asked = 0;
  const text = `a{b="${'x'.repeat(1 << 25)}"} 1\n`;
  const endpoint = await serveMetrics(
    {
      metrics: () => {
        asked++;
        return text;
      },
    },
    { port: 0 },
  );
  const { host, port } = endpoint.address;
  const sockets = ['', 'GET /met', 'GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n'].map((sent) => {
    const socket = connect(port, host).pause();
    // The endpoint closes the connection.
    socket.on('error', () => undefined);
    socket.write(sent);
    return socket;
  });
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    return Promise.resolve();
  });
  await until(() => asked === 1);
  await endpoint.close();
});

test('a port that is in use is told', async (t) => {
  const source = { metrics: () => '' };
  const { address } = await endpointOf(t, source);
  const error = await rejection(serveMetrics(source, { port: address.port }));
  assert.ok(error instanceof TritonError);
  assert.equal(error.code, 'UNAVAILABLE');
  assert.match(
    error.message,
    new RegExp(`cannot be served on 127\\.0\\.0\\.1, port ${address.port}: .*EADDRINUSE`),
  );
});

test('errors of the endpoint while it listens end nothing', async (t) => {
  const endpoint = await endpointOf(t, { metrics: () => 'a 1\n' });
  const servers: Server[] = [];
  // Node publishes the server of each request.
  const note = (message: unknown): void => {
    servers.push((message as { readonly server: Server }).server);
  };
  subscribe('http.server.request.start', note);
  t.after(() => {
    unsubscribe('http.server.request.start', note);
    return Promise.resolve();
  });
  await fetch(url(endpoint)).then((response) => response.text());
  assert.equal(servers.length, 1);
  for (let i = 0; i < 2; i++) assert.equal(servers[0]?.emit('error', new Error('accept EMFILE')), true);
  assert.equal(await fetch(url(endpoint)).then((response) => response.text()), 'a 1\n');
});

test('wrong options are refused', async () => {
  const source = { metrics: () => '' };
  // As a program in JavaScript may.
  const wrong = (options: unknown): ServeMetricsOptions => options as ServeMetricsOptions;
  for (const [options, message] of [
    [{ port: 65536 }, /an integer from 0 to 65535 for options\.port but received 65536/],
    [{ port: '80' }, /options\.port but received '80'/],
    [{ host: '' }, /a host name or address for options\.host/],
    [{ prot: 1 }, /unknown key 'prot' in metrics options \(did you mean port\?\)/],
    [5, /an object for metrics options/],
  ] as const) {
    const error = await rejection(serveMetrics(source, wrong(options)));
    assert.equal(error.code, 'INVALID_ARG');
    assert.match(error.message, message);
  }
  const error = await rejection(serveMetrics({} as MetricsSource));
  assert.match(error.message, /expected a server for serveMetrics/);
});

test('a text is made when the one before it has been read, however many requests a connection sends at once', async (t) => {
  const count = 300;
  const text = `a{b="${'x'.repeat(1 << 18)}"} 1\n`;
  let asked = 0;
  const endpoint = await endpointOf(t, {
    metrics: () => {
      asked++;
      return text;
    },
  });
  const socket = connect(endpoint.address.port, endpoint.address.host);
  t.after(() => socket.destroy());
  socket.pause();
  socket.write('GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(count));
  await until(() => asked > 0);
  for (let i = 0; i < 50; i++) await fetch(url(endpoint, '/'));
  // The rest waits; some answers are in the buffers of the system.
  assert.ok(asked < count / 2, `${asked} texts were made`);
  let got = 0;
  socket.on('data', (chunk: Buffer) => (got += chunk.length)).resume();
  await until(() => got > count * text.length);
  assert.equal(asked, count);
});
