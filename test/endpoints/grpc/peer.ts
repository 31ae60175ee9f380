/** A client of frames: it sends what it is told, and notes the frames that it receives. */

import type { Socket } from 'node:net';
import type { GrpcEndpoint } from '../../../src/endpoints/grpc/serve.js';
import { FrameReader, frameType } from '../../../src/protocol/http2/frames.js';
import { defaultWindow } from '../../../src/protocol/http2/settings.js';
import { streamWindow } from '../../../src/endpoints/grpc/http2/stream.js';
import { HpackDecoder } from '../../../src/protocol/http2/hpack-decoder.js';
import { until, type Context } from '../../support/harness.js';
import { frame, headerBlock, preface, socketOf } from './raw.js';

/** A received frame. */
export interface Received {
  readonly type: number;
  readonly flags: number;
  readonly id: number;
  readonly payload: Buffer;
}

/** See the head of this file. */
export class Peer {
  readonly socket: Socket;
  readonly frames: Received[] = [];
  readonly #decoder: HpackDecoder = new HpackDecoder(1 << 16);

  constructor(
    t: Context,
    endpoint: GrpcEndpoint,
    opening: Buffer = Buffer.concat([preface, frame(4, 1, 0)]),
  ) {
    this.socket = socketOf(t, endpoint);
    let head = { type: 0, flags: 0, id: 0 };
    const reader = new FrameReader({
      begin(_length, type, flags, id) {
        head = { type, flags, id };
        return true;
      },
      payload: (bytes) => {
        this.frames.push({ ...head, payload: Buffer.from(bytes) });
      },
      end: () => undefined,
    });
    this.socket.on('data', (chunk: Buffer) => {
      reader.push(chunk);
    });
    this.socket.write(opening);
  }

  send(...frames: readonly Buffer[]): void {
    this.socket.write(Buffer.concat(frames));
  }

  /** Sends a call with all its bytes. */
  call(id: number, body: Buffer): void {
    this.send(frame(1, 4, id, headerBlock()), frame(0, 1, id, body));
  }

  /** Sends a call with many bytes, as the windows of the server permit. */
  async upload(id: number, body: Buffer): Promise<void> {
    this.send(frame(1, 4, id, headerBlock()));
    const others = this.#uploaded;
    const room = (sent: number): number =>
      Math.min(this.window(id, streamWindow) - sent, this.window(0, defaultWindow) - others - sent);
    let sent = 0;
    while (sent < body.length) {
      const from = sent;
      await until(() => room(from) > 0);
      const size = Math.min(100_000, room(from), body.length - from);
      sent += size;
      this.send(frame(0, sent === body.length ? 1 : 0, id, body.subarray(from, sent)));
    }
    this.#uploaded += sent;
  }

  /** The window of a stream, or of the connection, had nothing been sent. */
  window(id: number, first: number): number {
    return this.of(frameType.windowUpdate, id).reduce(
      (sum, { payload }) => sum + payload.readUInt32BE(0),
      first,
    );
  }

  #uploaded = 0;

  /** The frames of a type, of all streams or of one. */
  of(type: number, id?: number): Received[] {
    return this.frames.filter((one) => one.type === type && (id === undefined || one.id === id));
  }

  /** The bytes of data that a stream has received. */
  bytesOf(id: number): number {
    return this.of(frameType.data, id).reduce((sum, { payload }) => sum + payload.length, 0);
  }

  /** The code with which a stream was reset; undefined: it was not. */
  resetOf(id: number): number | undefined {
    return this.of(frameType.resetStream, id)[0]?.payload.readUInt32BE(0);
  }

  /** The code and the text with which the server went away; undefined: it did not. */
  away(): { readonly code: number; readonly text: string } | undefined {
    const payload = this.of(frameType.goAway).at(-1)?.payload;
    return payload && { code: payload.readUInt32BE(4), text: payload.toString('utf8', 8) };
  }

  /** Whether a stream has ended. */
  hasEnded(id: number): boolean {
    return this.frames.some(({ type, flags, id: other }) => other === id && type <= 1 && (flags & 1) !== 0);
  }

  /** The header lists of a stream. All blocks of the connection are decoded, once. */
  lists(id: number): Record<string, string>[] {
    for (const one of this.of(frameType.headers)) {
      if (this.#decoded.has(one)) continue;
      const fields = this.#decoder.decode(one.payload) ?? [];
      this.#decoded.set(one, Object.fromEntries(fields.map(({ name, value }) => [name, value])));
    }
    return this.of(frameType.headers, id).map((one) => this.#decoded.get(one) ?? {});
  }

  readonly #decoded: Map<Received, Record<string, string>> = new Map();
}
