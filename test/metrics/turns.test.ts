/** A client that sends many requests at once and reads nothing: answers are made one by one. */

import assert from 'node:assert/strict';
import { connect, type NetConnectOpts } from 'node:net';
import { join } from 'node:path';
import { mock, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { serveHttp } from '../../src/endpoints/http/serve.js';
import { serveTop } from '../../src/metrics/serve.js';
import type { InferenceServer } from '../../src/server/inference-server.js';
import { identity, serve, type Context } from '../support/harness.js';
import { temporaryFolder } from '../support/repository.js';

/** How many texts are made while the first one is not yet there. */
async function textsAtOnce(
  t: Context,
  server: InferenceServer,
  at: NetConnectOpts,
  path: string,
): Promise<number> {
  const waiting: (() => void)[] = [];
  const scrape = mock.method(
    server,
    'scrape',
    () =>
      new Promise<string>((resolve) => {
        waiting.push(() => {
          resolve('');
        });
      }),
  );
  const socket = connect(at);
  t.after(() => {
    socket.destroy();
    return Promise.resolve();
  });
  socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\ntritonts-ui: 1\r\n\r\n`.repeat(100));
  while (waiting.length === 0) await sleep(5);
  await sleep(100);
  const first = waiting.length;
  // The next one has its turn when the first one has left.
  waiting[0]?.();
  while (waiting.length === first) await sleep(5);
  for (const end of waiting) end();
  scrape.mock.restore();
  return first;
}

test('the socket of top makes one answer at once for a connection', async (t) => {
  const server = await serve(t, { echo: identity() });
  const path =
    process.platform === 'win32'
      ? `\\\\.\\pipe\\tritonts-${process.pid}`
      : join(await temporaryFolder(t), 's');
  const endpoint = await serveTop(server, { path });
  t.after(() => endpoint.close());
  assert.equal(await textsAtOnce(t, server, { path: endpoint.path }, '/top'), 1);
});

test('the web page makes one state at once for a connection', async (t) => {
  const server = await serve(t, { echo: identity() });
  const http = await serveHttp(server, { port: 0, ui: true });
  t.after(() => http.close({ timeoutMs: 0 }));
  assert.equal(await textsAtOnce(t, server, { port: http.address.port, host: '127.0.0.1' }, '/ui/state'), 1);
});
