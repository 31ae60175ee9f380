/** Very many connections at once. */

// Long: it waits for limits of time.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { onnx, row, serve } from '../../support/harness.js';
import { endpointOf, foreign } from './harness.js';
import { ask, frame, framed, preface, session, socketOf } from './raw.js';

const fields = {
  model_name: 'm',
  inputs: [{ name: 'x', datatype: 'FP32', shape: [1, 16] }],
  raw_input_contents: [Buffer.from(row().buffer)],
};

test('many connections, idle and busy', async (t) => {
  const server = await serve(t, { m: onnx() });
  const endpoint = await endpointOf(t, server);
  const client = await foreign(t, endpoint);
  const body = framed(client.messages.write('inference.ModelInferRequest', fields));
  const idle: ReturnType<typeof socketOf>[] = [];
  // At most as many at once as a system's accept queue holds.
  while (idle.length < 2000) {
    const some = Array.from({ length: 100 }, () => socketOf(t, endpoint));
    await Promise.all(
      some.map(async (socket) => {
        await once(socket, 'connect');
        socket.write(Buffer.concat([preface, frame(4, 0, 0)]));
        // The settings of the server.
        await once(socket, 'data');
      }),
    );
    idle.push(...some);
  }
  const busy: ReturnType<typeof session>[] = [];
  while (busy.length < 500) {
    const some = Array.from({ length: 100 }, () => session(t, endpoint));
    await Promise.all(some.map((one) => once(one, 'remoteSettings')));
    busy.push(...some);
  }
  const answers = await Promise.all(
    Array.from({ length: 2000 }, (_, i) => {
      const connection = busy[i % busy.length];
      assert.ok(connection);
      return ask(connection, body);
    }),
  );
  for (const { http, status, text } of answers) assert.deepEqual([http, status, text], [200, 0, '']);
  for (const one of busy) one.destroy();
  // No idle connection was closed in favour of them, and they are still served.
  for (const socket of idle) assert.ok(!socket.destroyed);
  const last = idle[1999];
  assert.ok(last);
  const pong = once(last, 'data');
  last.write(frame(6, 0, 0, Buffer.from('8 octets')));
  const [bytes] = (await pong) as [Buffer];
  assert.ok(bytes.includes('8 octets'));
  for (const socket of idle) socket.destroy();
  assert.equal(((await client.call('ModelInfer', fields))['outputs'] as unknown[]).length, 1);
});
