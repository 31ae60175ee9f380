/** The table of a session's streams: Node finds its streams in it, and it does what a Map does. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, createServer, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { types } from 'node:util';
import { replaceStreamTable } from '../../../src/endpoints/grpc/stream-table.js';

/** The table of a session. */
function tableOf(session: ServerHttp2Session): Map<number, unknown> {
  const key = Object.getOwnPropertySymbols(session).find(({ description }) => description === 'state');
  assert.ok(key !== undefined);
  return (Reflect.get(session, key) as { streams: Map<number, unknown> }).streams;
}

test('the streams of a session are in its table until they close, and end with the session', async (t) => {
  const server = createServer();
  const sessions: ServerHttp2Session[] = [];
  const held: ServerHttp2Stream[] = [];
  server.on('session', (session) => {
    assert.ok(replaceStreamTable(session), 'this Node keeps its streams elsewhere');
    assert.ok(!types.isMap(tableOf(session)));
    sessions.push(session);
  });
  server.on('stream', (stream, headers) => {
    stream.on('error', () => undefined);
    if (headers[':path'] === '/held') held.push(stream);
    else stream.end('x');
  });
  server.listen(0);
  await once(server, 'listening');
  const client = connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  client.on('error', () => undefined);
  t.after(() => {
    client.destroy();
    server.close();
  });
  const ask = async (path: string): Promise<string> => {
    const stream = client.request({ ':path': path });
    stream.on('error', () => undefined).setEncoding('utf8');
    let text = '';
    for await (const part of stream) text += String(part);
    return text;
  };
  const answers = await Promise.all(Array.from({ length: 100 }, () => ask('/')));
  assert.deepEqual(new Set(answers), new Set(['x']));
  const waiting = [client.request({ ':path': '/held' }), client.request({ ':path': '/held' })];
  for (const one of waiting) one.on('error', () => undefined);
  while (held.length < 2) await new Promise((resolve) => setTimeout(resolve, 1));
  const [session] = sessions;
  assert.ok(session);
  const table = tableOf(session);
  assert.equal(table.size, 2);
  assert.deepEqual([...table.values()], held);
  session.destroy();
  while (held.some(({ destroyed }) => !destroyed)) await new Promise((resolve) => setTimeout(resolve, 1));
  assert.equal(table.size, 0);
});

test('the table does what a Map does', async (t) => {
  const server = createServer();
  const tables: Map<number, unknown>[] = [];
  server.on('session', (session) => {
    replaceStreamTable(session);
    tables.push(tableOf(session));
  });
  server.listen(0);
  await once(server, 'listening');
  const client = connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  client.on('error', () => undefined);
  t.after(() => {
    client.destroy();
    server.close();
  });
  while (tables.length === 0) await new Promise((resolve) => setTimeout(resolve, 1));
  const [table] = tables;
  assert.ok(table);
  const map = new Map<number, unknown>();
  let seed = 1;
  const random = (most: number): number => (seed = (seed * 48_271) % 2_147_483_647) % most;
  for (let i = 0; i < 5000; i++) {
    const id = 2 * random(50) + 1;
    if (random(2) === 0) {
      assert.equal(table.set(id, i), table);
      map.set(id, i);
    } else assert.equal(table.delete(id), map.delete(id));
    assert.equal(table.size, map.size);
    assert.equal(table.has(id), map.has(id));
    assert.equal(table.get(id), map.get(id));
  }
  const sorted = (entries: Iterable<[number, unknown]>): [number, unknown][] =>
    [...entries].sort(([one], [other]) => one - other);
  assert.deepEqual(sorted(table), sorted(map));
  assert.deepEqual([...table.keys()].sort(), [...map.keys()].sort());
  const seen: unknown[] = [];
  table.forEach((_, id) => {
    seen.push(id);
    table.delete(id);
  });
  assert.equal(seen.length, map.size);
  assert.equal(table.size, 0);
  table.set(1, 'x').clear();
  assert.deepEqual([table.size, table.get(1)], [0, undefined]);
});
