/** Floods of frames: the connection ends, or is served cheaply; other clients are answered. */

// Long: it moves much data.

import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { test } from 'node:test';
import { onnx, row, serve, until, type Context } from '../../support/harness.js';
import { endpointOf, foreign } from './harness.js';
import { ask, closed, frame, framed, headerBlock, preface, session, socketOf } from './raw.js';

const headers = headerBlock();
const start = Buffer.concat([preface, frame(4, 1, 0)]);
const fields = {
  model_name: 'm',
  inputs: [{ name: 'x', datatype: 'FP32', shape: [1, 16] }],
  raw_input_contents: [Buffer.from(row().buffer)],
};

const repeated = (bytes: Buffer, times: number): Buffer =>
  Buffer.concat(Array.from({ length: times }, () => bytes));
const number = (value: number): Buffer => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
};
/** The nth call of a client, counted from 0. */
const calls = (count: number, of: (id: number) => Buffer): Buffer =>
  Buffer.concat(Array.from({ length: count }, (_, i) => of(2 * i + 1)));

/** Writes until the other side ends the connection. */
function flood(socket: Socket, bytes: Buffer): Promise<void> {
  const more = (): void => {
    while (!socket.destroyed && socket.write(bytes));
  };
  socket.on('drain', more);
  more();
  return closed(socket);
}

/** A connection for the flood, and other clients that must be answered. */
async function setup(t: Context) {
  const server = await serve(t, { m: onnx() });
  const endpoint = await endpointOf(t, server, { requestTimeoutMs: 2400 });
  const client = await foreign(t, endpoint);
  const works = async (): Promise<void> => {
    assert.equal(((await client.call('ModelInfer', fields))['outputs'] as unknown[]).length, 1);
  };
  const request = framed(client.messages.write('inference.ModelInferRequest', fields));
  return { endpoint, works, request };
}

const ending: Readonly<Record<string, Buffer>> = {
  settings: repeated(frame(4, 0, 0), 1000),
  pings: repeated(frame(6, 0, 0, Buffer.alloc(8)), 1000),
  'answers to pings that were not sent': repeated(frame(6, 1, 0, Buffer.alloc(8)), 1000),
  'data without a byte': Buffer.concat([frame(1, 4, 1, headers), repeated(frame(0, 0, 1), 20_000)]),
  'settings that open and close windows': Buffer.concat([
    calls(100, (id) => frame(1, 4, id, headers)),
    repeated(
      Buffer.concat([
        frame(4, 0, 0, Buffer.concat([Buffer.from([0, 4]), number(0)])),
        frame(4, 0, 0, Buffer.concat([Buffer.from([0, 4]), number(2 ** 31 - 1)])),
      ]),
      1000,
    ),
  ]),
  // The server resets these, so that limits of resets by the client do not see them (CVE-2025-8671).
  'calls that make the server reset them: a window of 0': calls(2000, (id) =>
    Buffer.concat([frame(1, 4, id, headers), frame(8, 0, id, number(0))]),
  ),
  'calls that make the server reset them: a window over the limit': calls(2000, (id) =>
    Buffer.concat([frame(1, 4, id, headers), frame(8, 0, id, number(2 ** 31 - 1))]),
  ),
  'calls that make the server reset them: data after the end': calls(2000, (id) =>
    Buffer.concat([frame(1, 5, id, headers), frame(0, 0, id, Buffer.alloc(1))]),
  ),
};

for (const [what, bytes] of Object.entries(ending))
  test(`ends with ${what}`, async (t) => {
    const { endpoint, works } = await setup(t);
    const socket = socketOf(t, endpoint);
    socket.write(start);
    const ended = flood(socket, bytes);
    await works();
    await ended;
    await works();
  });

const harmless: Readonly<Record<string, Buffer>> = {
  windows: repeated(frame(8, 0, 0, number(1)), 20_000),
  // More than 1000 at once end the connection.
  priorities: repeated(frame(2, 0, 3, Buffer.from([0, 0, 0, 1, 1])), 500),
  'frames of unknown types': repeated(frame(0xee, 0, 0, Buffer.alloc(100)), 500),
  padding: Buffer.concat([frame(1, 4, 1, headers), repeated(frame(0, 8, 1, Buffer.alloc(1)), 500)]),
};

for (const [what, bytes] of Object.entries(harmless))
  test(`goes on behind ${what}`, async (t) => {
    const { endpoint, works, request } = await setup(t);
    const socket = socketOf(t, endpoint);
    const got: Buffer[] = [];
    socket.on('data', (chunk: Buffer) => got.push(chunk));
    socket.write(start);
    socket.write(bytes);
    socket.write(Buffer.concat([frame(1, 4, 5, headers), frame(0, 1, 5, request)]));
    // The name of the output.
    await until(() => Buffer.concat(got).includes('FP32'));
    await works();
  });

test('trailers of a request are taken, and mean nothing', async (t) => {
  const { endpoint, works, request } = await setup(t);
  const socket = socketOf(t, endpoint);
  const got: Buffer[] = [];
  socket.on('data', (chunk: Buffer) => got.push(chunk));
  const trailer = Buffer.concat([Buffer.from([0, 1]), Buffer.from('a'), Buffer.from([1]), Buffer.from('b')]);
  socket.write(
    Buffer.concat([start, frame(1, 4, 1, headers), frame(0, 0, 1, request), frame(1, 5, 1, trailer)]),
  );
  await until(() => Buffer.concat(got).includes('FP32'));
  await works();
});

test('10,000 calls on one connection, 64 at a time', async (t) => {
  const { endpoint, request } = await setup(t);
  const client = session(t, endpoint);
  let left = 10_000;
  await Promise.all(
    Array.from({ length: 64 }, async () => {
      while (left-- > 0) assert.equal((await ask(client, request)).status, 0);
    }),
  );
});
