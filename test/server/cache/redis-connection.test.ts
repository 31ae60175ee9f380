/** A connection to Redis that is closed while it is made. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { test } from 'node:test';
import { RedisConnection } from '../../../src/cache/redis/connection.js';

test('close ends a connection that is being made', async (t) => {
  // It takes connections, and says nothing.
  const silent = createServer().listen(0, '127.0.0.1');
  await once(silent, 'listening');
  t.after(() => silent.close());
  const { port } = silent.address() as AddressInfo;
  const options = { socket: { host: '127.0.0.1', port, reconnectStrategy: false as const } };
  const connection = new RedisConnection(options, `127.0.0.1:${port}`, 20_000);
  const accepted = once(silent, 'connection');
  const failed = assert.rejects(connection.connect());
  const [socket] = (await accepted) as [Socket];
  const ended = once(socket, 'close');
  socket.on('error', () => undefined).resume();
  const begin = performance.now();
  connection.close();
  await ended;
  await failed;
  assert.ok(performance.now() - begin < 5000, `${performance.now() - begin} ms`);
});
