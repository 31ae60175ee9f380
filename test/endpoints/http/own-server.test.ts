/** `httpHandler` in the program's own servers: node:http, Express, Fastify. */

import assert from 'node:assert/strict';
import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { suite, test } from 'node:test';
import express from 'express';
import fastify from 'fastify';
import type { InferenceServer } from '../../../src/index.js';
import { httpHandler, type HttpEndpoint } from '../../../src/endpoints/http/serve.js';
import { identity, row, serve, until, type Context } from '../../support/harness.js';
import { ask, errorOf, exchange, json, open } from './harness.js';

const path = '/v2/models/m/infer';
const good = { inputs: [{ name: 'x', datatype: 'FP32', shape: [1, 16], data: [...row()] }] };

/** A server of node:http, which ends with its test. */
async function listen(
  t: Context,
  listener: (request: IncomingMessage, response: ServerResponse) => void,
): Promise<HttpEndpoint> {
  const own = createHttpServer(listener);
  await new Promise<void>((resolve) => own.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    own.closeAllConnections();
    own.close();
    return Promise.resolve();
  });
  return at((own.address() as AddressInfo).port);
}

/** An endpoint's address, which is all that the helpers need. */
function at(port: number): HttpEndpoint {
  return { address: { host: '127.0.0.1', port } } as HttpEndpoint;
}

/** Fastify as in docs/endpoints.md. */
async function withFastify(t: Context, server: InferenceServer): Promise<HttpEndpoint> {
  const handler = httpHandler(server);
  const app = fastify();
  await app.register((scope, _options, done) => {
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser('*', (_request, _payload, parsed) => {
      parsed(null);
    });
    scope.all('/v2/*', (incoming, reply) => {
      reply.hijack();
      handler(incoming.raw, reply.raw);
    });
    done();
  });
  app.get('/mine', () => 'mine');
  const url = await app.listen({ port: 0, host: '127.0.0.1' });
  t.after(() => app.close());
  return at(Number(new URL(url).port));
}

function withExpress(t: Context, server: InferenceServer): Promise<HttpEndpoint> {
  const app = express();
  app.use(httpHandler(server));
  app.use(express.json());
  app.get('/mine', (_request, response) => {
    response.send('mine');
  });
  app.post('/mine', (request, response) => {
    response.send(request.body);
  });
  return listen(t, app);
}

for (const [name, start] of [
  [
    'node:http',
    (t: Context, server: InferenceServer): Promise<HttpEndpoint> => {
      const handler = httpHandler(server);
      return listen(t, (request, response) => {
        handler(request, response, () => response.end('mine'));
      });
    },
  ],
  ['Express', withExpress],
  ['Fastify', withFastify],
] as const) {
  void suite(name, () => {
    test('answers the protocol’s calls, and leaves the others', async (t) => {
      const endpoint = await start(t, await serve(t, { m: identity() }));
      const headers = { 'Content-Type': 'application/json' };
      json(await ask(endpoint, path, { body: good, headers }));
      assert.equal((await ask(endpoint, '/v2/health/ready')).status, 200);
      errorOf(await ask(endpoint, '/v2/models/none'), 404);
      assert.equal((await ask(endpoint, '/mine')).text, 'mine');
    });

    test('keeps connections, and answers pipelined requests in their order', async (t) => {
      const server = await serve(t, { m: identity(), slow: identity({ delayMs: 20 }) });
      const endpoint = await start(t, server);
      const text = JSON.stringify(good);
      const post = (model: string): string =>
        `POST ${path.replace('m/', `${model}/`)} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${text.length}\r\n\r\n${text}`;
      const one = `${post('slow')}GET /mine HTTP/1.1\r\nHost: x\r\n\r\n${post('m')}`;
      const sent = `${one.repeat(100)}GET /v2/models/none HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`;
      const answers = await exchange(t, endpoint, sent);
      const order = [...answers.matchAll(/HTTP\/1\.1 (\d+)|"model_name":"(\w+)"|mine/g)].map(
        ([all, status, model]) => status ?? model ?? all,
      );
      assert.deepEqual(order, [
        ...Array.from({ length: 100 }, () => ['200', 'slow', '200', 'mine', '200', 'm']).flat(),
        '404',
      ]);
    });
  });
}

test('Express: bodies of other paths are its own', async (t) => {
  const endpoint = await withExpress(t, await serve(t, { m: identity() }));
  const headers = { 'Content-Type': 'application/json' };
  assert.deepEqual(json(await ask(endpoint, '/mine', { body: good, headers })), good);
});

test('the limit of a body', async (t) => {
  const handler = httpHandler(await serve(t, { m: identity() }), { maxRequestBytes: 1000 });
  const endpoint = await listen(t, (request, response) => {
    handler(request, response);
  });
  errorOf(await ask(endpoint, path, { body: ' '.repeat(1001) }), 400);
  errorOf(await ask(endpoint, '/mine'), 404);
});

void suite('a handler that comes late', () => {
  test('behind a parser of bodies it says so', async (t) => {
    const handler = httpHandler(await serve(t, { m: identity() }));
    const endpoint = await listen(t, (request, response) => {
      request.resume().on('end', () => {
        handler(request, response);
      });
    });
    assert.match(
      errorOf(await ask(endpoint, path, { body: good }), 500),
      /put the handler before body parsers/,
    );
  });

  test('when somebody has answered it stays silent', async (t) => {
    const handler = httpHandler(await serve(t, { m: identity() }));
    const endpoint = await listen(t, (request, response) => {
      response.writeHead(202);
      response.write('a');
      handler(request, response);
      setImmediate(() => response.end('b'));
    });
    for (const one of ['/v2', '/no', '/v2/models/none', '/v2/repository/index']) {
      const answer = await ask(endpoint, one);
      assert.deepEqual([answer.status, answer.text], [202, 'ab']);
    }
    const answer = await ask(endpoint, path, { body: good });
    assert.deepEqual([answer.status, answer.text], [202, 'ab']);
  });

  for (const call of ['infer', 'generate', 'generate_stream']) {
    test(`${call}: when the client has left, nothing is run`, async (t) => {
      const server = await serve(t, { m: identity() });
      const handler = httpHandler(server);
      let ended = false;
      const endpoint = await listen(t, (request, response) => {
        const handle = (): void => {
          handler(request, response);
        };
        if (request.method === 'GET') handle();
        else request.socket.on('close', handle).on('close', () => (ended = true));
      });
      const body = JSON.stringify(call === 'infer' ? good : { x: [...row()] });
      const socket = open(t, endpoint);
      socket.end(
        `POST /v2/models/m/${call} HTTP/1.1\r\nHost: x\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
      );
      socket.resume().destroySoon();
      await until(() => ended);
      for (let i = 0; i < 20; i++) await ask(endpoint, '/v2');
      assert.equal(server.model('m').statistics().inference_count, 0);
      await server.infer('m', { x: row() });
    });
  }
});
