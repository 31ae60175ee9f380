/** `serveTop`: a server that is read through a socket. */

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { request } from 'node:http';
import { createServer as createNetServer } from 'node:net';
import { chmod, lstat, readdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { serveTop, type ServeTopOptions, type TopEndpoint, type TopServer } from '../../src/metrics/serve.js';
import { SocketSource } from '../../src/top/sources/socket-source.js';
import { identity, rejection, row, serve, type Context } from '../support/harness.js';
import { temporaryFolder } from '../support/repository.js';

const { signal } = new AbortController();

async function opened(t: Context, server: TopServer, options: ServeTopOptions): Promise<TopEndpoint> {
  const endpoint = await serveTop(server, options);
  t.after(() => endpoint.close());
  return endpoint;
}

/** A socket's file stays if its process is killed: this one is moved away from what would remove it. */
async function staleSocket(folder: string): Promise<string> {
  const path = join(folder, 'stale.sock');
  const stale = createNetServer().listen(path);
  await once(stale, 'listening');
  const kept = join(folder, 'kept.sock');
  await rename(path, kept);
  await new Promise((resolve) => stale.close(resolve));
  await rename(kept, path);
  return path;
}

test('a server is read through its socket, and only its user may connect', async (t) => {
  const server = await serve(t, { echo: identity() });
  await server.infer('echo', { x: row() });
  const folder = await temporaryFolder(t);
  const path = join(folder, 'top.sock');
  const mask = process.umask(0);
  t.after(() => process.umask(mask));
  const endpoint = await opened(t, server, { path });
  assert.equal(endpoint.path, path);
  assert.equal((await stat(path)).mode & 0o777, 0o600);
  assert.deepEqual(await readdir(folder), ['top.sock'], 'nothing else is left');

  const reading = await new SocketSource(path, 5000).read(signal);
  assert.equal(reading.server.name, 'tritonts');
  assert.deepEqual(reading.index, [{ name: 'echo', version: '1', state: 'READY' }]);
  assert.equal(reading.statistics[0]?.inference_stats.success.count, 1);
  assert.match(reading.metrics ?? '', /^nv_inference_request_success\{model="echo",version="1"\} 1$/m);
  assert.deepEqual(reading.instances, new Map([['1/echo', 1]]));

  await endpoint.close();
  await endpoint.close();
  assert.equal(await lstat(path).catch((): undefined => undefined), undefined);
});

test('it only reads: other requests are refused', async (t) => {
  const server = await serve(t, { echo: identity() });
  const { path } = await opened(t, server, { path: join(await temporaryFolder(t), 's') });
  for (const [method, url] of [
    ['POST', '/top'],
    ['GET', '/'],
    ['POST', '/v2/repository/models/echo/unload'],
  ] as const) {
    const sent = request({ socketPath: path, method, path: url }).end();
    // The event's type is not declared.
    const [response] = (await once(sent, 'response')) as [{ readonly statusCode: number; resume(): void }];
    response.resume();
    assert.equal(response.statusCode, 404, `${method} ${url}`);
  }
});

test('the file of a process that has ended is replaced; a live one and other files are left', async (t) => {
  const server = await serve(t, { echo: identity() });
  const folder = await temporaryFolder(t);
  const path = await staleSocket(folder);
  assert.ok((await lstat(path)).isSocket());
  await opened(t, server, { path });
  assert.match(
    (await rejection(serveTop(server, { path }))).message,
    /another process listens at the socket/,
  );

  const file = join(folder, 'file');
  await writeFile(file, 'text');
  const { code, message } = await rejection(serveTop(server, { path: file }));
  assert.equal(code, 'INVALID_ARG');
  assert.match(message, /is not a socket, and is left as it is/);
});

test('of several calls at once for a path one has it, also where a process has ended', async (t) => {
  const server = await serve(t, { echo: identity() });
  const folder = await temporaryFolder(t);
  for (const path of [join(folder, 'new.sock'), await staleSocket(folder)]) {
    const all = await Promise.allSettled([1, 2, 3].map(() => serveTop(server, { path })));
    const endpoints = all.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
    for (const endpoint of endpoints) t.after(() => endpoint.close());
    assert.equal(endpoints.length, 1);
    for (const one of all)
      if (one.status === 'rejected')
        assert.match(String(one.reason), /another process listens at the socket/);
    await new SocketSource(path, 5000).read(signal);
  }
});

test('a live socket with a full backlog is left', { skip: process.platform !== 'linux' }, async (t) => {
  const server = await serve(t, { echo: identity() });
  const path = join(await temporaryFolder(t), 'full.sock');
  const script = `
import socket, sys
s = socket.socket(socket.AF_UNIX); s.bind(sys.argv[1]); s.listen(0)
waiting = []
try:
    while len(waiting) < 50:
        c = socket.socket(socket.AF_UNIX); c.setblocking(False); c.connect(sys.argv[1]); waiting.append(c)
except BlockingIOError: pass
print('full', flush=True); sys.stdin.read()`;
  const busy = spawn('python3', ['-c', script, path], { stdio: ['pipe', 'pipe', 'inherit'] });
  t.after(() => busy.kill());
  assert.match(String((await once(busy.stdout, 'data'))[0]), /full/);
  const { ino } = await lstat(path);
  assert.match(
    (await rejection(serveTop(server, { path }))).message,
    /another process listens at the socket/,
  );
  assert.equal((await lstat(path)).ino, ino);
  busy.stdin.end();
});

test('the length of a path is counted in bytes', async (t) => {
  const server = await serve(t, { echo: identity() });
  assert.match(
    (await rejection(serveTop(server, { path: `/tmp/${'é'.repeat(60)}` }))).message,
    /may have 103 bytes/,
  );
  const folder = await temporaryFolder(t);
  const path = join(folder, 'x'.repeat(103 - Buffer.byteLength(folder) - 1));
  assert.equal((await opened(t, server, { path })).path, path);
  await new SocketSource(path, 5000).read(signal);
});

test('an endpoint that was replaced does not remove its successor', async (t) => {
  const server = await serve(t, { echo: identity() });
  const folder = await temporaryFolder(t);
  const path = join(folder, 's');
  const first = await opened(t, server, { path });
  await rm(path);
  await opened(t, server, { path });
  await first.close();
  assert.ok((await lstat(path)).isSocket());
  await new SocketSource(path, 5000).read(signal);
});

test('wrong arguments are refused by words', async (t) => {
  const server = await serve(t, { echo: identity() });
  const folder = await temporaryFolder(t);
  const refused = async (options: unknown): Promise<string> =>
    (await rejection(serveTop(server, options as ServeTopOptions))).message;
  assert.match(await refused({ path: 3 }), /expected the path of a socket for options.path but received 3/);
  assert.match(await refused({ path: '' }), /expected the path of a socket/);
  assert.match(await refused({ port: 3 }), /unknown key 'port' in top options/);
  assert.match(await refused({ path: join(folder, 'x'.repeat(100)) }), /may have 103 bytes/);
  assert.match(await refused({ path: join(folder, 'no', 's') }), /cannot be opened: .*ENOENT/);
  assert.match((await rejection(serveTop({} as TopServer))).message, /expected a server for serveTop/);
  if (process.getuid?.() !== 0) {
    await chmod(folder, 0o500);
    assert.match(await refused({ path: join(folder, 's') }), /cannot be opened: .*EACCES/);
    await chmod(folder, 0o700);
  }
  await server.close();
  assert.equal((await rejection(serveTop(server))).code, 'UNAVAILABLE');
});

test('a socket of another program is not taken for one', async (t) => {
  const path = join(await temporaryFolder(t), 's');
  const { createServer } = await import('node:http');
  const other = createServer((_, response) => response.end('{"hello":1}')).listen(path);
  t.after(() => other.close());
  await once(other, 'listening');
  const { code, message } = await rejection(new SocketSource(path, 1000).read(signal));
  assert.equal(code, 'UNAVAILABLE');
  assert.match(message, /is not a socket of serveTop/);
  assert.match(
    (await rejection(new SocketSource(join(path, 'no'), 1000).read(signal))).message,
    /no answer from/,
  );
});
