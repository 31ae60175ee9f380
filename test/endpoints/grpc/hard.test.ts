/** Invalid, too large or excessive input gets a status or ends its connection, and the next request works. */

// Long: it waits for limits of time.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { deflateSync, gzipSync } from 'node:zlib';
import type { InferenceServer } from '../../../src/index.js';
import type { GrpcEndpoint, ServeGrpcOptions } from '../../../src/endpoints/grpc/serve.js';
import { identity, onnx, row, serve, until, type Context } from '../../support/harness.js';
import { endpointOf, foreign, type Foreign } from './harness.js';
import {
  answerOf,
  ask,
  closed,
  constants,
  frame,
  framed,
  headerBlock,
  open,
  preface,
  session,
  socketOf,
} from './raw.js';

const fields = {
  model_name: 'm',
  inputs: [{ name: 'x', datatype: 'FP32', shape: [1, 16] }],
  raw_input_contents: [Buffer.from(row().buffer)],
};
const streamPath = '/inference.GRPCInferenceService/ModelStreamInfer';

interface Setup {
  readonly server: InferenceServer;
  readonly endpoint: GrpcEndpoint;
  readonly client: Foreign;
  readonly good: Buffer;
  /** The next request works. */
  readonly works: () => Promise<void>;
}

async function setup(t: Context, options: ServeGrpcOptions = {}): Promise<Setup> {
  const server = await serve(t, { m: onnx(), slow: identity({ delayMs: 60_000, batching: false }) });
  const endpoint = await endpointOf(t, server, options);
  const client = await foreign(t, endpoint);
  const good = client.messages.write('inference.ModelInferRequest', fields);
  const works = async (): Promise<void> => {
    const answer = await client.call('ModelInfer', fields);
    assert.equal((answer['outputs'] as unknown[]).length, 1);
  };
  return { server, endpoint, client, good, works };
}

test('statuses of what is no call', async (t) => {
  const { endpoint, good, works } = await setup(t);
  const raw = session(t, endpoint);
  const body = framed(good);
  const expected: readonly [Record<string, string>, number, number | undefined][] = [
    [{ 'content-type': 'text/plain' }, 415, undefined],
    [{ 'content-type': 'application/grpc+json' }, 415, undefined],
    [{ 'content-type': 'application/grpc-web' }, 415, undefined],
    [{ ':method': 'PUT' }, 405, undefined],
    [{ ':path': '/' }, 200, 12],
    [{ ':path': `/${'x'.repeat(8000)}` }, 200, 12],
    [{ ':path': '/inference.GRPCInferenceService/modelinfer' }, 200, 12],
    [{ 'grpc-encoding': 'br' }, 200, 12],
    [{ 'grpc-timeout': '1' }, 200, 13],
    [{ 'grpc-timeout': '123456789S' }, 200, 13],
    [{ 'content-type': 'application/grpc+proto' }, 200, 0],
    [{ 'content-type': 'application/grpc; charset=utf-8' }, 200, 0],
    [{ 'grpc-encoding': 'identity', 'grpc-timeout': '99999999H' }, 200, 0],
  ];
  for (const [headers, http, status] of expected) {
    const answer = await ask(raw, body, headers);
    assert.deepEqual([answer.http, answer.status], [http, status], JSON.stringify(headers).slice(0, 100));
  }
  assert.equal(
    (await ask(raw, body, { 'grpc-encoding': 'br' })).headers['grpc-accept-encoding'],
    'identity,deflate,gzip',
  );
  await works();
});

test('messages that are none', async (t) => {
  const { endpoint, good, works } = await setup(t);
  const raw = session(t, endpoint);
  const expected: readonly [Uint8Array, number][] = [
    [Buffer.alloc(0), 12],
    [Buffer.concat([framed(good), framed(good)]), 12],
    [Buffer.concat([framed(good), Buffer.from([0])]), 13],
    [Buffer.alloc(3), 13],
    [framed(good, 0, good.length + 1), 13],
    [framed(good, 0, good.length - 1), 13],
    [framed(good, 2), 13],
    [framed(good, 1), 13],
    [framed(Buffer.alloc(0)), 5],
    [framed(good.subarray(0, -1)), 13],
    [framed(Buffer.from([0x0a])), 13],
    [framed(Buffer.from([0x0a, 0xff, 0xff, 0xff, 0xff, 0x0f])), 13],
    [framed(Buffer.alloc(12, 0xff)), 13],
    [framed(Buffer.from([0x0a, 2, 0xc3, 0x28])), 13],
    [framed(Buffer.from([0x0b, 0x0c])), 13],
    [framed(Buffer.from([0x00, 0x00])), 13],
    [framed(Buffer.from([0x08, 0x01])), 13],
  ];
  for (const [body, status] of expected) {
    const answer = await ask(raw, body);
    assert.equal(answer.status, status, `${Buffer.from(body).toString('hex').slice(0, 60)}: ${answer.text}`);
  }
  await works();
});

test('messages byte by byte, and many in one piece', async (t) => {
  const { endpoint, good, client, works } = await setup(t);
  const raw = session(t, endpoint);
  const stream = open(raw);
  const answer = answerOf(stream);
  for (const byte of framed(good)) {
    stream.write(Buffer.from([byte]));
    await new Promise((resolve) => setImmediate(resolve));
  }
  stream.end();
  assert.equal((await answer).status, 0);
  const many = Buffer.concat(Array.from({ length: 1000 }, () => framed(good)));
  const answers = await ask(raw, many, { ':path': streamPath });
  assert.equal(answers.status, 0);
  let count = 0;
  for (let at = 0; at < answers.body.length; at += 5 + answers.body.readUInt32BE(at + 1)) count++;
  assert.equal(count, 1000);
  const empty = await ask(raw, Buffer.alloc(5 * 2000), { ':path': streamPath });
  assert.equal(empty.status, 0);
  const broken = await ask(raw, Buffer.concat([framed(good), framed(Buffer.from([7]))]), {
    ':path': streamPath,
  });
  assert.equal(broken.status, 13);
  assert.ok(client.messages.root.lookup('inference.ModelInferRequest') !== null);
  await works();
});

test('compressed messages, and bombs', async (t) => {
  const { endpoint, good, works } = await setup(t, { maxRequestBytes: 1 << 20 });
  const raw = session(t, endpoint);
  const gzip = { 'grpc-encoding': 'gzip' };
  const statusOf = async (body: Uint8Array, headers: Record<string, string>): Promise<number | undefined> =>
    (await ask(raw, body, headers)).status;
  assert.equal(await statusOf(framed(gzipSync(good), 1), gzip), 0);
  assert.equal(await statusOf(framed(deflateSync(good), 1), { 'grpc-encoding': 'deflate' }), 0);
  assert.equal(await statusOf(framed(good, 0), gzip), 0);
  assert.equal(await statusOf(framed(gzipSync(good).subarray(0, -9), 1), gzip), 13);
  assert.equal(await statusOf(framed(good, 1), gzip), 13);
  assert.equal(await statusOf(framed(gzipSync(Buffer.alloc(64 << 20)), 1), gzip), 8);
  const messages = [framed(gzipSync(good), 1), framed(good), framed(gzipSync(good), 1), framed(good)];
  const answer = await ask(raw, Buffer.concat(messages), { ...gzip, ':path': streamPath });
  assert.equal(answer.status, 0);
  assert.equal(answer.body.filter((_, i, body) => body.subarray(i, i + 4).toString() === 'FP32').length, 4);
  await works();
});

test('answers are compressed for those who take it', async (t) => {
  const { endpoint, good } = await setup(t, { responseCompression: 'high' });
  const raw = session(t, endpoint);
  const plain = await ask(raw, framed(good));
  assert.equal(plain.body[0], 0);
  const zipped = await ask(raw, framed(good), { 'grpc-accept-encoding': 'identity, gzip' });
  assert.equal(zipped.headers['grpc-encoding'], 'gzip');
  assert.equal(zipped.body[0], 1);
  const { gunzipSync } = await import('node:zlib');
  assert.ok(gunzipSync(zipped.body.subarray(5)).equals(plain.body.subarray(5)));
  const many = Buffer.concat([framed(good), framed(good)]);
  const stream = await ask(raw, many, { ':path': streamPath, 'grpc-accept-encoding': 'deflate' });
  assert.equal(stream.status, 0);
  assert.equal(stream.headers['grpc-encoding'], 'deflate');
});

test('millions of parts in a message: refused, or read in one pass', async (t) => {
  const one = { datatype: 'BOOL', dims: [-1] } as const;
  const flags = identity({
    maxBatchSize: 0,
    batching: false,
    inputs: [{ name: 'x', ...one }],
    outputs: [{ name: 'y', ...one }],
  });
  const server = await serve(t, { add: onnx(), flags });
  const endpoint = await endpointOf(t, server);
  const client = session(t, endpoint);
  const field = (number: number, value: Uint8Array): Buffer => {
    const size: number[] = [];
    let rest = value.length;
    for (; rest >= 128; rest >>>= 7) size.push((rest & 127) | 128);
    return Buffer.concat([Buffer.from([number * 8 + 2, ...size, rest]), value]);
  };
  const text = (number: number, value: string): Buffer => field(number, Buffer.from(value));
  const many = (count: number, part: Buffer): Buffer => Buffer.alloc(count * part.length, part);
  const status = async (fields: readonly Buffer[]): Promise<number | undefined> =>
    (await ask(client, framed(Buffer.concat([text(1, 'add'), ...fields])))).status;
  const empty = Buffer.alloc(0);
  for (const number of [5, 6, 7]) assert.equal(await status([many(3e6, field(number, empty))]), 3);
  const dims = field(5, Buffer.concat([text(1, 'x'), text(2, 'FP32'), field(3, Buffer.alloc(3e6, 1))]));
  assert.equal(await status([dims]), 3);
  const named = Array.from({ length: 200_000 }, (_, i) =>
    field(5, Buffer.concat([text(1, String(i)), text(2, 'FP32'), field(3, Buffer.of(0))])),
  );
  assert.equal(await status(named), 3);
  const twice = [...named, named[0] ?? empty];
  assert.match(
    (await ask(client, framed(Buffer.concat([text(1, 'add'), ...twice])))).text,
    /'0' is in the request twice/,
  );
  const parameters = Array.from({ length: 1_100_000 }, (_, i) => field(4, text(1, i.toString(36))));
  assert.equal(await status(parameters), 3);
  // The same name repeated: only the last entry counts, but each is read.
  const again = many(1e6, field(4, text(1, 'a')));
  const ofInput = field(5, Buffer.concat([text(1, 'x'), text(2, 'FP32'), again]));
  const ofOutput = field(6, Buffer.concat([text(1, 'y'), many(1e6, field(2, text(1, 'a')))]));
  for (const part of [again, ofInput, ofOutput]) {
    const answer = await ask(client, framed(Buffer.concat([text(1, 'add'), part])));
    assert.match(answer.text, /more parameters than the limit of 4096/);
  }

  // Unpacked elements, which would not fit into the heap as objects.
  const count = 20_000_000;
  const contents = many(count, Buffer.from([1 * 8, 1]));
  const shape = Buffer.from([0x80, 0xda, 0xc4, 0x09]);
  const input = Buffer.concat([text(1, 'x'), text(2, 'BOOL'), field(3, shape), field(5, contents)]);
  const { status: code, body } = await ask(
    client,
    framed(Buffer.concat([text(1, 'flags'), field(5, input)])),
  );
  assert.equal(code, 0);
  assert.ok(body.subarray(-count).every((byte) => byte === 1));
});

test('a hostile message of a management call is refused, and the next request works', async (t) => {
  const { endpoint, works } = await setup(t);
  const client = session(t, endpoint);
  const parameter = Buffer.from([3 * 8 + 2, 3, 1 * 8 + 2, 1, 97]);
  const unknown = Buffer.from([15 * 8, 1]);
  const group = Buffer.from([15 * 8 + 3]);
  const expected: readonly [rpc: string, part: Buffer, text: RegExp][] = [
    ['RepositoryModelLoad', parameter, /more than 262144 fields/],
    ['RepositoryModelUnload', parameter, /more than 262144 fields/],
    ['LogSettings', unknown, /more than 262144 fields/],
    ['ServerLive', unknown, /more than 262144 fields/],
    ['ModelConfig', group, /wire type 3/],
  ];
  for (const [rpc, part, said] of expected) {
    const path = `/inference.GRPCInferenceService/${rpc}`;
    const { status, text } = await ask(client, framed(Buffer.alloc(1e6 * part.length, part)), {
      ':path': path,
    });
    assert.equal(status, 13, rpc);
    assert.match(text, said);
  }
  for (const path of ['/grpc.health.v1.Health/Check', '/grpc.health.v1.Health/Watch']) {
    const { status, text } = await ask(client, framed(Buffer.alloc(2e6, unknown)), { ':path': path });
    assert.equal(status, 13);
    assert.match(text, /more than 256 fields/);
  }
  await works();
});

test('limits of a message and of all together', async (t) => {
  const { endpoint, good, client, works } = await setup(t, {
    maxRequestBytes: 100_000,
    maxHeldBytes: 150_000,
  });
  const raw = session(t, endpoint);
  const large = await ask(raw, framed(Buffer.alloc(100_001)));
  assert.equal(large.status, 8);
  assert.match(large.text, /100001.*maxRequestBytes/);
  // An announced size alone allocates no memory.
  const begun = Array.from({ length: 50 }, () => open(raw));
  for (const stream of begun) stream.write(framed(Buffer.alloc(0), 0, 100_000));
  await works();
  // Received bytes do.
  for (const stream of begun.slice(0, 2)) stream.write(Buffer.alloc(99_000));
  // Which of the two has no room depends on how their frames alternate.
  const refused = await Promise.race(begun.slice(0, 2).map(answerOf));
  assert.equal(refused.status, 14);
  assert.match(refused.text, /maxHeldBytes/);
  for (const stream of begun) stream.close(constants.NGHTTP2_CANCEL);
  await until(() => begun.every((stream) => stream.destroyed));
  await ask(raw, framed(good));
  assert.equal((await ask(raw, framed(Buffer.alloc(99_000)))).status, 13);
  assert.ok(client.messages.root.lookup('inference.ModelInferRequest') !== null);
  await works();
});

const pending = (server: InferenceServer): number =>
  Number(/^nv_inference_pending_request_count\{model="slow"[^}]*\} (\d+)$/m.exec(server.metrics())?.[1] ?? 0);

test('a reset, a cut connection and a deadline cancel the request', async (t) => {
  const { endpoint, client, server, works } = await setup(t);
  const slow = framed(
    client.messages.write('inference.ModelInferRequest', { ...fields, model_name: 'slow' }),
  );
  const first = open(session(t, endpoint));
  first.write(slow); // It runs, and the others wait.
  await until(() => server.explain('slow').batches.some(({ running }) => running));
  const raw = session(t, endpoint);
  const reset = open(raw);
  reset.end(slow);
  await until(() => pending(server) === 1);
  reset.close(constants.NGHTTP2_CANCEL);
  await until(() => pending(server) === 0);
  const late = open(raw, { 'grpc-timeout': '200m' });
  const answer = answerOf(late);
  late.end(slow);
  const { status, text } = await answer;
  assert.equal(status, 4);
  assert.match(text, /200 ms/);
  await until(() => pending(server) === 0);
  const cut = session(t, endpoint);
  open(cut).end(slow);
  open(cut).end(slow);
  await until(() => pending(server) === 2);
  cut.destroy();
  await until(() => pending(server) === 0);
  // A deadline that has passed before it could run.
  const none = await ask(raw, slow, { 'grpc-timeout': '1n' });
  assert.equal(none.status, 4);
  await until(() => pending(server) === 0);
  await works();
});

test('slow requests and answers that nobody takes end', async (t) => {
  const { endpoint, good, works } = await setup(t, { requestTimeoutMs: 400 });
  const raw = session(t, endpoint);
  const silent = open(raw);
  const half = open(raw);
  half.write(framed(good).subarray(0, 20));
  const idleStream = open(raw, { ':path': streamPath });
  const answers = await Promise.all([answerOf(silent), answerOf(half)]);
  assert.deepEqual(
    answers.map(({ status }) => status),
    [4, 4],
  );
  // A stream may wait for its first message.
  idleStream.end(framed(good));
  assert.equal((await answerOf(idleStream)).status, 0);
  // Bytes that are no HTTP/2, and none at all.
  const mute = socketOf(t, endpoint);
  const http1 = socketOf(t, endpoint);
  http1.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
  await closed(http1);
  await closed(mute);
  await works();
});

test('resets without end, pings without end, broken frames', async (t) => {
  const { endpoint, works } = await setup(t);
  const headers = headerBlock();
  const storm = socketOf(t, endpoint);
  storm.write(preface);
  const pair = (id: number): Buffer =>
    Buffer.concat([frame(1, 4, id, headers), frame(3, 0, id, Buffer.from([0, 0, 0, 8]))]);
  for (let i = 0; i < 20_000 && !storm.destroyed; i += 100) {
    storm.write(Buffer.concat(Array.from({ length: 100 }, (_, k) => pair(2 * (i + k) + 1))));
    await new Promise((resolve) => setImmediate(resolve));
  }
  await closed(storm);
  const pings = socketOf(t, endpoint);
  pings.write(preface);
  for (let i = 0; i < 10; i++) pings.write(frame(6, 0, 0, Buffer.alloc(8)));
  await closed(pings);
  for (const wrong of [
    frame(0, 0, 1, Buffer.alloc(4)), // data of no call
    frame(1, 4, 2, headers), // an even stream
    frame(1, 4, 1, Buffer.alloc(20, 0xff)), // no headers
    frame(9, 0, 1, headers), // a continuation of nothing
    Buffer.concat([frame(4, 0, 0, Buffer.alloc(5))]), // settings of a wrong size
    frame(8, 0, 0, Buffer.alloc(4)), // a window of 0
    Buffer.concat([Buffer.from([0xff, 0xff, 0xff, 0, 0, 0, 0, 0, 1]), Buffer.alloc(100)]), // a huge frame
  ]) {
    const socket = socketOf(t, endpoint);
    const told = new Promise((resolve) => {
      socket.on('data', (chunk: Buffer) => {
        // GOAWAY or RST_STREAM.
        for (let at = 0; at + 9 <= chunk.length; at += 9 + chunk.readUIntBE(at, 3))
          if (chunk[at + 3] === 7 || chunk[at + 3] === 3) resolve(undefined);
      });
    });
    socket.write(Buffer.concat([preface, wrong]));
    await Promise.race([told, closed(socket)]);
    await works();
  }
  const huge = await ask(session(t, endpoint), Buffer.alloc(0), { 'x-huge': 'a'.repeat(20_000) }).catch(
    () => undefined,
  );
  assert.notEqual(huge?.status, 0);
  await works();
});

test('a client that resets many calls which were answered is sent away, and its other calls finish', async (t) => {
  const { endpoint, good, works } = await setup(t);
  const raw = session(t, endpoint);
  let code: number | undefined;
  raw.on('goaway', (given: number) => (code = given));
  const kept = open(raw, { ':path': streamPath });
  kept.write(framed(good));
  await new Promise((resolve) => kept.once('data', resolve));
  for (let i = 0; i < 900 && code === undefined; i++) {
    const left = open(raw, { ':path': streamPath });
    left.on('error', () => undefined);
    left.write(framed(good));
    await new Promise((resolve) => {
      left.once('data', resolve);
      left.once('close', resolve);
    });
    left.close(constants.NGHTTP2_CANCEL);
  }
  await until(() => code !== undefined);
  assert.equal(code, constants.NGHTTP2_NO_ERROR);
  const answer = answerOf(kept);
  kept.end(framed(good));
  assert.equal((await answer).status, 0);
  await works();
});

test('more calls than a connection may have wait', async (t) => {
  const { endpoint, client, works, server } = await setup(t, { maxConcurrentStreams: 4 });
  const raw = session(t, endpoint);
  await new Promise((resolve) => raw.once('remoteSettings', resolve));
  const slow = framed(
    client.messages.write('inference.ModelInferRequest', { ...fields, model_name: 'slow' }),
  );
  const calls = Array.from({ length: 12 }, () => open(raw));
  for (const call of calls) call.end(slow);
  await until(() => pending(server) === 3);
  const answers = calls.map(answerOf);
  raw.destroy();
  await Promise.all(answers);
  await works();
});

test('pings that measure how fast an answer comes are no strikes', async (t) => {
  const dims = [-1];
  const plain = { maxBatchSize: 0, batching: false as const };
  const same = identity({ ...plain, inputs: [{ name: 'x', dims }], outputs: [{ name: 'y', dims }] });
  const server = await serve(t, { m: same });
  const endpoint = await endpointOf(t, server);
  const { messages } = await foreign(t, endpoint);
  const count = 4 << 20;
  const request = messages.write('inference.ModelInferRequest', {
    model_name: 'm',
    inputs: [{ name: 'x', datatype: 'FP32', shape: [count] }],
    raw_input_contents: [Buffer.alloc(4 * count)],
  });
  const client = session(t, endpoint);
  let isSentAway = false;
  client.on('goaway', () => (isSentAway = true));
  const stream = open(client);
  const answer = answerOf(stream);
  let seen = 0;
  let pings = 0;
  stream.on('data', (chunk: Buffer) => {
    seen += chunk.length;
    // gRPC in Go and C++ pings about once in a round trip.
    if (seen < (pings + 1) * (1 << 20)) return;
    pings++;
    client.ping(() => undefined);
  });
  stream.end(framed(request));
  const { status: code, text } = await answer;
  assert.equal(code, 0, text);
  assert.ok(pings >= 15, String(pings));
  const other = messages.write('inference.ModelInferRequest', { model_name: 'none' });
  assert.equal((await ask(client, framed(other))).status, 5);
  assert.equal(isSentAway, false);
});
