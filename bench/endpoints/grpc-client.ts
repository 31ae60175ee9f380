/**
 * A cheap gRPC client: it writes prepared HTTP/2 frames, and counts the frames of answers. It does not decode
 * headers: an answer whose bytes differ from the first answer's is an error.
 */
import { connect, type Socket } from 'node:net';
import type { Pace } from './endpoint-client.js';

/** The requests, and their concurrency. */
export interface GrpcLoad {
  readonly port: number;
  readonly path: string;
  /** A message, without its prefix. */
  readonly message: Buffer;
  readonly connections: number;
  /** Calls under way on each connection. */
  readonly streams: number;
}

const preface = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
const type = { data: 0, headers: 1, reset: 3, settings: 4, ping: 6, goaway: 7, windowUpdate: 8 } as const;
const flag = { endStream: 1, endHeaders: 4, ack: 1 } as const;
/** The flow-control window that the server gets. */
const window = 2 ** 31 - 1;
const moreRoomAt = 64 << 20;
const frameBytes = 16 << 10;

function frame(kind: number, flags: number, stream: number, payload: Uint8Array): Buffer {
  const bytes = Buffer.alloc(9 + payload.length);
  bytes.writeUIntBE(payload.length, 0, 3);
  bytes[3] = kind;
  bytes[4] = flags;
  bytes.writeUInt32BE(stream, 5);
  bytes.set(payload, 9);
  return bytes;
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

/** A header in HPACK as a literal without indexing. */
function literal(name: string, value: string): Buffer {
  const part = (text: string): Buffer => Buffer.concat([Buffer.from([text.length]), Buffer.from(text)]);
  return Buffer.concat([Buffer.from([0]), part(name), part(value)]);
}

function requestOf({ path, message }: GrpcLoad): Buffer {
  const headers = Buffer.concat([
    literal(':method', 'POST'),
    literal(':scheme', 'http'),
    literal(':path', path),
    literal(':authority', 'localhost'),
    literal('content-type', 'application/grpc'),
    literal('te', 'trailers'),
  ]);
  const prefix = Buffer.concat([Buffer.alloc(1), uint32(message.length)]);
  const body = Buffer.concat([prefix, message]);
  const parts = [frame(type.headers, flag.endHeaders, 0, headers)];
  for (let at = 0; at < body.length; at += frameBytes) {
    const part = body.subarray(at, at + frameBytes);
    parts.push(frame(type.data, at + frameBytes >= body.length ? flag.endStream : 0, 0, part));
  }
  return Buffer.concat(parts);
}

/** A call that waits for its answer. */
interface Call {
  sent: number;
  bytes: number;
}

/** A connection whose calls are each followed by another one until `end`. */
class Connection {
  readonly #load: GrpcLoad;
  readonly #request: Buffer;
  /** The offsets of the request's frames. */
  readonly #frames: readonly number[];
  readonly #end: number;
  readonly #socket: Socket;
  readonly #calls: Map<number, Call> = new Map();
  readonly #latencies: number[] = [];
  #rest: Buffer = Buffer.alloc(0);
  #next = 1;
  #answerBytes = -1;
  #unacknowledged = 0;
  readonly #resolve: (latencies: number[]) => void;

  constructor(
    load: GrpcLoad,
    end: number,
    resolve: (latencies: number[]) => void,
    reject: (error: Error) => void,
  ) {
    this.#load = load;
    this.#request = requestOf(load);
    const frames: number[] = [];
    for (let at = 0; at < this.#request.length; at += 9 + this.#request.readUIntBE(at, 3)) frames.push(at);
    this.#frames = frames;
    this.#end = end;
    this.#resolve = resolve;
    this.#socket = connect(load.port, '127.0.0.1', () => {
      this.#start();
    });
    this.#socket.on('error', reject);
    this.#socket.on('data', (chunk: Buffer) => {
      try {
        this.#read(chunk);
      } catch (error) {
        this.#socket.destroy();
        reject(error instanceof Error ? error : new Error(String(error)));
      }
    });
  }

  #start(): void {
    const socket = this.#socket;
    socket.setNoDelay(true);
    // SETTINGS_INITIAL_WINDOW_SIZE
    const settings = Buffer.concat([Buffer.from([0, 4]), uint32(window)]);
    socket.write(
      Buffer.concat([
        preface,
        frame(type.settings, 0, 0, settings),
        frame(type.windowUpdate, 0, 0, uint32(window - 65_535)),
      ]),
    );
    for (let i = 0; i < this.#load.streams; i++) this.#ask();
  }

  #ask(): void {
    const id = this.#next;
    this.#next += 2;
    const bytes = Buffer.from(this.#request);
    for (const at of this.#frames) bytes.writeUInt32BE(id, at + 5);
    this.#calls.set(id, { sent: performance.now(), bytes: 0 });
    this.#socket.write(bytes);
  }

  #read(chunk: Buffer): void {
    const bytes = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    let at = 0;
    this.#socket.cork();
    while (bytes.length - at >= 9) {
      const size = bytes.readUIntBE(at, 3);
      if (bytes.length - at < 9 + size) break;
      this.#take(bytes[at + 3] ?? 0, bytes[at + 4] ?? 0, bytes.readUInt32BE(at + 5), size);
      at += 9 + size;
    }
    this.#socket.uncork();
    this.#rest = bytes.subarray(at);
  }

  #take(kind: number, flags: number, id: number, size: number): void {
    if (kind === type.settings && (flags & flag.ack) === 0) {
      this.#socket.write(frame(type.settings, flag.ack, 0, Buffer.alloc(0)));
    } else if (kind === type.reset || kind === type.goaway) throw new Error('the server has ended a call');
    const call = this.#calls.get(id);
    if (call === undefined) return;
    if (kind === type.data) {
      call.bytes += size;
      this.#unacknowledged += size;
      if (this.#unacknowledged > moreRoomAt) {
        this.#socket.write(frame(type.windowUpdate, 0, 0, uint32(this.#unacknowledged)));
        this.#unacknowledged = 0;
      }
    }
    if ((flags & flag.endStream) !== 0 && (kind === type.headers || kind === type.data))
      this.#answered(id, call);
  }

  #answered(id: number, { bytes, sent }: Call): void {
    if (this.#answerBytes < 0) this.#answerBytes = bytes;
    if (bytes !== this.#answerBytes || bytes === 0)
      throw new Error(`an answer has ${bytes} bytes, and the first one ${this.#answerBytes}`);
    this.#calls.delete(id);
    const now = performance.now();
    this.#latencies.push(now - sent);
    if (now < this.#end) this.#ask();
    else if (this.#calls.size === 0) {
      this.#socket.destroy();
      this.#resolve(this.#latencies);
    }
  }
}

function ask(load: GrpcLoad, end: number): Promise<number[]> {
  return new Promise((resolve, reject) => {
    void new Connection(load, end, resolve, reject);
  });
}

/** Makes calls on all connections for `windowMs`. */
export async function grpcConnections(load: GrpcLoad, windowMs: number): Promise<Pace> {
  const start = performance.now();
  const lists = await Promise.all(
    Array.from({ length: load.connections }, () => ask(load, start + windowMs)),
  );
  const seconds = (performance.now() - start) / 1000;
  const latencies = lists.flat().sort((a, b) => a - b);
  const p99Ms = latencies[Math.floor(latencies.length * 0.99)] ?? 0;
  return { requests: latencies.length, rate: latencies.length / seconds, p99Ms };
}
