/** A plain connection by itself: clients that read slowly, or not at all, and clients that leave. */

import assert from 'node:assert/strict';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { suite, test } from 'node:test';
import { PlainConnection, type PlainAnswers } from '../../../src/endpoints/http/plain-connection.js';
import type { PlainEnd } from '../../../src/endpoints/http/plain-exchange.js';
import type { PlainHead } from '../../../src/endpoints/http/plain-head.js';
import { Routes } from '../../../src/endpoints/http/routes.js';
import { until, type Context } from '../../support/harness.js';

const request = 'POST /v2/models/m/infer HTTP/1.1\r\nHost: x\r\n\r\n1';
const route = new Routes().of('/v2/models/m/infer');
assert.ok(route !== undefined);
const head: PlainHead = { route, length: 1, jsonSize: undefined };

/** A connection whose requests are answered by hand, and what happened to it. */
interface Rig {
  readonly client: Socket;
  readonly server: Socket;
  readonly plain: PlainConnection;
  /** Ends of the requests that arrived. */
  readonly asked: PlainEnd[];
  readonly seen: { handedOver: number; arriving: number };
}

async function rig(t: Context): Promise<Rig> {
  const asked: PlainEnd[] = [];
  const seen = { handedOver: 0, arriving: 0 };
  const answers: PlainAnswers = {
    plain: () => true,
    head: () => head,
    arriving: () => seen.arriving++,
    answer: (_socket, _head, _body, end) => asked.push(end),
    handOver: () => seen.handedOver++,
    broken: (socket) => socket.destroy(),
    timedOut: () => undefined,
    closing: () => false,
    keepAlive: '',
  };
  const listener = createServer({ allowHalfOpen: true });
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));
  const accepted = new Promise<Socket>((resolve) => listener.once('connection', resolve));
  const client = connect((listener.address() as AddressInfo).port, '127.0.0.1').setNoDelay();
  client.on('error', () => undefined);
  const server = await accepted;
  t.after(async () => {
    client.destroy();
    server.destroy();
    await new Promise((resolve) => listener.close(resolve));
  });
  return { client, server, plain: new PlainConnection(server, answers), asked, seen };
}

/** Sends a request and waits until it has arrived. */
async function ask({ client, asked }: Rig): Promise<PlainEnd> {
  const before = asked.length;
  client.write(request);
  await until(() => asked.length > before);
  const end = asked[before];
  assert.ok(end !== undefined);
  return end;
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** More than the system's buffers hold. */
const much = 32 << 20;

suite('a client that reads slowly', () => {
  test('gets its whole answer, and its idle time begins after it', async (t) => {
    const one = await rig(t);
    const end = await ask(one);
    one.server.write(Buffer.alloc(much));
    end.answered();
    for (let i = 0; i < 20; i++) one.plain.sweep(2);
    await pause(20);
    assert.equal(one.server.destroyed, false);
    let got = 0;
    one.client.on('data', (chunk: Buffer) => (got += chunk.length));
    await until(() => got === much && one.server.writableLength === 0);
    for (let i = 0; i < 5; i++) one.plain.sweep(2);
    assert.equal(one.server.destroyed, true);
  });

  test('is not idle while a few bytes of a small answer wait', async (t) => {
    const one = await rig(t);
    // The system's buffers are full, and the last answer was small.
    one.server.write(Buffer.alloc(much));
    const end = await ask(one);
    Object.defineProperty(one.server, 'writableNeedDrain', { value: false });
    end.answered();
    for (let i = 0; i < 20; i++) one.plain.sweep(2);
    assert.equal(one.server.destroyed, false);
  });

  test('gets no further answer until it has read', async (t) => {
    const one = await rig(t);
    const end = await ask(one);
    one.server.write(Buffer.alloc(much));
    end.answered();
    for (let i = 0; i < 10; i++) one.client.write(request);
    await pause(50);
    assert.deepEqual([one.asked.length, one.seen.handedOver], [1, 0]);
    one.client.resume();
    await until(() => one.seen.handedOver === 1);
    assert.equal(one.asked.length, 1);
  });
});

test('what comes while an answer is made is bounded', async (t) => {
  const one = await rig(t);
  await ask(one);
  one.client.write(Buffer.alloc(much));
  await pause(100);
  assert.ok(one.server.bytesRead < 1 << 20, String(one.server.bytesRead));
});

test('the end of a connection is seen behind further bytes', async (t) => {
  const one = await rig(t);
  await ask(one);
  for (let i = 0; i < 3; i++) {
    one.client.write(request);
    await pause(5);
  }
  const closed = new Promise((resolve) => one.server.once('close', resolve));
  one.client.end();
  await closed;
  assert.equal(one.seen.handedOver, 0);
});
