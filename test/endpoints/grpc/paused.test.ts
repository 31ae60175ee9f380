/** Calls that the server pauses: their time does not run, and what they keep counts for `maxHeldBytes`. */

// Long: it waits for limits of time.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { until } from '../../support/harness.js';
import { Peer } from './peer.js';
import { answered, openWindows, setup, streamHeaders } from './peer-setup.js';
import { frame, framed } from './raw.js';

/** As many requests as a stream may have under way. */
const full = (request: Buffer): Buffer => Buffer.concat(Array.from({ length: 256 }, () => request));

test('a message that is held up by requests before it does not time out', async (t) => {
  const { endpoint, slow } = await setup(t, { requestTimeoutMs: 800 });
  const peer = new Peer(t, endpoint, openWindows);
  peer.send(
    frame(1, 4, 1, streamHeaders()),
    frame(0, 0, 1, Buffer.concat([full(slow), slow.subarray(0, 50)])),
  );
  await delay(2000);
  assert.deepEqual([peer.lists(1), peer.resetOf(1)], [[], undefined]);
  // Without requests before it, it does.
  peer.send(frame(1, 4, 3, streamHeaders()), frame(0, 0, 3, slow.subarray(0, 50)));
  await until(() => peer.hasEnded(3));
  assert.equal(peer.lists(3)[0]?.['grpc-status'], '4');
});

test('what follows a message that cannot be decompressed is discarded', async (t) => {
  const { endpoint, request } = await setup(t);
  const peer = new Peer(t, endpoint, openWindows);
  peer.send(
    frame(1, 4, 1, streamHeaders(['grpc-encoding', 'gzip'])),
    frame(0, 0, 1, framed(Buffer.from('none'), 1)),
  );
  await until(() => peer.hasEnded(1));
  assert.equal(peer.lists(1)[0]?.['grpc-status'], '13');
  for (let i = 0; i < 15; i++) peer.send(frame(0, 0, 1, Buffer.alloc(16 << 10)));
  await until(() => peer.window(1, 0) > 0);
  peer.call(3, request);
  await answered(peer, 3);
});

test('bytes that paused calls keep count as held', async (t) => {
  const { endpoint, slow, request } = await setup(t, { maxHeldBytes: 1 << 20 });
  const peer = new Peer(t, endpoint, openWindows);
  const ids = Array.from({ length: 20 }, (_, i) => 2 * i + 1);
  for (const id of ids) {
    peer.send(frame(1, 4, id, streamHeaders()));
    peer.send(frame(0, 0, id, full(slow)));
    for (let i = 0; i < 10; i++) peer.send(frame(0, 0, id, Buffer.alloc(16 << 10)));
  }
  const refused = (): number[] => ids.filter((id) => peer.hasEnded(id));
  await until(() => refused().length > 10);
  for (const id of refused()) {
    const [list] = peer.lists(id);
    assert.ok(list);
    assert.equal(list['grpc-status'], '14');
    assert.match(list['grpc-message'] ?? '', /maxHeldBytes/);
  }
  // All is given back with the calls.
  for (const id of ids) peer.send(frame(3, 0, id, Buffer.of(0, 0, 0, 8)));
  peer.call(101, request);
  await answered(peer, 101);
});
