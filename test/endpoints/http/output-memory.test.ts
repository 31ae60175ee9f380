/** The memory of large outputs is freed when their answer has left, and never before. */

// Long: it moves much data.

import assert from 'node:assert/strict';
import { Agent as TlsAgent, request as requestTls } from 'node:https';
import { Agent, createServer as createHttpServer, request as requestPlain } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import { suite, test } from 'node:test';
import { addon } from '../../../src/addon/load.js';
import type { InferenceServer } from '../../../src/index.js';
import { httpHandler, type HttpEndpoint } from '../../../src/endpoints/http/serve.js';
import { certificate } from '../../support/certificate.js';
import { identity, serve, until, type Context } from '../../support/harness.js';
import { ask, endpointOf } from './harness.js';

const elements = 3 * 224 * 224;
const bytes = 4 * elements;
const path = '/v2/models/m/infer';
const head = JSON.stringify({
  inputs: [{ name: 'x', datatype: 'FP32', shape: [1, elements], parameters: { binary_data_size: bytes } }],
  parameters: { binary_data_output: true },
});
const headers = { 'Inference-Header-Content-Length': String(head.length) };

function bodyOf(fill: number): Buffer {
  return Buffer.concat([Buffer.from(head), Buffer.alloc(bytes, fill)]);
}

function large(t: Context): Promise<InferenceServer> {
  const dims = [elements];
  return serve(t, {
    m: identity({ maxBatchSize: 8, inputs: [{ name: 'x', dims }], outputs: [{ name: 'y', dims }] }),
  });
}

/** Whether a body ends with the output that belongs to `fill`. */
function assertAnswer(body: Buffer, fill: number): void {
  assert.ok(body.length > bytes);
  assert.ok(body.subarray(-bytes).equals(Buffer.alloc(bytes, fill)), `an answer is not all ${fill}`);
}

/** Makes a request on a kept connection. */
function askOn(agent: Agent, { address }: HttpEndpoint, fill: number, ca?: string | Buffer): Promise<Buffer> {
  const { host, port } = address;
  const options = { host, port, path, method: 'POST', headers, agent, ca, servername: 'localhost' };
  return new Promise((resolve, reject) => {
    const sent = (ca === undefined ? requestPlain : requestTls)(options, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('end', () => {
        resolve(Buffer.concat(chunks));
      });
      response.on('error', reject);
    });
    sent.on('error', reject);
    sent.end(bodyOf(fill));
  });
}

/** Makes many requests, four at once. */
async function askAll(endpoint: HttpEndpoint, agent: Agent, ca?: string | Buffer): Promise<void> {
  const from = async (first: number): Promise<void> => {
    for (let i = first; i < 200; i += 4) assertAnswer(await askOn(agent, endpoint, i, ca), i);
  };
  await Promise.all([0, 1, 2, 3].map(from));
  agent.destroy();
}

/** A client that makes a request, reads some bytes of the answer, and leaves. */
function leaveEarly({ address }: HttpEndpoint, fill: number): Promise<void> {
  return new Promise((resolve) => {
    const body = bodyOf(fill);
    const socket = connect(address.port, address.host);
    socket.write(
      `POST ${path} HTTP/1.1\r\nHost: x\r\nInference-Header-Content-Length: ${head.length}\r\nContent-Length: ${body.length}\r\n\r\n`,
    );
    socket.write(body);
    socket.once('data', () => socket.destroy());
    socket
      .on('error', () => undefined)
      .on('close', () => {
        resolve();
      });
  });
}

void suite('large outputs', () => {
  test('arrive whole on kept connections, beside clients that leave in the midst of theirs', async (t) => {
    const endpoint = await endpointOf(t, await large(t));
    const leavers = (async (): Promise<void> => {
      for (let i = 0; i < 60; i++) await leaveEarly(endpoint, i);
    })();
    await askAll(endpoint, new Agent({ keepAlive: true }));
    await leavers;
  });

  test('arrive whole over TLS', async (t) => {
    const tls = await certificate(t);
    if (tls === undefined) return;
    const endpoint = await endpointOf(t, await large(t), { tls });
    await askAll(endpoint, new TlsAgent({ keepAlive: true }), tls.cert);
  });

  test('stay in memory behind httpHandler, where others have a hand in the response', async (t) => {
    const handler = httpHandler(await large(t));
    const written: Uint8Array[] = [];
    let closed = 0;
    const own = createHttpServer((request, response) => {
      const write = response.write.bind(response);
      // Like a compressing middleware. The handler passes no other arguments.
      response.write = (chunk: unknown): boolean => {
        if (chunk instanceof Uint8Array) written.push(chunk);
        return write(chunk, 'utf8');
      };
      response.on('close', () => closed++);
      handler(request, response);
    });
    await new Promise<void>((resolve) => own.listen(0, '127.0.0.1', resolve));
    t.after(() => {
      own.close();
      own.closeAllConnections();
    });
    const { port } = own.address() as AddressInfo;
    const endpoint = { address: { host: '127.0.0.1', port } };
    for (let i = 0; i < 5; i++)
      assertAnswer((await ask(endpoint, path, { headers, body: bodyOf(i) })).body, i);
    // The last response may close after its client has read all of it.
    await until(() => closed === 5);
    assert.deepEqual(
      written.map(({ byteLength }) => byteLength),
      Array.from({ length: 5 }, () => bytes),
    );
  });
});

test('a hundred answers of 602 KB leave no memory that waits for V8', async (t) => {
  const endpoint = await endpointOf(t, await large(t));
  const freed: number[] = [];
  const native = addon();
  const dropMemory = native.dropMemory.bind(native);
  t.mock.method(native, 'dropMemory', (buffer: ArrayBuffer) => {
    dropMemory(buffer);
    freed.push(buffer.byteLength);
  });
  const agent = new Agent({ keepAlive: true });
  for (let i = 0; i < 100; i++) await askOn(agent, endpoint, i);
  agent.destroy();
  assert.ok(freed.length >= 99, `${freed.length} were freed`);
  assert.ok(freed.every((size) => size === 0));
});
