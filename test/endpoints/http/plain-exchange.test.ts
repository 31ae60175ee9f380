/** Answers of plain requests that cannot be written. */

import assert from 'node:assert/strict';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { test } from 'node:test';
import { BodyReader } from '../../../src/endpoints/http/body.js';
import { AnswerBytes, Connections } from '../../../src/endpoints/http/connection.js';
import { PlainExchange } from '../../../src/endpoints/http/plain-exchange.js';
import { until, type Context } from '../../support/harness.js';

/** An exchange, its socket, and the other end. */
interface Rig {
  readonly exchange: PlainExchange;
  readonly client: Socket;
  readonly server: Socket;
  /** How often the exchange has told that its answer was written. */
  readonly answered: () => number;
}

async function rig(t: Context): Promise<Rig> {
  const listener = createServer();
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));
  const accepted = new Promise<Socket>((resolve) => listener.once('connection', resolve));
  const client = connect((listener.address() as AddressInfo).port, '127.0.0.1');
  const server = await accepted;
  t.after(async () => {
    client.destroy();
    server.destroy();
    await new Promise((resolve) => listener.close(resolve));
  });
  let answered = 0;
  const connection = new Connections(new AnswerBytes(1 << 20, 1 << 20)).of(server);
  const end = { closing: () => false, keepAlive: '', answered: () => void answered++ };
  const exchange = new PlainExchange(server, connection, new BodyReader(1), 0, end);
  return { exchange, client, server, answered: () => answered };
}

test('an answer without memory becomes an error', async (t) => {
  const { exchange, client, answered } = await rig(t);
  let text = '';
  client.on('data', (chunk: Buffer) => (text += chunk.toString('latin1')));
  // As when memory is short, writing fails: the output is larger than it says.
  const blob = Object.defineProperty(Buffer.alloc(64), 'length', { value: 8 });
  exchange.sendInfer({ json: '{}', blobs: [blob] });
  await until(() => text.endsWith('}'));
  assert.match(text, /^HTTP\/1\.1 500 [^]*\r\n\r\n\{"error":"/);
  assert.deepEqual([exchange.open, answered()], [false, 1]);
});

test('a socket that cannot be written to is destroyed', async (t) => {
  const { exchange, server } = await rig(t);
  server.write = () => {
    throw new RangeError('no memory');
  };
  exchange.sendInfer({ json: '{}', blobs: [] });
  assert.deepEqual([exchange.open, server.destroyed], [false, true]);
});
