/** URLs with the scheme of another port: the error says what the port may be. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { identity, rejection, serve } from '../support/harness.js';
import { addressOf, connected } from './harness.js';

test('the port of another protocol is told from a server that is away', async (t) => {
  const server = await serve(t, { m: identity() });
  const [http, grpc] = [await addressOf(t, 'http', server), await addressOf(t, 'grpc', server)];
  for (const [url, hint] of [
    [grpc.replace('grpc', 'http'), /\(is it a gRPC port\? Its URL begins with grpc:\/\/\)$/],
    [http.replace('http', 'grpc'), /\(is it an HTTP port\? Its URL begins with http:\/\/\)$/],
    [http.replace('http', 'https'), /the port does not speak TLS: its URL has http:\/\/ or grpc:\/\/$/],
    [grpc.replace('grpc', 'grpcs'), /the port does not speak TLS: its URL has http:\/\/ or grpc:\/\/$/],
  ] as const) {
    const answer = connected(t, url, { retries: 0 }).then((remote) => remote.index());
    const { code, message } = await rejection(answer);
    assert.equal(code, 'UNAVAILABLE');
    assert.match(message, hint);
  }
});
