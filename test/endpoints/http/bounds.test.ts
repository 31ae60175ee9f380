/**
 * Limits of requests, bodies and answers that the endpoint holds for clients. Beyond them it fails, or pauses
 * reading.
 */

// Long: it moves much data.

import assert from 'node:assert/strict';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { createServer as createHttpServer } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { suite, test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { createServer, type GivenModel, type InferenceServer } from '../../../src/index.js';
import { httpHandler, type HttpEndpoint } from '../../../src/endpoints/http/serve.js';
import { identity, row, serve, until, type Context } from '../../support/harness.js';
import { ask, endpointOf, errorOf, exchange, json, open } from './harness.js';

const path = '/v2/models/m/infer';
const good = { inputs: [{ name: 'x', datatype: 'FP32', shape: [1, 16], data: [...row()] }] };
const limit = 65_536;

function post(path: string, body: object): string {
  const text = JSON.stringify(body);
  return `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Length: ${text.length}\r\n\r\n${text}`;
}

/** Returns a function that gives the received text so far. */
function textOf(socket: Socket): () => string {
  const chunks: string[] = [];
  socket.on('data', (chunk: Buffer) => chunks.push(chunk.toString('latin1')));
  return () => chunks.join('');
}

/** A server whose model `gate` answers when it is opened, and `large` with 16 MiB. */
async function gated(t: Context): Promise<{
  readonly server: InferenceServer;
  readonly pass: () => void;
  readonly large: { runs: number };
}> {
  let pass: () => void = () => undefined;
  const gate = new Promise<void>((resolve) => {
    pass = resolve;
  });
  const tensor = { name: 'x', data_type: 'TYPE_FP32', dims: [-1] } as const;
  const config = { max_batch_size: 0, input: [tensor], output: [{ ...tensor, name: 'y' }] };
  const large = { runs: 0 };
  const many = new Float32Array(4 << 20);
  const models: Record<string, GivenModel> = {
    gate: {
      config,
      execute: async (requests) => {
        await gate;
        return requests.map(({ inputs: { x } }) => ({ y: x ?? new Float32Array(0) }));
      },
    },
    large: {
      config,
      execute: (requests) => {
        large.runs += requests.length;
        return requests.map(() => ({ y: many }));
      },
    },
  };
  const server = await createServer({ models });
  t.after(() => {
    pass();
    return server.close({ timeoutMs: 0 });
  });
  return { server, pass, large };
}

const one = { inputs: [{ name: 'x', datatype: 'FP32', shape: [1], data: [1] }] };
const asked = { ...one, parameters: { binary_data_output: true } };

/** The endpoint's side of the next connection. */
function nextSocket(t: Context): Promise<Socket> {
  return new Promise((resolve) => {
    const listener = (message: unknown): void => {
      unsubscribe('net.server.socket', listener);
      resolve((message as { socket: Socket }).socket);
    };
    subscribe('net.server.socket', listener);
    t.after(() => {
      unsubscribe('net.server.socket', listener);
      return Promise.resolve();
    });
  });
}

void suite('requests of one connection', () => {
  /** A node:http server that counts requests. */
  async function counted(
    t: Context,
    server: InferenceServer,
  ): Promise<{ readonly endpoint: HttpEndpoint; readonly seen: () => number }> {
    let count = 0;
    const handler = httpHandler(server);
    const own = createHttpServer((request, response) => {
      count++;
      handler(request, response);
    });
    await new Promise<void>((resolve) => own.listen(0, '127.0.0.1', resolve));
    t.after(() => {
      own.closeAllConnections();
      own.close();
      return Promise.resolve();
    });
    const { port } = own.address() as AddressInfo;
    return { endpoint: { address: { host: '127.0.0.1', port } } as HttpEndpoint, seen: () => count };
  }

  for (const [name, more, count] of [
    ['that wait', post('/v2/models/gate/infer', one), 20_000],
    ['that are answered behind one that waits', 'GET /v2 HTTP/1.1\r\nHost: x\r\n\r\n', 20_000],
    ['whose bodies nobody reads', post('/v2/models/gate/ready', {}), 20_000],
  ] as const) {
    test(`${name}: beyond a limit they are read when answers have left, and all are answered`, async (t) => {
      const { server, pass } = await gated(t);
      const { endpoint, seen } = await counted(t, server);
      const socket = open(t, endpoint);
      const text = textOf(socket);
      socket.write(post('/v2/models/gate/infer', one) + more.repeat(count));
      if (name === 'that wait') await until(() => seen() >= 1024);
      for (let i = 0; i < 100; i++) await ask(endpoint, '/v2/health/live');
      // The limit, plus the requests in one read of a socket, plus those just made.
      assert.ok(seen() < 1024 + limit / more.length + 200, `${seen()} requests`);
      pass();
      await until(() => seen() === 1 + count + 100);
      const answers = (): number => text().split('HTTP/1.1 ').length - 1;
      await until(() => answers() === 1 + count);
      assert.match(text(), /^HTTP\/1\.1 200 [^]*"model_name":"gate"/);
    });
  }
});

void suite('bodies', () => {
  const head = `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Length: ${limit}\r\n\r\n`;
  const nearly = ' '.repeat(limit - 1);
  const small = async (t: Context): Promise<HttpEndpoint> =>
    endpointOf(t, await serve(t, { m: identity() }), { maxRequestBytes: limit });

  test('announced lengths deny nothing', async (t) => {
    const endpoint = await small(t);
    const sockets = Array.from({ length: 100 }, () => open(t, endpoint));
    await Promise.all(sockets.map((socket) => new Promise((sent) => socket.write(`${head}{`, sent))));
    for (let i = 0; i < 20; i++) json(await ask(endpoint, path, { body: good }));
  });

  test('what has come is bounded together, and is given back when its connection ends', async (t) => {
    const endpoint = await small(t);
    for (const start of [head, head.replace(/Content-Length.*\r/, 'Transfer-Encoding: chunked\r')]) {
      const chunk = start === head ? nearly : `${nearly.length.toString(16)}\r\n${nearly}`;
      for (let round = 0; round < 3; round++) {
        const sockets = Array.from({ length: 18 }, () => open(t, endpoint));
        const texts = sockets.map(textOf);
        for (const socket of sockets) socket.write(start + chunk);
        await until(() => texts.some((text) => text().includes('requests in progress hold')));
        assert.ok(texts.every((text) => /^(HTTP\/1\.1 429 |$)/.test(text())));
        for (const socket of sockets) socket.destroy();
        await until(async () => (await ask(endpoint, path, { body: good })).status === 200);
      }
    }
  });

  test('a refused body that goes on keeps its connection in step', async (t) => {
    const endpoint = await small(t);
    const socket = open(t, endpoint);
    const text = textOf(socket);
    socket.write(`POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Length: ${4 * limit}\r\n\r\n${nearly}`);
    await until(() => text().includes('over the limit'));
    socket.write(' '.repeat(3 * limit + 1) + post(path, good));
    await until(() => text().includes('outputs'));
    assert.equal(text().split('HTTP/1.1 ').length - 1, 2);
  });

  test('bodies of all sizes arrive as they were sent, in pieces and in one', async (t) => {
    const text = { datatype: 'BYTES', dims: [1] } as const;
    const model = identity({
      maxBatchSize: 0,
      batching: false,
      inputs: [{ name: 'x', ...text }],
      outputs: [{ name: 'y', ...text }],
    });
    const endpoint = await endpointOf(t, await serve(t, { m: model }), { maxRequestBytes: 12 << 20 });
    for (const size of [0, 1, 65_535, 65_536, 65_537, 1_048_575, 1_048_577, 9_000_001]) {
      const body = Buffer.alloc(size, 'abcdefghijklmnopqrstuvw');
      for (const coding of [{}, { 'Transfer-Encoding': 'chunked' }]) {
        const headers = { 'Inference-Header-Content-Length': '0', ...coding };
        const answer = await ask(endpoint, path, { body, headers, method: 'POST' });
        assert.equal(answer.status, 200, answer.text.slice(0, 200));
        const start = Number(answer.headers['inference-header-content-length']) + 4;
        assert.ok(answer.body.subarray(start).equals(body), `${size} bytes`);
      }
    }
  });

  test('a load that is not allowed is refused before its body comes', async (t) => {
    const endpoint = await small(t);
    for (const call of ['load', 'unload']) {
      const start = head.replace(path, `/v2/repository/models/m/${call}`);
      assert.match(await exchange(t, endpoint, start, /not allowed/), /^HTTP\/1\.1 503 /);
    }
  });
});

void suite('answers that are not read', () => {
  /** Sends requests, and reads no answer. */
  function unread(t: Context, endpoint: HttpEndpoint, requests: number): Socket {
    const socket = open(t, endpoint).pause();
    socket.write(post('/v2/models/large/infer', asked).repeat(requests));
    return socket;
  }

  test('of one connection, beyond the limit: 503', async (t) => {
    const { server, large } = await gated(t);
    const endpoint = await endpointOf(t, server, { maxRequestBytes: limit });
    const socket = unread(t, endpoint, 4);
    await until(() => large.runs === 4);
    json(await ask(endpoint, '/v2'));
    const text = textOf(socket.resume());
    await until(() => text().split('HTTP/1.1 ').length - 1 === 4);
    assert.deepEqual(text().match(/HTTP\/1\.1 \d+/g), [
      'HTTP/1.1 200',
      ...Array<string>(3).fill('HTTP/1.1 503'),
    ]);
    assert.match(
      text(),
      /clients have not read \d+ bytes of answers of this connection; the limit is 16777216/,
    );
  });

  test('of all connections, beyond the limit: 503, before a request is run', async (t) => {
    const { server, large } = await gated(t);
    const endpoint = await endpointOf(t, server, { maxRequestBytes: limit });
    const sockets = Array.from({ length: 16 }, () => unread(t, endpoint, 1));
    await until(() => large.runs === 16);
    await until(async () => {
      const answer = await ask(endpoint, '/v2/models/large/infer', { body: one });
      return answer.status === 503 && errorOf(answer, 503).includes('of all connections');
    });
    const { runs } = large;
    errorOf(await ask(endpoint, '/v2/models/large/infer', { body: one }), 503);
    assert.equal(large.runs, runs);
    for (const socket of sockets) socket.destroy();
    await until(async () => (await ask(endpoint, '/v2/models/large/infer', { body: asked })).status === 200);
  });

  test('for longer than requestTimeoutMs: the connection ends', async (t) => {
    const { server } = await gated(t);
    const endpoint = await endpointOf(t, server, { requestTimeoutMs: 100 });
    const accepted = nextSocket(t);
    const socket = unread(t, endpoint, 1);
    const its = await accepted;
    await until(() => its.destroyed);
    const text = textOf(socket.resume());
    await new Promise((resolve) => socket.once('close', resolve));
    assert.ok(text().length < 16 << 20);
  });

  test('who waits for a model for longer than requestTimeoutMs is answered', async (t) => {
    const { server, pass } = await gated(t);
    const endpoint = await endpointOf(t, server, { requestTimeoutMs: 100 });
    // Also where another answer is ready behind it.
    const sent = `${post('/v2/models/gate/infer', one)}GET /v2 HTTP/1.1\r\nHost: x\r\n\r\n`;
    const text = textOf(
      open(t, endpoint).on('connect', function (this: Socket) {
        this.write(sent);
      }),
    );
    await wait(500);
    assert.equal(text(), '');
    pass();
    await until(() => text().includes('extensions'));
    assert.match(text(), /^HTTP\/1\.1 200 [^]*"model_name":"gate"[^]*HTTP\/1\.1 200 /);
  });

  test('close() lets an answer leave that is being read', async (t) => {
    const { server, large } = await gated(t);
    const endpoint = await endpointOf(t, server);
    const accepted = nextSocket(t);
    const socket = unread(t, endpoint, 1);
    const its = await accepted;
    await until(() => large.runs === 1 && its.writableLength > 0);
    const closed = endpoint.close();
    const text = textOf(socket.resume());
    await closed;
    await until(() => socket.destroyed);
    assert.match(text(), /^HTTP\/1\.1 200 /);
    const [, length] = /\r\nContent-Length: (\d+)/.exec(text()) ?? [];
    assert.equal(text().length - text().indexOf('\r\n\r\n') - 4, Number(length));
  });
});

test('what is no HTTP gets no answer within that of a request before it', async (t) => {
  const { server } = await gated(t);
  const endpoint = await endpointOf(t, server);
  const text = await exchange(t, endpoint, `${post('/v2/models/gate/infer', one)}\0\x01\r\n\r\n`);
  assert.equal(text, '');
  json(await ask(endpoint, '/v2'));
});

test('memory of a body is used again only when nobody needs what is in it', async (t) => {
  const tensor = { dims: [-1] } as const;
  const model = (delayMs: number): ReturnType<typeof identity> =>
    identity({
      maxBatchSize: 0,
      batching: false,
      delayMs,
      inputs: [{ name: 'x', ...tensor }],
      outputs: [{ name: 'y', ...tensor }],
    });
  const endpoint = await endpointOf(t, await serve(t, { m: model(0), slow: model(5) }));
  const headers = { 'Inference-Header-Content-Length': '0' };
  // Sizes differ a little, so that memory is reused for other bodies; some clients leave early.
  const client = async (seed: number): Promise<void> => {
    for (let i = 0; i < 25; i++) {
      const count = 40_000 + 1000 * ((seed + i) % 7);
      const data = new Float32Array(count).fill(seed * 1000 + i);
      const body = Buffer.from(data.buffer);
      const name = i % 3 === 0 ? 'slow' : 'm';
      if (i % 5 === 4) {
        const socket = open(t, endpoint);
        const start = `POST /v2/models/${name}/infer HTTP/1.1\r\nHost: x\r\nInference-Header-Content-Length: 0\r\nContent-Length: ${body.length}\r\n\r\n`;
        await new Promise((sent) =>
          socket.write(Buffer.concat([Buffer.from(start), body.subarray(4 * i)]), sent),
        );
        socket.destroy();
        continue;
      }
      const answer = await ask(endpoint, `/v2/models/${name}/infer`, { body, headers });
      assert.equal(answer.status, 200, answer.text.slice(0, 200));
      const from = Number(answer.headers['inference-header-content-length']);
      assert.ok(answer.body.subarray(from).equals(body), `client ${seed}, request ${i}`);
    }
  };
  await Promise.all(Array.from({ length: 12 }, (_, seed) => client(seed + 1)));
});
