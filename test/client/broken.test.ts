/** Servers that break HTTP/2 or vanish: calls end with an error even without a time limit, and later calls work. */

import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { test } from 'node:test';
import type { ConnectOptions } from '../../src/client/index.js';
import { frame } from '../endpoints/grpc/raw.js';
import { identity, rejection, row, until } from '../support/harness.js';
import { connected, connectedTo } from './harness.js';
import { answerHeaders, answerTo, headers, hostile, type HostileCall } from './hostile.js';

/** Without a time limit, so that only the connection's end ends a call. */
const options: ConnectOptions = { timeoutMs: 0, retries: 0, keepaliveTimeMs: 40, keepaliveTimeoutMs: 80 };

const long = Buffer.concat([Buffer.from([0, 1, 97, 0x7f, 0x80, 0x7f]), Buffer.alloc(16_255, 97)]);

const breaks: Readonly<Record<string, (call: HostileCall) => void>> = {
  'headers that cannot be decoded': ({ socket, id }) => socket.write(frame(1, 4, id, Buffer.alloc(20, 0xff))),
  'the same, and closes': ({ socket, id }) => {
    socket.end(frame(1, 4, id, Buffer.alloc(20, 0xff)));
  },
  'data of no call': ({ socket }) => socket.write(frame(0, 0, 99, Buffer.alloc(10))),
  'a continuation of nothing': ({ socket, id }) => socket.write(frame(9, 4, id, answerHeaders)),
  'more headers than nghttp2 takes': ({ socket, id }) =>
    socket.write(
      Buffer.concat([
        frame(1, 0, id, answerHeaders),
        ...Array.from({ length: 20 }, () => frame(9, 0, id, long)),
      ]),
    ),
  'a frame over the limit': ({ socket, id }) => socket.write(frame(0, 0, id, Buffer.alloc(300 << 10))),
  'settings of no size': ({ socket }) => socket.write(frame(4, 0, 0, Buffer.from([0, 4, 0]))),
  'a window over the limit': ({ socket }) => {
    const most = frame(8, 0, 0, Buffer.from([0x7f, 255, 255, 255]));
    socket.write(Buffer.concat([most, most]));
  },
  'a push': ({ socket, id }) =>
    socket.write(frame(5, 4, id, Buffer.concat([Buffer.from([0, 0, 0, 2]), answerHeaders]))),
  'HTTP/1.1': ({ socket }) => socket.write('HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n'),
  GOAWAY: ({ socket }) => socket.write(frame(7, 0, 0, Buffer.alloc(8))),
  'GOAWAY with an error': ({ socket }) =>
    socket.write(frame(7, 0, 0, Buffer.from([0, 0, 0, 9, 0, 0, 0, 11]))),
  'the end': ({ socket }) => socket.end(),
};

for (const [what, answer] of Object.entries(breaks))
  test(`a call that is answered with ${what} ends, its connection is given up, and the next call works`, async (t) => {
    const server = await hostile(t, (call) => {
      if (call.number === 2) answer(call);
      else call.socket.write(answerTo(call.id));
    });
    const remote = await connected(t, server.url, options);
    assert.equal((await rejection(remote.index())).code, 'UNAVAILABLE');
    assert.deepEqual(await remote.index(), []);
    await until(() => server.open() === 1);
  });

test('a call of a server that has vanished ends, and is tried again', async (t) => {
  const silent = await hostile(t, ({ socket, id, number }) => number === 1 && socket.write(answerTo(id)), {
    pongs: false,
  });
  const remote = await connected(t, silent.url, options);
  const error = await rejection(remote.index());
  assert.equal(error.code, 'UNAVAILABLE');
  assert.match(error.message, /does not answer pings/);
  await until(() => silent.open() === 0);

  let last: Socket | undefined;
  const lame = await hostile(
    t,
    ({ socket, id }) => {
      // Each connection answers one call.
      if (socket !== last) socket.write(answerTo(id));
      last = socket;
    },
    { pongs: false },
  );
  const patient = await connected(t, lame.url, { ...options, retries: 1 });
  assert.deepEqual(await patient.index(), []);
  assert.deepEqual(await patient.index(), []);
});

test('a server that says nothing at all ends the connecting', async (t) => {
  const { url } = await hostile(t, () => undefined, { settings: false, pongs: false });
  const error = await rejection(connected(t, url, options));
  assert.equal(error.code, 'UNAVAILABLE');
});

test('a connection that breaks behind an answer takes no more calls', async (t) => {
  const server = await hostile(t, ({ socket, id, number }) => {
    socket.write(answerTo(id));
    if (number === 2) socket.write(frame(0, 0, 99, Buffer.alloc(10)));
  });
  // A long keepalive time, so that only the refusal reveals the broken connection.
  const remote = await connected(t, server.url, { ...options, keepaliveTimeMs: 60_000, retries: 1 });
  for (let i = 0; i < 5; i++) assert.deepEqual(await remote.index(), []);
});

test('a call that takes long goes on while pings are answered, of which few are sent', async (t) => {
  let held: HostileCall | undefined;
  const server = await hostile(t, (call) => {
    if (call.number === 1) call.socket.write(answerTo(call.id));
    else held = call;
  });
  const remote = await connected(t, server.url, options);
  const call = remote.index();
  await until(() => server.pings() === 2);
  // Giving up a silent server takes long enough for a further ping to the first one, which must not come.
  const { url } = await hostile(t, () => undefined, { settings: false, pongs: false });
  await rejection(connected(t, url, options));
  assert.equal(server.pings(), 2);
  held?.socket.write(answerTo(held.id));
  assert.deepEqual(await call, []);
});

test('an own server takes the pings of a call that waits', async (t) => {
  const { remote } = await connectedTo('grpc')(t, { slow: identity({ delayMs: 600 }) }, {}, options);
  await remote.infer('slow', { x: row() });
  await remote.infer('slow', { x: row() });
});

test('answers that are none have no success', async (t) => {
  let answer = (id: number): Buffer => answerTo(id);
  const server = await hostile(t, ({ socket, id }) => socket.write(answer(id)));
  const remote = await connected(t, server.url, options);
  for (const [wrong, code] of [
    [(id: number) => answerTo(id, ''), 'UNKNOWN'],
    [(id: number) => answerTo(id, '-0'), 'UNKNOWN'],
    [(id: number) => answerTo(id, '0x0'), 'UNKNOWN'],
    [(id: number) => answerTo(id, '0', 2), 'INTERNAL'],
    [(id: number) => answerTo(id, '0', 0), 'INTERNAL'],
    [(id: number) => frame(1, 5, id, headers([':status', '200'], ['content-type', 'text/html'])), 'UNKNOWN'],
  ] as const) {
    answer = wrong;
    assert.equal((await rejection(remote.index())).code, code, wrong(1).toString('latin1'));
  }
});
