/** HTTP/2 itself: windows in both directions, turns of streams, frames in every form, and the answer to each broken rule. */

// Long: it moves much data.

import assert from 'node:assert/strict';
import { getDefaultHighWaterMark, setDefaultHighWaterMark } from 'node:stream';
import { test } from 'node:test';
import { errorCode } from '../../../src/protocol/http2/errors.js';
import { encodeHeaders } from '../../../src/protocol/http2/hpack-encoder.js';
import { until } from '../../support/harness.js';
import {
  answered,
  headers,
  number,
  openWindows,
  setting,
  setup,
  streamHeaders,
  usual,
  windowOf,
} from './peer-setup.js';
import { Peer } from './peer.js';
import { closed, frame, framed, preface } from './raw.js';

test('frames with padding and priority, blocks in parts, and bytes one by one', async (t) => {
  const { endpoint, request } = await setup(t);
  const peer = new Peer(t, endpoint);
  const padded = (bytes: Buffer): Buffer => Buffer.concat([Buffer.of(7), bytes, Buffer.alloc(7)]);
  const priority = Buffer.concat([number(2 ** 31), Buffer.of(3)]);
  peer.send(
    frame(1, 4 | 8 | 32, 1, padded(Buffer.concat([priority, headers]))),
    frame(0, 8, 1, padded(request.subarray(0, 20))),
    frame(0, 8, 1, padded(Buffer.alloc(0))),
    frame(0, 8 | 1, 1, padded(request.subarray(20))),
  );
  await answered(peer, 1);
  peer.send(
    frame(1, 0, 3, headers.subarray(0, 10)),
    frame(9, 0, 3),
    frame(9, 0, 3, headers.subarray(10, 11)),
  );
  peer.send(frame(9, 4, 3, headers.subarray(11)), frame(0, 1, 3, request));
  await answered(peer, 3);
  const all = Buffer.concat([frame(1, 4, 5, headers), frame(0, 1, 5, request)]);
  peer.socket.setNoDelay(true);
  for (const byte of all) {
    peer.send(Buffer.of(byte));
    await new Promise((resolve) => setImmediate(resolve));
  }
  await answered(peer, 5);
  assert.equal(peer.away(), undefined);
});

test('the windows of the client are kept, and what changes them is heeded', async (t) => {
  const { endpoint, large } = await setup(t);
  const peer = new Peer(t, endpoint, Buffer.concat([preface, windowOf(10)]));
  peer.call(1, large(50_000));
  await until(() => peer.bytesOf(1) === 10);
  peer.send(frame(8, 0, 1, number(90)));
  await until(() => peer.bytesOf(1) === 100);
  // A smaller initial window makes the stream's negative: 20 bytes more are not enough.
  peer.send(windowOf(0), frame(8, 0, 1, number(5)), frame(6, 0, 0, Buffer.alloc(8)));
  await until(() => peer.of(6).length === 1);
  assert.equal(peer.bytesOf(1), 100);
  peer.send(windowOf(1000));
  await until(() => peer.bytesOf(1) === 1095);
  // Now the connection's window is the limit.
  peer.send(frame(8, 0, 1, number(1_000_000)));
  await until(() => peer.bytesOf(1) === 65_535);
  peer.send(frame(8, 0, 0, number(1)));
  await until(() => peer.bytesOf(1) === 65_536);
  assert.ok(!peer.hasEnded(1));
  peer.send(frame(8, 0, 0, number(1_000_000)));
  await answered(peer, 1);
  assert.ok(peer.bytesOf(1) > 200_000);
  assert.ok(peer.of(0).every(({ payload }) => payload.length <= 16_384));
});

test('streams take turns: a small answer does not wait for a large one', async (t) => {
  const { endpoint, large, request } = await setup(t);
  const peer = new Peer(t, endpoint, Buffer.concat([preface, windowOf(2 ** 30)]));
  await peer.upload(1, large(1 << 20));
  await until(() => peer.bytesOf(1) === 65_535);
  peer.call(3, request);
  // Its headers need no window.
  await until(() => peer.lists(3).length === 1);
  assert.equal(peer.bytesOf(3), 0);
  // Room for two frames.
  peer.send(frame(8, 0, 0, number(32_768)));
  await answered(peer, 3);
  assert.ok(!peer.hasEnded(1));
  peer.send(frame(3, 0, 1, number(8)), frame(8, 0, 0, number(10_000)));
  peer.call(5, request);
  await answered(peer, 5);
});

test('larger frames are used by those who take them', async (t) => {
  const { endpoint, large } = await setup(t);
  const opening = Buffer.concat([
    preface,
    frame(4, 0, 0, Buffer.concat([setting(4, 2 ** 30), setting(5, 1 << 20)])),
    frame(8, 0, 0, number(2 ** 30)),
  ]);
  const peer = new Peer(t, endpoint, opening);
  await peer.upload(1, large(1 << 20));
  await answered(peer, 1);
  assert.ok(peer.of(0).some(({ payload }) => payload.length > 16_384));
});

test('a client that wants a small table of headers is told that it is empty', async (t) => {
  const { endpoint, request } = await setup(t);
  const peer = new Peer(t, endpoint, Buffer.concat([preface, frame(4, 0, 0, setting(1, 100))]));
  peer.call(1, request);
  await answered(peer, 1);
  peer.call(3, request);
  await answered(peer, 3);
  const [first, ...others] = peer.of(1);
  assert.equal(first?.payload[0], 0x20);
  assert.ok(others.every(({ payload }) => payload[0] !== 0x20));
});

test('what a paused stream may hold is its window; more than that is an error', async (t) => {
  const { endpoint, server, slow, request } = await setup(t);
  const peer = new Peer(t, endpoint);
  peer.send(frame(1, 4, 1, streamHeaders()));
  // The 256th request pauses the stream.
  const piece = Buffer.concat(Array.from({ length: 16 }, () => slow));
  for (let i = 0; i < 16; i++) peer.send(frame(0, 0, 1, piece));
  const pending = (): string =>
    /^nv_inference_pending_request_count\{model="slow"[^}]*\} (\d+)$/m.exec(server.metrics())?.[1] ?? '';
  await until(() => pending() === '255');
  const given = peer.window(1, 256 << 10);
  const left = given - 256 * slow.length;
  assert.ok(left > 0);
  for (let at = 0; at < left; at += 1000) peer.send(frame(0, 0, 1, Buffer.alloc(Math.min(1000, left - at))));
  // Others go on. Nothing of it was taken.
  peer.call(3, request);
  await answered(peer, 3);
  assert.equal(peer.resetOf(1), undefined);
  assert.equal(peer.window(1, 256 << 10), given);
  peer.send(frame(0, 0, 1, Buffer.alloc(1)));
  await until(() => peer.resetOf(1) === errorCode.flowControl);
  await until(() => pending() === '0');
  peer.call(5, request);
  await answered(peer, 5);
});

test('the windows of the server open again as bytes are taken', async (t) => {
  const { endpoint, large } = await setup(t);
  const peer = new Peer(t, endpoint, openWindows);
  await peer.upload(1, large(4 << 20));
  await answered(peer, 1);
  assert.ok(peer.bytesOf(1) > 16 << 20);
  assert.ok(peer.window(1, 0) > 15 << 20);
});

const block = (...all: readonly (readonly [string, string])[]): Buffer => encodeHeaders(all);
const [method, scheme, path, type] = usual as readonly [
  readonly [string, string],
  readonly [string, string],
  readonly [string, string],
  readonly [string, string],
];
const malformed: Readonly<Record<string, Buffer>> = {
  'a capital': block(...usual, ['A', 'b']),
  'a space in a name': block(...usual, ['a b', 'c']),
  'a name without a character': block(...usual, ['', 'c']),
  'a line end in a value': block(...usual, ['a', 'b\r\nc: d']),
  'no method': block(scheme, path, type),
  'no scheme': block(method, path, type),
  'no path': block(method, scheme, type),
  'an empty path': block(method, scheme, [':path', ''], type),
  'a pseudo header twice': block(...usual.slice(0, 3), path, type),
  'a pseudo header behind others': block(method, scheme, type, path),
  'a pseudo header of answers': block([':status', '200'], ...usual),
  'an unknown pseudo header': block([':protocol', 'websocket'], ...usual),
  'a header of a connection': block(...usual, ['connection', 'close']),
  'a transfer encoding': block(...usual, ['transfer-encoding', 'chunked']),
  'another te than trailers': block(...usual, ['te', 'gzip']),
  'a length that is none': block(...usual, ['content-length', 'x']),
  'two lengths': block(...usual, ['content-length', '1'], ['content-length', '2']),
};

test('malformed requests are reset, and others of the connection are answered', async (t) => {
  const { endpoint, request } = await setup(t);
  const peer = new Peer(t, endpoint);
  let id = 1;
  for (const [what, bytes] of Object.entries(malformed)) {
    const own = id;
    peer.send(frame(1, 4, own, bytes), frame(0, 1, own, request));
    await until(() => peer.resetOf(own) !== undefined);
    assert.equal(peer.resetOf(own), errorCode.protocol, what);
    id += 2;
  }
  const lengths = block(...usual, ['content-length', String(request.length)]);
  // The announced length is that of the body.
  for (const body of [request.subarray(1), Buffer.concat([request, Buffer.alloc(1)])]) {
    peer.send(frame(1, 4, id, lengths), frame(0, 1, id, body));
    const own = id;
    await until(() => peer.resetOf(own) === errorCode.protocol);
    id += 2;
  }
  peer.send(frame(1, 5, id, lengths));
  const empty = id;
  await until(() => peer.resetOf(empty) === errorCode.protocol);
  id += 2;
  // Trailers need an end, and have no pseudo headers.
  for (const [flags, trailers] of [
    [4, block(['a', 'b'])],
    [5, block([':path', '/'])],
  ] as const) {
    const own = id;
    peer.send(frame(1, 4, own, headers), frame(1, flags, own, trailers));
    await until(() => peer.resetOf(own) === errorCode.protocol);
    id += 2;
  }
  peer.send(frame(1, 4, id, lengths), frame(0, 1, id, request));
  await answered(peer, id);
  assert.equal(peer.away(), undefined);
});

test('a list of headers over the limit is reset, and its table is kept', async (t) => {
  const { endpoint, request } = await setup(t);
  const peer = new Peer(t, endpoint);
  // The literal that a table takes, and a list that is too large behind it.
  const indexed = Buffer.concat([Buffer.from('400178017a', 'hex'), block(['y', 'z'.repeat(17_000)])]);
  peer.send(frame(1, 4, 1, Buffer.concat([headers, indexed])), frame(0, 1, 1, request));
  await until(() => peer.resetOf(1) === errorCode.enhanceYourCalm);
  peer.send(frame(1, 4, 3, Buffer.concat([headers, Buffer.of(0xbe)])), frame(0, 1, 3, request));
  await answered(peer, 3);
});

const open = frame(1, 4, 1, headers);
const ended = frame(1, 5, 1, headers);
/** What ends a connection, behind its preface, and the code that the client gets. */
const fatal: Readonly<Record<string, readonly [code: number, bytes: Buffer]>> = {
  'data of the connection': [1, frame(0, 0, 0, Buffer.alloc(1))],
  'data of a stream that was never opened': [1, frame(0, 0, 1, Buffer.alloc(1))],
  'data with padding and no byte': [6, Buffer.concat([open, frame(0, 8, 1)])],
  'data with more padding than bytes': [1, Buffer.concat([open, frame(0, 8, 1, Buffer.of(2, 0))])],
  'headers of the connection': [1, frame(1, 4, 0, headers)],
  'headers of an even stream': [1, frame(1, 4, 2, headers)],
  'headers with too much padding': [1, frame(1, 4 | 8, 1, Buffer.of(5, 0x82))],
  'headers without their priority': [1, frame(1, 4 | 32, 1, Buffer.of(0, 0))],
  'headers that depend on themselves': [
    1,
    frame(1, 4 | 32, 1, Buffer.concat([number(1), Buffer.of(1), headers])),
  ],
  'headers of a lower stream': [5, Buffer.concat([frame(1, 4, 3, headers), open])],
  'headers that cannot be decoded': [9, frame(1, 4, 1, Buffer.alloc(20, 0xff))],
  'a frame inside a header block': [
    1,
    Buffer.concat([frame(1, 0, 1, headers), frame(6, 0, 0, Buffer.alloc(8))]),
  ],
  'the block of another stream': [1, Buffer.concat([frame(1, 0, 1, headers), frame(9, 4, 3, headers)])],
  'a block without a beginning': [1, frame(9, 4, 1, headers)],
  'a block of many frames': [
    11,
    Buffer.concat([frame(1, 0, 1, headers), ...Array.from({ length: 100 }, () => frame(9, 0, 1))]),
  ],
  'a block of many bytes': [
    11,
    Buffer.concat([frame(1, 0, 1, headers), frame(9, 0, 1, Buffer.alloc(66_000))]),
  ],
  'a priority of a wrong size': [6, frame(2, 0, 1, Buffer.alloc(4))],
  'a priority of the connection': [1, frame(2, 0, 0, Buffer.alloc(5))],
  'a priority that depends on itself': [1, frame(2, 0, 1, Buffer.concat([number(1), Buffer.of(1)]))],
  'a reset of a wrong size': [6, Buffer.concat([open, frame(3, 0, 1, Buffer.alloc(3))])],
  'a reset of the connection': [1, frame(3, 0, 0, number(8))],
  'a reset of a stream that was never opened': [1, frame(3, 0, 7, number(8))],
  'settings of a stream': [1, frame(4, 0, 1)],
  'settings of a wrong size': [6, frame(4, 0, 0, Buffer.alloc(5))],
  'too many settings': [11, frame(4, 0, 0, Buffer.alloc(1026))],
  'an answer to settings that has some': [6, frame(4, 1, 0, setting(4, 1))],
  'a setting of push': [1, frame(4, 0, 0, setting(2, 2))],
  'an initial window over the limit': [3, frame(4, 0, 0, setting(4, 2 ** 31))],
  'a frame size below the limit': [1, frame(4, 0, 0, setting(5, 16_383))],
  'an initial window that makes another too large': [
    3,
    Buffer.concat([open, frame(8, 0, 1, number(2 ** 31 - 1 - 65_535)), windowOf(65_536)]),
  ],
  'a promise': [1, frame(5, 4, 1, Buffer.concat([number(2), headers]))],
  'a ping of a stream': [1, frame(6, 0, 1, Buffer.alloc(8))],
  'a ping of a wrong size': [6, frame(6, 0, 0, Buffer.alloc(7))],
  'a GOAWAY of a stream': [1, frame(7, 0, 1, Buffer.alloc(8))],
  'a GOAWAY of a wrong size': [6, frame(7, 0, 0, Buffer.alloc(7))],
  'a window that grows by nothing': [1, frame(8, 0, 0, number(0))],
  'a window over the limit': [3, frame(8, 0, 0, number(2 ** 31 - 1))],
  'a window of a wrong size': [6, frame(8, 0, 0, Buffer.alloc(3))],
  'a window of a stream that was never opened': [1, frame(8, 0, 1, number(1))],
  'a frame over the limit': [6, Buffer.concat([open, Buffer.of(4, 0, 1, 0, 0, 0, 0, 0, 1)])],
};

test('what breaks a rule of the connection ends it, and the client is told why', async (t) => {
  const { endpoint } = await setup(t);
  await Promise.all(
    Object.entries(fatal).map(async ([what, [code, bytes]]) => {
      const peer = new Peer(t, endpoint);
      peer.send(bytes);
      await closed(peer.socket);
      assert.deepEqual([what, peer.away()?.code], [what, code]);
      assert.notEqual(peer.away()?.text, '');
    }),
  );
});

test('what breaks a rule of a stream ends it alone', async (t) => {
  const { endpoint, request, slow } = await setup(t);
  const expected: Readonly<Record<string, readonly [code: number, bytes: Buffer]>> = {
    'data after the end': [5, Buffer.concat([ended, frame(0, 0, 1, Buffer.alloc(1))])],
    'headers after the end': [5, Buffer.concat([open, frame(0, 1, 1, slow), frame(1, 5, 1, headers)])],
    'a window that grows by nothing': [1, Buffer.concat([open, frame(8, 0, 1, number(0))])],
    'a window over the limit': [3, Buffer.concat([open, frame(8, 0, 1, number(2 ** 31 - 1))])],
  };
  for (const [what, [code, bytes]] of Object.entries(expected)) {
    const peer = new Peer(t, endpoint);
    // What was under way is no error.
    peer.send(
      bytes,
      frame(0, 0, 1, Buffer.alloc(100)),
      frame(8, 0, 1, number(1)),
      frame(1, 5, 1, block(['a', 'b'])),
    );
    peer.call(3, request);
    await answered(peer, 3);
    assert.deepEqual([what, peer.resetOf(1)], [what, code]);
    assert.equal(peer.of(3, 1).length, 1);
  }
});

test('what does not begin as HTTP/2 is closed', async (t) => {
  const { endpoint } = await setup(t);
  for (const bytes of [
    Buffer.from('GET / HTTP/1.1\r\nHost: x\r\n\r\n'),
    Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\r'),
    Buffer.concat([preface.subarray(0, 24), frame(6, 0, 0, Buffer.alloc(8))]),
    Buffer.concat([preface.subarray(0, 24), frame(4, 1, 0)]),
  ]) {
    const peer = new Peer(t, endpoint, bytes);
    await closed(peer.socket);
    assert.equal(peer.away()?.code, errorCode.protocol);
  }
});

test('calls beyond the limit are refused, and calls behind the end of the connection are ignored', async (t) => {
  const { endpoint, slow, request } = await setup(t, { maxConcurrentStreams: 2 });
  const peer = new Peer(t, endpoint);
  for (const id of [1, 3, 5]) peer.call(id, slow);
  await until(() => peer.resetOf(5) === errorCode.refusedStream);
  assert.equal(peer.resetOf(1), undefined);
  peer.send(frame(3, 0, 1, number(8)));
  peer.call(7, request);
  await answered(peer, 7);
  const end = endpoint.close({ timeoutMs: 60_000 });
  await until(() => peer.away() !== undefined);
  assert.equal(peer.of(7)[0]?.payload.readUInt32BE(0), 7);
  peer.call(9, request);
  peer.send(frame(6, 0, 0, Buffer.alloc(8)));
  await until(() => peer.of(6).length === 1);
  assert.deepEqual([peer.resetOf(9), peer.hasEnded(9)], [undefined, false]);
  peer.send(frame(3, 0, 3, number(8)));
  await closed(peer.socket);
  await end;
});

test('a client that goes away gets the answers to its calls, and the connection ends', async (t) => {
  const { endpoint, request } = await setup(t);
  const peer = new Peer(t, endpoint);
  peer.send(
    frame(1, 4, 1, headers),
    frame(7, 0, 0, Buffer.concat([number(0), number(0), Buffer.from('bye')])),
  );
  peer.send(frame(0, 1, 1, request));
  await answered(peer, 1);
  await closed(peer.socket);
});

test('pings that are not read end the connection, and so do unread answers', async (t) => {
  const { endpoint, large } = await setup(t, { requestTimeoutMs: 1000, maxPingStrikes: 0 });
  const flood = new Peer(t, endpoint);
  flood.socket.pause();
  const pings = Buffer.concat(Array.from({ length: 1000 }, () => frame(6, 0, 0, Buffer.alloc(8))));
  const more = (): void => {
    while (!flood.socket.destroyed && flood.socket.write(pings));
  };
  flood.socket.on('drain', more);
  more();
  const slow = new Peer(t, endpoint, openWindows);
  for (let id = 1; id < 20; id += 2) {
    slow.send(frame(1, 4, id, headers));
    const body = large(50_000);
    slow.send(frame(0, 0, id, body.subarray(0, 200_000)), frame(0, 1, id, body.subarray(200_000)));
  }
  await until(() => slow.frames.length > 2);
  slow.socket.pause();
  // Both would stay for ever otherwise.
  await endpoint.close({ timeoutMs: 600_000 });
});

test('large answers leave where the process has a large high-water mark', async (t) => {
  const usualMark = getDefaultHighWaterMark(false);
  setDefaultHighWaterMark(false, 64 << 20);
  t.after(() => {
    setDefaultHighWaterMark(false, usualMark);
  });
  const { endpoint, large } = await setup(t);
  const peer = new Peer(t, endpoint, openWindows);
  await peer.upload(1, large(4 << 20));
  await answered(peer, 1);
});

test('a client may open a call in one piece with its end of another that was answered', async (t) => {
  const { endpoint, request } = await setup(t, { maxConcurrentStreams: 1 });
  const peer = new Peer(t, endpoint);
  // An unknown model ends the stream.
  peer.send(
    frame(1, 4, 1, streamHeaders(['triton_grpc_error', 'true'])),
    frame(0, 0, 1, framed(Buffer.from([0x0a, 1, 0x7a]))),
  );
  await until(() => peer.hasEnded(1));
  peer.send(frame(0, 1, 1), frame(1, 4, 3, headers), frame(0, 1, 3, request));
  await answered(peer, 3);
});

test('frames that were under way to very many reset calls are no errors', async (t) => {
  const { endpoint } = await setup(t, { maxRequestBytes: 1000 });
  const peer = new Peer(t, endpoint);
  const ids = Array.from({ length: 1000 }, (_, i) => 2 * i + 1);
  const tooLarge = framed(Buffer.alloc(0), 0, 2000);
  peer.send(...ids.flatMap((id) => [frame(1, 4, id, headers), frame(0, 0, id, tooLarge)]));
  await until(() => peer.resetOf(1999) !== undefined);
  peer.send(
    ...ids.flatMap((id) => [frame(0, 0, id, tooLarge), frame(0, 0, id, tooLarge)]),
    frame(6, 0, 0, Buffer.alloc(8)),
  );
  await until(() => peer.of(6).length === 1);
  assert.equal(peer.of(3).length, 1000);
  assert.equal(peer.away(), undefined);
});

test('resets that cross the ends of calls count as resets: the connection ends, but not its calls', async (t) => {
  const { endpoint, slow } = await setup(t);
  const peer = new Peer(t, endpoint);
  peer.call(1, slow);
  const ids = Array.from({ length: 1200 }, (_, i) => 2 * i + 3);
  for (const id of ids) peer.send(frame(1, 5, id, headers));
  await until(() => peer.hasEnded(2401));
  peer.send(...ids.map((id) => frame(3, 0, id, number(8))), frame(6, 0, 0, Buffer.alloc(8)));
  await until(() => peer.of(6).length === 1);
  assert.deepEqual(peer.away(), { code: 0, text: '' });
  assert.deepEqual([peer.resetOf(1), peer.hasEnded(1)], [undefined, false]);
});
