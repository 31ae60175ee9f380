/** Connections that end while their clients are slow, have not begun, or break the end: no answer is lost, and none stays. */

// Long: it waits for limits of time.

import assert from 'node:assert/strict';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { connect, type Socket } from 'node:net';
import { test } from 'node:test';
import { connect as connectTls } from 'node:tls';
import { setTimeout as delay } from 'node:timers/promises';
import { serveGrpc } from '../../../src/endpoints/grpc/serve.js';
import { serveHttp } from '../../../src/endpoints/http/serve.js';
import { encodeHeaders } from '../../../src/protocol/http2/hpack-encoder.js';
import { certificate } from '../../support/certificate.js';
import { until, type Context } from '../../support/harness.js';
import { endpointOf } from './harness.js';
import { Peer } from './peer.js';
import { number, openWindows, setup, usual, type PeerSetup } from './peer-setup.js';
import { answerOf, closed, frame, framed, open, session } from './raw.js';

/** The server's sockets from now on, the newest last. */
function accepted(t: Context): Socket[] {
  const sockets: Socket[] = [];
  const note = (message: unknown): void => {
    sockets.push((message as { readonly socket: Socket }).socket);
  };
  subscribe('net.server.socket', note);
  t.after(() => {
    unsubscribe('net.server.socket', note);
    return Promise.resolve();
  });
  return sockets;
}

/** A client that does not read, and the ids of its calls: their answers fill the server's socket up to so many bytes. */
async function stuck(
  t: Context,
  { endpoint, large }: PeerSetup,
  bytes: number,
): Promise<{ readonly peer: Peer; readonly ids: readonly number[] }> {
  const sockets = accepted(t);
  const peer = new Peer(t, endpoint, openWindows);
  await until(() => peer.frames.length > 1);
  const socket = sockets.at(-1);
  assert.ok(socket);
  peer.socket.pause();
  const request = large(16_000);
  const ids: number[] = [];
  while (socket.writableLength < bytes) {
    const id = 2 * ids.length + 1;
    ids.push(id);
    const { bytesWritten } = socket;
    peer.call(id, request);
    await until(() => socket.bytesWritten + socket.writableLength >= bytesWritten + 64_000);
    await delay(1);
  }
  return { peer, ids };
}

/** Reads late, and checks that nothing is missing. */
async function readLate(peer: Peer, ids: readonly number[]): Promise<void> {
  await delay(1300);
  // The system would drop what is under way when this comes to a closed connection.
  peer.send(frame(8, 0, 0, number(100)));
  await delay(100);
  peer.socket.resume();
  await closed(peer.socket);
  assert.deepEqual(
    ids.filter((id) => !peer.hasEnded(id)),
    [],
  );
  assert.deepEqual(peer.away(), { code: 0, text: '' });
}

test('a client that reads late gets its answers after the endpoint has closed', async (t) => {
  const parts = await setup(t);
  // What lies in the system's buffers, and a little in the process.
  const { peer, ids } = await stuck(t, parts, 1);
  const end = parts.endpoint.close({ timeoutMs: 60_000 });
  await readLate(peer, ids);
  await end;
});

test('the end of the connection comes, too, where its socket is full', async (t) => {
  const parts = await setup(t);
  const { peer, ids } = await stuck(t, parts, 128 << 10);
  const end = parts.endpoint.close({ timeoutMs: 60_000 });
  await readLate(peer, ids);
  await end;
});

test('an idle client that does not close delays the end by a second at most', async (t) => {
  const { endpoint } = await setup(t);
  const peer = new Peer(t, endpoint);
  await until(() => peer.frames.length > 1);
  peer.socket.pause();
  const began = performance.now();
  await endpoint.close({ timeoutMs: 60_000 });
  assert.ok(performance.now() - began < 9000);
});

test('a client that watches the health is told of the end, and does not delay it', async (t) => {
  const { endpoint } = await setup(t);
  const client = session(t, endpoint);
  const stream = open(client, { ':path': '/grpc.health.v1.Health/Watch' });
  const answer = answerOf(stream);
  stream.end(framed(Buffer.alloc(0)));
  await new Promise((resolve) => stream.once('data', resolve));
  const began = performance.now();
  await endpoint.close({ timeoutMs: 60_000 });
  assert.ok(performance.now() - began < 9000);
  const { status, text } = await answer;
  assert.equal(status, 14);
  assert.match(text, /is shutting down/);
});

test('streams without a request under way end at once, with the status, and do not delay the end', async (t) => {
  const { endpoint } = await setup(t);
  const client = session(t, endpoint);
  const away = new Promise((resolve) => client.once('goaway', resolve));
  const idle = open(client, { ':path': '/inference.GRPCInferenceService/ModelStreamInfer' });
  const reflection = open(client, {
    ':path': '/grpc.reflection.v1.ServerReflection/ServerReflectionInfo',
  });
  const answers = [idle, reflection].map((stream) => answerOf(stream));
  // Both have reached the server when a later call is answered.
  const live = open(client, { ':path': '/inference.GRPCInferenceService/ServerLive' });
  const known = answerOf(live);
  live.end(framed(Buffer.alloc(0)));
  assert.equal((await known).status, 0);
  const began = performance.now();
  await endpoint.close({ timeoutMs: 60_000 });
  assert.ok(performance.now() - began < 9000);
  await away;
  for (const { status, text } of await Promise.all(answers)) {
    assert.equal(status, 14);
    assert.match(text, /is shutting down/);
  }
});

for (const [name, openEndpoint] of [
  ['gRPC', serveGrpc],
  ['HTTP', serveHttp],
] as const) {
  test(`with TLS over ${name}, handshakes that do not end, and connections without a request, do not delay the end`, async (t) => {
    const tls = await certificate(t);
    if (tls === undefined) return;
    const { server } = await setup(t);
    const endpoint = await openEndpoint(server, { port: 0, tls });
    const { port, host } = endpoint.address;
    const sockets = accepted(t);
    const begun = connect(port, host);
    begun.on('error', () => undefined);
    // The head of a TLS record whose rest never comes.
    begun.write(Buffer.from([22, 3, 1, 2, 0, 1]));
    const whole = connectTls({ port, host, rejectUnauthorized: false, ALPNProtocols: ['h2', 'http/1.1'] });
    whole.on('error', () => undefined);
    await new Promise((resolve) => whole.once('secureConnect', resolve));
    await until(() => sockets.length === 2 && sockets.every(({ bytesRead }) => bytesRead > 0));
    const began = performance.now();
    await endpoint.close({ timeoutMs: 60_000 });
    assert.ok(performance.now() - began < 9000);
    begun.destroy();
    whole.destroy();
  });
}

test('with TLS, clients that never begin do not delay the end, and refused ones are not kept', async (t) => {
  const tls = await certificate(t);
  if (tls === undefined) return;
  const { server } = await setup(t);
  const endpoint = await endpointOf(t, server, { tls });
  const { port, host } = endpoint.address;
  const sockets = accepted(t);
  // It does not negotiate HTTP/2, and does not close its side.
  const raw = connect({ port, host, allowHalfOpen: true });
  const other = connectTls({ socket: raw, rejectUnauthorized: false });
  other.on('error', () => undefined);
  const text: Buffer[] = [];
  other.on('data', (chunk: Buffer) => text.push(chunk));
  await until(() => Buffer.concat(text).includes('HTTP/2 only'));
  await until(() => sockets.length === 1 && sockets[0]?.destroyed === true);
  other.destroy();
  const silent = connect(port, host);
  silent.on('error', () => undefined);
  await until(() => sockets.length === 2);
  const began = performance.now();
  await endpoint.close({ timeoutMs: 60_000 });
  assert.ok(performance.now() - began < 9000);
  silent.destroy();
});

test('calls that reach their deadlines at once do not end another call of their connection', async (t) => {
  const { endpoint, slow } = await setup(t);
  const peer = new Peer(t, endpoint);
  peer.call(1, slow);
  const timed = encodeHeaders([...usual, ['grpc-timeout', '2S']]);
  const ids = Array.from({ length: 999 }, (_, i) => 2 * i + 3);
  for (const id of ids) peer.send(frame(1, 4, id, timed), frame(0, 1, id, slow));
  peer.send(frame(6, 0, 0, Buffer.alloc(8)));
  await until(() => peer.of(6).length === 1);
  await delay(1100);
  peer.send(...ids.map((id) => frame(3, 0, id, number(8))), frame(6, 0, 0, Buffer.alloc(8)));
  await until(() => peer.of(6).length === 2);
  // New calls go to another connection.
  assert.deepEqual(peer.away(), { code: 0, text: '' });
  await delay(1500);
  assert.deepEqual([peer.resetOf(1), peer.hasEnded(1), peer.socket.destroyed], [undefined, false, false]);
});
