/** Plain requests, which are read without Node's parser, and where they end: what a client gets is the same. */

import assert from 'node:assert/strict';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { Server } from 'node:http';
import type { Socket } from 'node:net';
import { suite, test } from 'node:test';
import { executing, script } from '../../javascript/harness.js';
import { identity, row, serve, until } from '../../support/harness.js';
import type { HttpEndpoint } from '../../../src/endpoints/http/serve.js';
import { endpointOf, exchange, open } from './harness.js';

const path = '/v2/models/m/infer';
const good = JSON.stringify({ inputs: [{ name: 'x', datatype: 'FP32', shape: [1, 16], data: [...row()] }] });

/** A header that a plain request does not have, and that changes nothing. */
const notPlain = 'TE: trailers\r\n';

function request(body: string | Buffer = good, more = ''): Buffer {
  const head = `POST ${path} HTTP/1.1\r\nHost: x\r\n${more}Content-Length: ${body.length}\r\n\r\n`;
  return Buffer.concat([Buffer.from(head), Buffer.from(body)]);
}

function binary(): { body: Buffer; more: string } {
  const json = JSON.stringify({
    inputs: [{ name: 'x', datatype: 'FP32', shape: [1, 16], parameters: { binary_data_size: 64 } }],
    outputs: [{ name: 'y', parameters: { binary_data: true } }],
  });
  const body = Buffer.concat([Buffer.from(json), Buffer.from(Float32Array.from(row()).buffer)]);
  return { body, more: `Inference-Header-Content-Length: ${json.length}\r\n` };
}

/** Reads the answers of a connection. */
class Answers {
  #text = '';

  constructor(socket: Socket) {
    socket.on('data', (chunk: Buffer) => (this.#text += chunk.toString('latin1')));
  }

  /** The next answer, without its date. */
  async next(): Promise<string> {
    for (;;) {
      const end = this.#text.indexOf('\r\n\r\n') + 4;
      const size = /^Content-Length: (\d+)/m.exec(this.#text.slice(0, end))?.[1];
      if (end > 3 && size !== undefined && this.#text.length >= end + Number(size)) {
        const answer = this.#text.slice(0, end + Number(size));
        this.#text = this.#text.slice(answer.length);
        return answer.replace(/^Date: .*\r\n/m, '');
      }
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
  }
}

async function small(t: Parameters<typeof endpointOf>[0], options = {}): Promise<HttpEndpoint> {
  return endpointOf(t, await serve(t, { m: identity(), slow: identity({ delayMs: 100 }) }), options);
}

suite('a plain request gets the answer that it gets without', () => {
  const wrong = '{"inputs":[{"name":"x","datatype":"FP32","shape":[1,16],"data":[1]}]}';
  const bytes = binary();
  for (const [what, body, more] of [
    ['JSON', good, ''],
    ['binary data', bytes.body, bytes.more],
    ['an error', wrong, ''],
    ['text that is not JSON', '{"inputs":', ''],
    ['an id beyond ASCII', good.replace('{', '{"id":"žluť",'), ''],
    ['a size of JSON beyond the body', good, 'Inference-Header-Content-Length: 99999\r\n'],
  ] as const) {
    test(what, async (t) => {
      const endpoint = await small(t);
      const plain = open(t, endpoint);
      const answers = new Answers(plain);
      const sent = request(Buffer.from(body), more);
      const end = sent.indexOf('\r\n\r\n') + 4;
      // In one piece, in two pieces, and in three.
      const got: string[] = [];
      for (const cuts of [[], [end], [10, end + 5]]) {
        let at = 0;
        for (const cut of [...cuts, sent.length]) {
          plain.write(sent.subarray(at, cut));
          at = cut;
          await new Promise((resolve) => setTimeout(resolve, 5));
        }
        got.push(await answers.next());
      }
      const node = open(t, endpoint);
      node.write(request(Buffer.from(body), more + notPlain));
      const expected = await new Answers(node).next();
      assert.deepEqual(got, [expected, expected, expected]);
    });
  }
});

test('a connection goes to Node at its first request that is not plain, and is answered in order', async (t) => {
  const endpoint = await small(t);
  const socket = open(t, endpoint);
  const answers = new Answers(socket);
  socket.write(request());
  assert.match(await answers.next(), /^HTTP\/1\.1 200 OK/);
  socket.write('GET /v2/models/m/ready HTTP/1.1\r\nHost: x\r\n\r\n');
  assert.match(await answers.next(), /^HTTP\/1\.1 200 OK/);
  socket.write(request());
  assert.match(await answers.next(), /"model_name":"m"/);
});

test('a request that comes byte by byte is answered', async (t) => {
  const endpoint = await small(t);
  const socket = open(t, endpoint).setNoDelay();
  const answers = new Answers(socket);
  for (const byte of request()) {
    socket.write(Uint8Array.of(byte));
    await new Promise((resolve) => setImmediate(resolve));
  }
  assert.match(await answers.next(), /"model_name":"m"/);
});

test('requests that do not wait for answers are answered in their order', async (t) => {
  const endpoint = await small(t);
  const socket = open(t, endpoint);
  const answers = new Answers(socket);
  const slow = Buffer.from(request().toString('latin1').replace('/m/', '/slow/'), 'latin1');
  socket.write(slow);
  await new Promise((resolve) => setTimeout(resolve, 20));
  socket.write(Buffer.concat([request(), slow, request()]));
  const names: (string | undefined)[] = [];
  for (let i = 0; i < 4; i++) names.push(/"model_name":"(\w+)"/.exec(await answers.next())?.[1]);
  assert.deepEqual(names, ['slow', 'm', 'slow', 'm']);
});

test('a request that never arrives is answered with 408', async (t) => {
  const endpoint = await small(t, { requestTimeoutMs: 300 });
  for (const sent of [request().subarray(0, 20), request().subarray(0, -1)])
    assert.match(await exchange(t, endpoint, sent), /^HTTP\/1\.1 408 /);
});

test('a request that ends before it is complete is answered with 400', async (t) => {
  const endpoint = await small(t);
  for (const sent of [request().subarray(0, 20), request().subarray(0, -1)]) {
    const socket = open(t, endpoint);
    const answers = new Answers(socket);
    socket.end(sent);
    assert.match(await answers.next(), /^HTTP\/1\.1 400 /);
  }
});

test('the end of the endpoint lets a plain request end, and then its connection', async (t) => {
  const endpoint = await small(t);
  const socket = open(t, endpoint);
  const answers = new Answers(socket);
  socket.write(request());
  await answers.next();
  const idle = open(t, endpoint);
  const idleAnswers = new Answers(idle);
  idle.write(request());
  await idleAnswers.next();
  const ended = Promise.all(
    [socket, idle].map((one) => new Promise((resolve) => one.once('close', resolve))),
  );
  socket.write(Buffer.from(request().toString('latin1').replace('/m/', '/slow/'), 'latin1'));
  await new Promise((resolve) => setTimeout(resolve, 20));
  const closed = endpoint.close();
  assert.match(await answers.next(), /^Connection: close\r\n[^]*"model_name":"slow"/m);
  await Promise.all([closed, ended]);
});

test('a client that leaves before the answer cancels its request', async (t) => {
  const server = await serve(t, { m: identity({ delayMs: 60_000, batching: false }) });
  const endpoint = await endpointOf(t, server);
  const pending = (): string | undefined =>
    /^nv_inference_pending_request_count\{[^}]*\} (\d+)$/m.exec(server.metrics())?.[1];
  const [first, second] = [open(t, endpoint), open(t, endpoint)];
  first.write(request());
  second.write(request());
  await until(() => pending() === '1');
  second.destroy();
  first.destroy();
  await until(() => pending() === '0');
});

test('a client that leaves behind further requests cancels its request', async (t) => {
  const server = await serve(t, { m: identity({ delayMs: 60_000, batching: false }) });
  const endpoint = await endpointOf(t, server);
  const pending = (): string | undefined =>
    /^nv_inference_pending_request_count\{[^}]*\} (\d+)$/m.exec(server.metrics())?.[1];
  const [first, second] = [open(t, endpoint), open(t, endpoint)];
  first.write(request());
  second.write(request());
  await until(() => pending() === '1');
  for (let i = 0; i < 3; i++) {
    second.write(request());
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  second.destroy();
  await until(() => pending() === '0');
});

test('the end of the endpoint waits for a plain request whose body arrives', async (t) => {
  const endpoint = await small(t);
  const socket = open(t, endpoint).setNoDelay();
  const answers = new Answers(socket);
  socket.write(request());
  await answers.next();
  socket.write(request().subarray(0, -5));
  await new Promise((resolve) => setTimeout(resolve, 50));
  const closed = endpoint.close({ timeoutMs: 5000 });
  await new Promise((resolve) => setTimeout(resolve, 50));
  socket.write(request().subarray(-5));
  assert.match(await answers.next(), /^Connection: close\r\n[^]*"model_name":"m"/m);
  await closed;
});

test('a connection is kept after an answer that left slowly', async (t) => {
  const size = 4 << 20;
  const any = {
    inputs: [{ name: 'x', dims: [-1] }],
    outputs: [{ name: 'y', dims: [-1] }],
    batching: false as const,
  };
  const big = script(
    executing(
      'return requests.map(({ inputs: { x: { data: [n] } } }) => ({ y: { shape: [1, n], data: new Float32Array(n) } }));',
    ),
    any,
  );
  const endpoint = await endpointOf(t, await serve(t, { m: big }), { requestTimeoutMs: 400 });
  const socket = open(t, endpoint);
  socket.pause();
  const x = { name: 'x', datatype: 'FP32', shape: [1, 1], data: [size] };
  socket.write(request(JSON.stringify({ inputs: [x], parameters: { binary_data_output: true } })));
  let got = 0;
  let closed = false;
  socket.on('data', (chunk: Buffer) => (got += chunk.length)).pause();
  socket.on('close', () => (closed = true));
  // Longer than the check of unread answers, which then sets a limit.
  await new Promise((resolve) => setTimeout(resolve, 600));
  socket.resume();
  await until(() => got > 4 * size);
  await new Promise((resolve) => setTimeout(resolve, 1200));
  assert.equal(closed, false);
});

test('a body over maxRequestBytes gets the same error', async (t) => {
  const endpoint = await small(t, { maxRequestBytes: 20 });
  const got: string[] = [];
  for (const more of ['', notPlain]) {
    const socket = open(t, endpoint);
    socket.write(request(good, more));
    got.push(await new Answers(socket).next());
  }
  assert.equal(got[0], got[1]);
  assert.match(got[0] ?? '', new RegExp(`has ${good.length} bytes, over the limit of 20 bytes`));
});

suite('an observer of Node sees plain requests', () => {
  for (const channel of ['http.server.request.start', 'http.server.response.finish']) {
    test(channel, async (t) => {
      const endpoint = await small(t);
      let seen = 0;
      const count = (): void => void seen++;
      subscribe(channel, count);
      t.after(() => unsubscribe(channel, count));
      const socket = open(t, endpoint);
      socket.write(request());
      await new Answers(socket).next();
      await until(() => seen === 1);
    });
  }

  test('emit, which instrumentation replaces', async (t) => {
    const endpoint = await small(t);
    const seen: string[] = [];
    // Its own `this` is given at each call.
    const emit = Reflect.get(Server.prototype, 'emit') as (...values: unknown[]) => boolean;
    // As OpenTelemetry's instrumentation does.
    Server.prototype.emit = function (this: Server, name: string, ...values: unknown[]): boolean {
      seen.push(name);
      return emit.call(this, name, ...values);
    };
    t.after(() => Reflect.deleteProperty(Server.prototype, 'emit'));
    const socket = open(t, endpoint);
    socket.write(request());
    await new Answers(socket).next();
    assert.ok(seen.includes('request'), seen.join());
  });
});
