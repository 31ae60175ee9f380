/**
 * The soak over HTTP: requests on kept connections, of which one in twenty is damaged, cut off or given up.
 *
 *     npm test -- soak-http [--seconds 120 --requests 1000000 --out build/soak-http --seed 1]
 *
 * Ends when as many requests were sent or the time is over. Fails if an honest request is not answered with 200, if
 * memory grows over the last 80 %, or if handles, threads or files are left.
 */

import { connect, type Socket } from 'node:net';
import { parseArgs } from 'node:util';
import { gzipSync } from 'node:zlib';
import { createServer } from '../../src/index.js';
import { serveHttp } from '../../src/endpoints/http/serve.js';
import { Dice } from '../requests/dice.js';
import { allocatorIsSteady } from './allocator.js';
import { report } from './report.js';
import { sample, type Sample } from './sample.js';

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '120' },
    requests: { type: 'string', default: '1000000' },
    out: { type: 'string', default: 'build/soak-http' },
    seed: { type: 'string', default: '1' },
  },
});
const seconds = Number(values.seconds);
const requests = Number(values.requests);
if (!(seconds > 0) || !(requests >= 1000) || !globalThis.gc) {
  console.error('soak-http: needs --seconds above 0, --requests of 1000 or more, and node --expose-gc');
  process.exit(2);
}

if (!allocatorIsSteady()) process.exit();

const tensor = { data_type: 'TYPE_FP32', dims: [-1] } as const;
const server = await createServer({
  models: {
    m: {
      config: { max_batch_size: 0, input: [{ name: 'x', ...tensor }], output: [{ name: 'y', ...tensor }] },
      execute: (batch) => batch.map(({ inputs: { x } }) => ({ y: x ?? new Float32Array(0) })),
    },
  },
});
const endpoint = await serveHttp(server, { port: 0, maxRequestBytes: 1 << 20 });
const { host, port } = endpoint.address;

function message(path: string, body: string | Buffer, more = '', method = 'POST'): Buffer {
  const bytes = Buffer.from(body);
  const head = `${method} ${path} HTTP/1.1\r\nHost: x\r\n${more}Content-Length: ${bytes.length}\r\n\r\n`;
  return Buffer.concat([Buffer.from(head), bytes]);
}

const infer = '/v2/models/m/infer';
function input(count: number, more: object): string {
  return JSON.stringify({ inputs: [{ name: 'x', datatype: 'FP32', shape: [count], ...more }] });
}
function binary(count: number): Buffer {
  const json = input(count, { parameters: { binary_data_size: 4 * count } });
  const header = `Inference-Header-Content-Length: ${json.length}\r\n`;
  return message(infer, Buffer.concat([Buffer.from(json), Buffer.alloc(4 * count)]), header);
}

const small = input(16, { data: Array.from({ length: 16 }, (_, i) => i) });
const good: readonly Buffer[] = [
  message(infer, small),
  message(infer, small, 'Accept-Encoding: gzip\r\n'),
  message(infer, gzipSync(small), 'Content-Encoding: gzip\r\n'),
  message('/v2/models/m/generate', '{"x":[1,2,3]}'),
  message('/v2/models/m/config', '', '', 'GET'),
  binary(1000),
  binary(40_000),
];

/** Bad requests, and the expected outcome: an answer, or the end of the connection by either side. */
const bad: readonly (readonly [Buffer, 'answered' | 'ended' | 'cut'])[] = [
  [message(infer, '{"inputs":['), 'answered'],
  [message(infer, '['.repeat(5000)), 'answered'],
  [message(infer, input(1, { data: [1] }).replace('[1]}', '[1e400]}')), 'answered'],
  [message(infer, input(2, { parameters: { binary_data_size: 7 } })), 'answered'],
  [message(infer, small, 'Inference-Header-Content-Length: 9999\r\n'), 'answered'],
  [message(infer, gzipSync(Buffer.alloc(8 << 20)), 'Content-Encoding: gzip\r\n'), 'answered'],
  [message(infer, 'no gzip', 'Content-Encoding: gzip\r\n'), 'answered'],
  [message(infer, ' '.repeat((1 << 20) + 1)), 'answered'],
  [message('/v2/models/none/infer', small), 'answered'],
  [message('/v2/%2e%2e/', small), 'answered'],
  [message(infer, small, '', 'PUT'), 'answered'],
  [Buffer.from('\0\x01\r\n\r\n'), 'ended'],
  [message(infer, small, 'Content-Length: 3\r\n'), 'ended'],
  [message(infer, small, 'Transfer-Encoding: chunked\r\n'), 'ended'],
  [message(infer, small, `A: ${'a'.repeat(40_000)}\r\n`), 'ended'],
  [message(infer, small).subarray(0, -40), 'cut'],
  [binary(40_000).subarray(0, 100_000), 'cut'],
  [binary(40_000), 'cut'],
  [message(infer, small).subarray(0, 30), 'cut'],
  [message('/v2/models/m/generate_stream', '{"x":[1]}'), 'cut'],
  [Buffer.concat(Array.from({ length: 50 }, () => message(infer, small))), 'cut'],
];

const counts = { sent: 0, damaged: 0, wrong: 0 };
const begin = performance.now();
const isOver = (): boolean => counts.sent >= requests || performance.now() - begin > seconds * 1000;

/** The status of an answer that has arrived completely. */
function statusOf(bytes: Buffer): number | undefined {
  const end = bytes.indexOf('\r\n\r\n');
  if (end < 0) return undefined;
  const head = bytes.toString('latin1', 0, end);
  const [, length] = /\r\nContent-Length: (\d+)/i.exec(head) ?? [];
  return bytes.length >= end + 4 + Number(length) ? Number(head.slice(9, 12)) : undefined;
}

function open(): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, host, () => {
      resolve(socket.setNoDelay().on('error', () => undefined));
    }).once('error', reject);
  });
}

/** The status; undefined if the connection ended before. */
function ask(socket: Socket, bytes: Buffer): Promise<number | undefined> {
  return new Promise((resolve) => {
    let got: Buffer = Buffer.alloc(0);
    const done = (status: number | undefined): void => {
      socket.off('data', onData).off('close', onClose);
      resolve(status);
    };
    const onData = (chunk: Buffer): void => {
      got = got.length === 0 ? chunk : Buffer.concat([got, chunk]);
      const status = statusOf(got);
      if (status !== undefined) done(status);
    };
    const onClose = (): void => {
      done(undefined);
    };
    socket.on('data', onData).on('close', onClose);
    socket.write(bytes);
  });
}

async function client(dice: Dice, isRoundOver: () => boolean): Promise<void> {
  let socket = await open();
  while (!isRoundOver()) {
    counts.sent++;
    const damaged = bad[dice.below(20 * bad.length)];
    if (damaged === undefined) {
      const status = await ask(socket, good[dice.below(good.length)] ?? Buffer.alloc(0));
      if (status !== 200) counts.wrong++;
      continue;
    }
    counts.damaged++;
    const [bytes, then] = damaged;
    if (then === 'cut') await new Promise((resolve) => socket.write(bytes, resolve));
    else {
      const status = await ask(socket, bytes);
      if (status === undefined || status < 400) counts.wrong++;
    }
    if (then === 'answered') continue;
    socket.destroy();
    socket = await open();
  }
  socket.destroy();
}

const samples: Sample[] = [];
const clients = 32;
for (let round = 1; !isOver(); round++) {
  const most = (requests / 100) * round;
  const end = begin + seconds * 10 * round;
  const isRoundOver = (): boolean => counts.sent >= most || performance.now() > end;
  const seed = Number(values.seed) + round * clients;
  await Promise.all(Array.from({ length: clients }, (_, i) => client(new Dice(seed + i), isRoundOver)));
  samples.push(await sample(counts.sent, begin));
}
await endpoint.close();
await server.close();

const failed = await report(samples, values.out, {
  name: 'requests over HTTP',
  unit: 1e6,
  unitName: 'million requests',
});
// Give the model's thread time to end. Then handles of the endpoint or its connections would keep the process
// alive.
await new Promise((resolve) => setTimeout(resolve, 100));
const left = process.getActiveResourcesInfo().filter((kind) => /TCP|Timeout/.test(kind));
console.log(
  `${counts.sent} requests, ${counts.damaged} of them damaged, in ${((performance.now() - begin) / 1000).toFixed(0)} s, seed ${values.seed}; ${counts.wrong} wrong answers; left after close: ${left.join(', ') || 'nothing'}`,
);
process.exitCode = failed || counts.wrong > 0 || left.length > 0 ? 1 : 0;
