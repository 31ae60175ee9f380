/** Connections that are dead because their client broke a rule of HTTP/2: they end, and others do not. */

// Long: it waits for limits of time.

import assert from 'node:assert/strict';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { test } from 'node:test';
import type { GrpcEndpoint } from '../../../src/endpoints/grpc/serve.js';
import { certificate } from '../../support/certificate.js';
import { identity, onnx, row, serve, until, type Context } from '../../support/harness.js';
import { endpointOf, foreign } from './harness.js';
import { answerOf, closed, frame, framed, headerBlock, open, preface, session, socketOf } from './raw.js';

const headers = headerBlock();
const noHeaders = frame(1, 4, 1, Buffer.alloc(20, 0xff));
const settingsTaken = frame(4, 1, 0);
const breaks: Readonly<Record<string, Buffer>> = {
  'headers that cannot be decoded': noHeaders,
  'data of no call': frame(0, 0, 1, Buffer.alloc(100)),
  'a continuation of nothing': frame(9, 0, 1, headers),
  'headers behind a call': Buffer.concat([frame(1, 4, 1, headers), frame(1, 4, 3, Buffer.alloc(20, 0xff))]),
  'more headers than a block may have': Buffer.concat([
    frame(1, 0, 1, headers),
    ...Array.from({ length: 10 }, () =>
      frame(9, 0, 1, Buffer.concat([Buffer.from([0, 1, 97, 0x7f, 0x80, 0x7f]), Buffer.alloc(16_255, 97)])),
    ),
  ]),
};

/** Calls `told` for each frame that a socket receives. */
function onFrame(socket: Socket, told: (type: number, flags: number, payload: Buffer) => void): void {
  let rest = Buffer.alloc(0);
  socket.on('data', (chunk: Buffer) => {
    rest = Buffer.concat([rest, chunk]);
    for (;;) {
      const size = rest.length < 9 ? Infinity : 9 + rest.readUIntBE(0, 3);
      if (size > rest.length) return;
      told(rest[3] ?? -1, rest[4] ?? -1, rest.subarray(9, size));
      rest = rest.subarray(size);
    }
  });
}

/** How many requests run or wait. */
function pendingOf(server: Awaited<ReturnType<typeof serve>>): string {
  return /^nv_inference_pending_request_count\{.*\} (\d+)$/m.exec(server.metrics())?.[1] ?? '';
}

for (const [what, bytes] of Object.entries(breaks))
  test(`ends after ${what}`, async (t) => {
    const server = await serve(t, { m: onnx() });
    const endpoint = await endpointOf(t, server);
    const socket = socketOf(t, endpoint);
    socket.write(Buffer.concat([preface, settingsTaken, bytes]));
    await closed(socket);
    await foreign(t, endpoint);
  });

test('ends over TLS', async (t) => {
  const server = await serve(t, { m: onnx() });
  const tls = await certificate(t);
  if (tls === undefined) return;
  const endpoint = await endpointOf(t, server, { tls });
  const { port, host } = endpoint.address;
  const socket = connectTls({ port, host, ALPNProtocols: ['h2'], rejectUnauthorized: false });
  socket.on('error', () => undefined).resume();
  socket.write(Buffer.concat([preface, settingsTaken, noHeaders]));
  await closed(socket);
});

test('its calls end with it', async (t) => {
  const server = await serve(t, { slow: identity({ delayMs: 60_000, batching: false }) });
  const endpoint = await endpointOf(t, server);
  const { messages } = await foreign(t, endpoint);
  const request = messages.write('inference.ModelInferRequest', {
    model_name: 'slow',
    inputs: [{ name: 'x', datatype: 'FP32', shape: [1, 16] }],
    raw_input_contents: [Buffer.from(row().buffer)],
  });
  const call = (id: number): Buffer =>
    Buffer.concat([frame(1, 4, id, headers), frame(0, 1, id, framed(request))]);
  const socket = socketOf(t, endpoint);
  socket.write(Buffer.concat([preface, settingsTaken, call(1), call(3), call(5)]));
  await until(() => pendingOf(server) === '2');
  socket.write(frame(1, 4, 7, Buffer.alloc(20, 0xff)));
  await closed(socket);
  await until(() => pendingOf(server) === '0');
});

/** The endpoint pings connections that are idle for so long. */
const pinging = { keepaliveTimeMs: 50, keepalivePermitWithoutCalls: true };

test('ends where the break comes in one piece with the answer to the ping', async (t) => {
  const server = await serve(t, { m: onnx() });
  const endpoint = await endpointOf(t, server, pinging);
  const socket = socketOf(t, endpoint);
  let pings = 0;
  onFrame(socket, (type, flags, payload) => {
    if (type === 6 && flags === 0 && pings++ === 0)
      socket.write(Buffer.concat([frame(6, 1, 0, payload), noHeaders]));
  });
  socket.write(Buffer.concat([preface, settingsTaken]));
  await closed(socket);
  assert.equal(pings, 1);
});

test('a client that is busy and answers no pings ends', async (t) => {
  const server = await serve(t, { m: onnx() });
  const endpoint = await endpointOf(t, server, { ...pinging, keepaliveTimeoutMs: 200 });
  const socket = socketOf(t, endpoint);
  onFrame(socket, (type, flags) => {
    if (type === 6 && flags === 0) socket.write(frame(8, 0, 0, Buffer.from([0, 0, 0, 1])));
  });
  socket.write(Buffer.concat([preface, settingsTaken]));
  await closed(socket);
});

/** A proxy to an endpoint that can be paused, like a client that does not read. */
async function slowWay(
  t: Context,
  { address }: GrpcEndpoint,
): Promise<{ endpoint: Pick<GrpcEndpoint, 'address'>; stop: (stopped: boolean) => void }> {
  let behind: Socket | undefined;
  let front: Socket | undefined;
  const proxy = createServer((socket) => {
    front = socket;
    behind = connect(address.port, address.host);
    for (const one of [socket, behind]) one.on('error', () => undefined);
    socket.pipe(behind).pipe(socket);
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    behind?.destroy();
    proxy.close();
    return Promise.resolve();
  });
  const { port } = proxy.address() as AddressInfo;
  const stop = (stopped: boolean): void => {
    if (front === undefined) return;
    if (stopped) behind?.unpipe(front).pause();
    else behind?.pipe(front);
  };
  return { endpoint: { address: { host: '127.0.0.1', port } }, stop };
}

test('an idle connection stays, unpinged; so does one whose client does not read yet', async (t) => {
  const dims = [-1];
  const plain = { maxBatchSize: 0, batching: false as const };
  const same = identity({ ...plain, inputs: [{ name: 'x', dims }], outputs: [{ name: 'y', dims }] });
  const server = await serve(t, { m: same });
  // The answer may wait this long, while connections are checked every 2 seconds.
  const endpoint = await endpointOf(t, server, { requestTimeoutMs: 16_000 });
  const { messages } = await foreign(t, endpoint);
  const idle = session(t, endpoint);
  let pings = 0;
  idle.on('ping', () => pings++);

  const way = await slowWay(t, endpoint);
  // The flow-control windows are so large that the socket fills up first.
  const slow = session(t, way.endpoint, { settings: { initialWindowSize: 1 << 28 } });
  await new Promise((resolve) => slow.once('localSettings', resolve));
  slow.setLocalWindowSize(1 << 28);
  const count = 8 << 20;
  const request = messages.write('inference.ModelInferRequest', {
    model_name: 'm',
    inputs: [{ name: 'x', datatype: 'FP32', shape: [count] }],
    raw_input_contents: [Buffer.alloc(4 * count)],
  });
  const stream = open(slow);
  let seen = 0;
  stream.once('response', () => {
    way.stop(true);
  });
  const answer = answerOf(stream);
  stream.on('data', (chunk: Buffer) => (seen += chunk.length));
  stream.end(framed(request));
  await new Promise((resolve) => stream.once('response', resolve));
  // Connections were checked twice.
  const begun = performance.now();
  await until(() => performance.now() - begun > 4500);
  assert.equal(pings, 0);
  assert.equal(idle.closed, false);
  assert.ok(seen < 4 * count, String(seen));
  way.stop(false);
  const { status } = await answer;
  assert.equal(status, 0);
  assert.ok(seen > 4 * count, String(seen));
});

/** A call of a model of 16 numbers. */
function callBytes(id: number, request: Buffer): Buffer {
  return Buffer.concat([frame(1, 4, id, headers), frame(0, 1, id, framed(request))]);
}

test('a connection that ends with its last call stays until then, unless its client breaks it', async (t) => {
  const server = await serve(t, {
    slow: identity({ delayMs: 1500, batching: false }),
    slower: identity({ delayMs: 60_000, batching: false }),
  });
  const endpoint = await endpointOf(t, server, { requestTimeoutMs: 800 });
  const { messages } = await foreign(t, endpoint);
  const request = (model_name: string): Buffer =>
    messages.write('inference.ModelInferRequest', {
      model_name,
      inputs: [{ name: 'x', datatype: 'FP32', shape: [1, 16] }],
      raw_input_contents: [Buffer.from(row().buffer)],
    });
  const working = session(t, endpoint);
  const stream = open(working);
  const answer = answerOf(stream);
  stream.end(framed(request('slow')));
  const broken = socketOf(t, endpoint);
  broken.write(Buffer.concat([preface, settingsTaken, callBytes(1, request('slower'))]));
  // Both calls have come.
  await new Promise((resolve) => setTimeout(resolve, 300));
  const begun = performance.now();
  const ended = endpoint.close({ timeoutMs: 20_000 });
  const gone = closed(broken);
  broken.write(noHeaders);
  assert.equal((await answer).status, 0);
  await gone;
  await ended;
  assert.ok(performance.now() - begun < 15_000, 'it ended before the close cut it off');
});
