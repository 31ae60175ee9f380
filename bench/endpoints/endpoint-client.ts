/** A cheap client: it writes requests as bytes, and counts the bytes of answers. */
import { connect, type Socket } from 'node:net';

/** The requests, and their concurrency. */
export interface Load {
  readonly port: number;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Bodies of equal size, sent in turn. */
  readonly bodies: readonly Buffer[];
  /** Connections, each with one request under way. */
  readonly atOnce: number;
}

/** The measured rate and latency. */
export interface Pace {
  readonly requests: number;
  /** Requests a second. */
  readonly rate: number;
  readonly p99Ms: number;
}

function bytesOf({ path, headers }: Load, body: Buffer): Buffer {
  const lines = Object.entries({ Host: 'localhost', ...headers, 'Content-Length': String(body.length) });
  const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join('');
  return Buffer.concat([Buffer.from(`POST ${path} HTTP/1.1\r\n${head}\r\n`), body]);
}

/** The size of the first answer, which all other answers must equal. */
function answerSize(text: string): number | undefined {
  const end = text.indexOf('\r\n\r\n');
  if (end < 0) return undefined;
  const [, status] = /^HTTP\/1\.1 (\d+)/.exec(text) ?? [];
  const [, length] = /\r\ncontent-length: (\d+)/i.exec(text) ?? [];
  if (status !== '200' || length === undefined) throw new Error(`unexpected answer: ${text.slice(0, 500)}`);
  return end + 4 + Number(length);
}

/**
 * Runs one connection, which sends its next request as soon as it is answered, until `end`. Resolves with the
 * latencies.
 */
function ask(load: Load, requests: readonly Buffer[], first: number, end: number): Promise<number[]> {
  return new Promise((resolve, reject) => {
    let turn = first;
    const next = (): Buffer => requests[turn++ % requests.length] ?? Buffer.alloc(0);
    const latencies: number[] = [];
    let size: number | undefined;
    let head = '';
    let got = 0;
    let sent = 0;
    const socket: Socket = connect(load.port, '127.0.0.1', () => {
      socket.setNoDelay(true);
      sent = performance.now();
      socket.write(next());
    });
    socket.on('error', reject);
    socket.on('data', (chunk: Buffer) => {
      got += chunk.length;
      if (size === undefined) {
        head += chunk.toString('latin1');
        size = answerSize(head);
      }
      if (size === undefined || got < size) return;
      if (got > size) {
        reject(new Error(`an answer has ${got} bytes, and the first one ${size}`));
        return;
      }
      got = 0;
      const now = performance.now();
      latencies.push(now - sent);
      if (now > end) {
        socket.destroy();
        resolve(latencies);
        return;
      }
      sent = now;
      socket.write(next());
    });
  });
}

/** Sends requests on all connections for `windowMs`. */
export async function connections(load: Load, windowMs: number): Promise<Pace> {
  const requests = load.bodies.map((body) => bytesOf(load, body));
  const start = performance.now();
  const lists = await Promise.all(
    Array.from({ length: load.atOnce }, (_, i) => ask(load, requests, i, start + windowMs)),
  );
  const seconds = (performance.now() - start) / 1000;
  const latencies = lists.flat().sort((a, b) => a - b);
  const p99Ms = latencies[Math.floor(latencies.length * 0.99)] ?? 0;
  return { requests: latencies.length, rate: latencies.length / seconds, p99Ms };
}
