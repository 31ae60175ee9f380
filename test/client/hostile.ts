/** Servers that break HTTP/2, frame by frame. */

import { createServer, type AddressInfo, type Socket } from 'node:net';
import { once } from 'node:events';
import type { Context } from '../support/harness.js';
import { frame, framed } from '../endpoints/grpc/raw.js';

/** A received call. */
export interface HostileCall {
  readonly socket: Socket;
  /** The HTTP/2 stream. */
  readonly id: number;
  /** The number of the call on this server, from 1. */
  readonly number: number;
}

/** A server of this kind. */
export interface Hostile {
  readonly url: string;
  /** How many connections are open. */
  readonly open: () => number;
  /** How many pings came. */
  readonly pings: () => number;
}

/** How the server answers connection-level frames. */
export interface Manners {
  /** Whether it sends SETTINGS, and takes the client's (default true). */
  readonly settings?: boolean;
  /** Whether it answers pings (default true). */
  readonly pongs?: boolean;
}

/** Encodes headers with HPACK, without tables. */
export function headers(...pairs: readonly (readonly [name: string, value: string])[]): Buffer {
  return Buffer.concat(
    pairs.flatMap(([name, value]) => [
      Buffer.from([0, name.length]),
      Buffer.from(name),
      Buffer.from([value.length]),
      Buffer.from(value),
    ]),
  );
}

/** The headers of an answer. */
export const answerHeaders: Buffer = headers([':status', '200'], ['content-type', 'application/grpc']);

/** An answer with empty messages. */
export function answerTo(id: number, status = '0', messages = 1): Buffer {
  return Buffer.concat([
    frame(1, 4, id, answerHeaders),
    ...Array.from({ length: messages }, () => frame(0, 0, id, framed(Buffer.alloc(0)))),
    frame(1, 5, id, headers(['grpc-status', status])),
  ]);
}

/** The size of the client's preface. */
const prefaceBytes = 24;

/** Starts a server that is closed after the test. `called` answers each call as it likes. */
export async function hostile(
  t: Context,
  called: (call: HostileCall) => void,
  { settings = true, pongs = true }: Manners = {},
): Promise<Hostile> {
  const sockets = new Set<Socket>();
  let number = 0;
  let pings = 0;
  const server = createServer({ noDelay: true }, (socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined).once('close', () => sockets.delete(socket));
    if (settings) socket.write(frame(4, 0, 0));
    let rest = Buffer.alloc(0);
    let skipped = 0;
    socket.on('data', (chunk: Buffer) => {
      const skip = Math.min(prefaceBytes - skipped, chunk.length);
      skipped += skip;
      rest = Buffer.concat([rest, chunk.subarray(skip)]);
      for (;;) {
        const size = rest.length < 9 ? Infinity : 9 + rest.readUIntBE(0, 3);
        if (size > rest.length) return;
        const [type, flags, id] = [rest[3], rest[4] ?? 0, rest.readUInt32BE(5)];
        const payload = rest.subarray(9, size);
        rest = rest.subarray(size);
        if (type === 1) called({ socket, id, number: ++number });
        if (type === 4 && (flags & 1) === 0 && settings) socket.write(frame(4, 1, 0));
        if (type !== 6 || (flags & 1) !== 0) continue;
        pings++;
        if (pongs) socket.write(frame(6, 1, 0, payload));
      }
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(async () => {
    for (const socket of sockets) socket.destroy();
    server.close();
    await once(server, 'close');
  });
  return {
    url: `grpc://127.0.0.1:${(server.address() as AddressInfo).port}`,
    open: () => sockets.size,
    pings: () => pings,
  };
}
