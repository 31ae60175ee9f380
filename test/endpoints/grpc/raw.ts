/** Misbehaving clients: calls of `node:http2` with arbitrary bytes, and raw sockets for frames. */

import {
  connect as connectHttp2,
  constants,
  type ClientHttp2Session,
  type ClientSessionOptions,
  type ClientHttp2Stream,
} from 'node:http2';
import { connect, type Socket } from 'node:net';
import type { GrpcEndpoint } from '../../../src/endpoints/grpc/serve.js';
import type { Context } from '../../support/harness.js';

/** The outcome of a call. */
export interface RawAnswer {
  /** The status of HTTP. */
  readonly http: number | undefined;
  /** The status of gRPC, of trailers or of headers alone. */
  readonly status: number | undefined;
  readonly text: string;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body: Buffer;
}

/** A message with a prefix. */
export function framed(message: Uint8Array, flag = 0, size: number = message.length): Buffer {
  const prefix = Buffer.alloc(5);
  prefix[0] = flag;
  prefix.writeUInt32BE(size, 1);
  return Buffer.concat([prefix, message]);
}

/** A connection, which is closed after the test. */
export function session(
  t: Context,
  { address }: Pick<GrpcEndpoint, 'address'>,
  options: ClientSessionOptions = {},
): ClientHttp2Session {
  const made = connectHttp2(`http://${address.host}:${address.port}`, options);
  made.on('error', () => undefined);
  t.after(() => {
    made.destroy();
    return Promise.resolve();
  });
  return made;
}

const infer = '/inference.GRPCInferenceService/ModelInfer';

/** Begins a call. */
export function open(
  client: ClientHttp2Session,
  headers: Record<string, string | string[]> = {},
): ClientHttp2Stream {
  const stream = client.request({
    ':method': 'POST',
    ':path': infer,
    'content-type': 'application/grpc',
    te: 'trailers',
    ...headers,
  });
  stream.on('error', () => undefined);
  return stream;
}

/** The answer to a call. */
export function answerOf(stream: ClientHttp2Stream): Promise<RawAnswer> {
  return new Promise((resolve) => {
    let headers: Record<string, unknown> = {};
    let trailers: Record<string, unknown> = {};
    const chunks: Buffer[] = [];
    stream.on('response', (given: Record<string, unknown>) => {
      headers = given;
    });
    stream.on('trailers', (given: Record<string, unknown>) => {
      trailers = given;
    });
    stream.on('data', (chunk: Buffer) => chunks.push(chunk));
    stream.on('close', () => {
      const all = { ...headers, ...trailers };
      const status = all['grpc-status'];
      const message = all['grpc-message'];
      resolve({
        http: typeof headers[':status'] === 'number' ? headers[':status'] : undefined,
        status: status === undefined ? undefined : Number(status),
        text: typeof message === 'string' ? decodeURIComponent(message) : '',
        headers,
        body: Buffer.concat(chunks),
      });
    });
  });
}

/** Makes a call with these bytes. */
export function ask(
  client: ClientHttp2Session,
  body: Uint8Array,
  headers: Record<string, string | string[]> = {},
): Promise<RawAnswer> {
  const stream = open(client, headers);
  const answer = answerOf(stream);
  stream.end(body);
  return answer;
}

/** A raw socket to an endpoint. */
export function socketOf(t: Context, { address }: GrpcEndpoint): Socket {
  const socket = connect(address.port, address.host);
  socket.on('error', () => undefined);
  socket.resume();
  t.after(() => {
    socket.destroy();
    return Promise.resolve();
  });
  return socket;
}

/** Resolves when a socket has ended. */
export function closed(socket: Socket): Promise<void> {
  return new Promise((resolve) => {
    if (socket.destroyed) resolve();
    else
      socket.once('close', () => {
        resolve();
      });
  });
}

/** A frame of HTTP/2. */
export function frame(
  type: number,
  flags: number,
  stream: number,
  payload: Uint8Array = Buffer.alloc(0),
): Buffer {
  const bytes = Buffer.alloc(9);
  bytes.writeUIntBE(payload.length, 0, 3);
  bytes[3] = type;
  bytes[4] = flags;
  bytes.writeUInt32BE(stream, 5);
  return Buffer.concat([bytes, payload]);
}

/** The headers of a ModelInfer call in HPACK, without tables. */
export function headerBlock(): Buffer {
  const headers: readonly (readonly [string, string])[] = [
    [':method', 'POST'],
    [':scheme', 'http'],
    [':path', infer],
    [':authority', 'x'],
    ['content-type', 'application/grpc'],
  ];
  return Buffer.concat(
    headers.flatMap(([name, value]) => [
      Buffer.from([0, name.length]),
      Buffer.from(name),
      Buffer.from([value.length]),
      Buffer.from(value),
    ]),
  );
}

/** The preface of every connection. */
export const preface: Buffer = Buffer.concat([
  Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'),
  frame(4, 0, 0),
]);

export { constants };
