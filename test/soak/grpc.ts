/**
 * The soak over gRPC: calls on kept connections, unary and streaming, of which one in twenty is damaged, cut off or
 * given up.
 *
 *     npm test -- soak-grpc [--seconds 120 --requests 1000000 --out build/soak-grpc --seed 1]
 *
 * Ends when as many calls were made or the time is over. Fails if an honest call does not get the status OK, if
 * memory grows over the last 80 %, or if handles, threads or files are left.
 */

import { connect as connectHttp2, constants, type ClientHttp2Session } from 'node:http2';
import { connect } from 'node:net';
import { parseArgs } from 'node:util';
import { gzipSync } from 'node:zlib';
import { createServer } from '../../src/index.js';
import { Messages } from '../../src/protocol/protobuf/messages.js';
import { serveGrpc } from '../../src/endpoints/grpc/serve.js';
import { answerOf, frame, framed, open, preface } from '../endpoints/grpc/raw.js';
import { Dice } from '../requests/dice.js';
import { allocatorIsSteady } from './allocator.js';
import { report } from './report.js';
import { sample, type Sample } from './sample.js';

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '120' },
    requests: { type: 'string', default: '1000000' },
    out: { type: 'string', default: 'build/soak-grpc' },
    seed: { type: 'string', default: '1' },
  },
});
const seconds = Number(values.seconds);
const requests = Number(values.requests);
if (!(seconds > 0) || !(requests >= 1000) || !globalThis.gc) {
  console.error('soak-grpc: needs --seconds above 0, --requests of 1000 or more, and node --expose-gc');
  process.exit(2);
}

if (!allocatorIsSteady()) process.exit();

const tensor = { data_type: 'TYPE_FP32', dims: [-1] } as const;
const both = { max_batch_size: 0, input: [{ name: 'x', ...tensor }], output: [{ name: 'y', ...tensor }] };
const server = await createServer({
  models: {
    m: {
      config: both,
      execute: (batch) => batch.map(({ inputs: { x } }) => ({ y: x ?? new Float32Array(0) })),
    },
    many: {
      config: { ...both, model_transaction_policy: { decoupled: true } },
      execute: (batch) =>
        batch.map(async function* () {
          for (let i = 0; i < 5; i++) {
            await Promise.resolve();
            yield { y: Float32Array.of(i) };
          }
        }),
    },
  },
});
const endpoint = await serveGrpc(server, {
  port: 0,
  maxRequestBytes: 1 << 20,
  responseCompression: 'low',
  // With this limit connections are checked every second.
  requestTimeoutMs: 8000,
});
const { host, port } = endpoint.address;

const messages = new Messages('inference', 1 << 18);
function request(model: string, count: number, bytes = 4 * count): Buffer {
  return messages.write('ModelInferRequest', {
    model_name: model,
    inputs: [{ name: 'x', datatype: 'FP32', shape: [count] }],
    raw_input_contents: [Buffer.alloc(bytes)],
  });
}

const path = (rpc: string): Record<string, string> => ({ ':path': `/inference.GRPCInferenceService/${rpc}` });
const unary = path('ModelInfer');
const streaming = path('ModelStreamInfer');
const small = request('m', 16);
const large = request('m', 40_000);

type Made = readonly [headers: Record<string, string>, body: Buffer];
const good: readonly Made[] = [
  [unary, framed(small)],
  [{ ...unary, 'grpc-encoding': 'gzip' }, framed(gzipSync(small), 1)],
  [{ ...unary, 'grpc-accept-encoding': 'gzip' }, framed(request('m', 1000))],
  [{ ...unary, 'grpc-timeout': '1M' }, framed(large)],
  [streaming, Buffer.concat(Array.from({ length: 10 }, () => framed(small)))],
  [streaming, Buffer.concat([framed(request('many', 1)), framed(small), framed(request('none', 1))])],
  [path('ModelConfig'), framed(messages.write('ModelConfigRequest', { name: 'm' }))],
  [path('ModelStatistics'), framed(Buffer.alloc(0))],
];

/** Bad calls, and the expected outcome: a status that is not OK, or an end by this side. */
const bad: readonly (readonly [...Made, 'answered' | 'reset' | 'cut'])[] = [
  [unary, framed(Buffer.from('ffff', 'hex')), 'answered'],
  [unary, framed(request('m', 16, 63)), 'answered'],
  [unary, framed(request('none', 16)), 'answered'],
  [unary, framed(request('many', 1)), 'answered'],
  [unary, framed(small, 7), 'answered'],
  [unary, framed(small, 1), 'answered'],
  [unary, framed(small, 0, 2 ** 32 - 1), 'answered'],
  [unary, framed(small).subarray(0, -20), 'answered'],
  [unary, Buffer.concat([framed(small), framed(small)]), 'answered'],
  [unary, Buffer.alloc(0), 'answered'],
  [{ ...unary, 'grpc-encoding': 'gzip' }, framed(gzipSync(Buffer.alloc(8 << 20)), 1), 'answered'],
  [{ ...unary, 'grpc-encoding': 'gzip' }, framed(Buffer.from('no gzip'), 1), 'answered'],
  [{ ...unary, 'grpc-encoding': 'br' }, framed(small), 'answered'],
  [{ ...unary, 'grpc-timeout': 'soon' }, framed(small), 'answered'],
  [path('Nothing'), framed(small), 'answered'],
  [streaming, framed(Buffer.from('ffff', 'hex')), 'answered'],
  [unary, framed(small), 'reset'],
  [unary, framed(large).subarray(0, 100_000), 'reset'],
  [streaming, Buffer.concat(Array.from({ length: 300 }, () => framed(small))), 'reset'],
  [streaming, framed(request('many', 1)), 'reset'],
  [unary, framed(large), 'cut'],
  [streaming, Buffer.concat(Array.from({ length: 50 }, () => framed(small))), 'cut'],
];

/** Bytes that are not HTTP/2, written to a connection. */
const broken: readonly Buffer[] = [
  Buffer.from('GET / HTTP/1.1\r\n\r\n'),
  preface.subarray(0, 20),
  Buffer.concat([preface, frame(1, 4, 1, Buffer.from('ffffffffff', 'hex'))]),
  Buffer.concat([preface, frame(0, 0, 1, Buffer.alloc(100))]),
  Buffer.concat([preface, frame(8, 0, 0, Buffer.alloc(4))]),
];

const counts = { sent: 0, damaged: 0, wrong: 0 };
const begin = performance.now();
const isOver = (): boolean => counts.sent >= requests || performance.now() - begin > seconds * 1000;

function connected(): ClientHttp2Session {
  return connectHttp2(`http://${host}:${port}`).on('error', () => undefined);
}

async function breaks(bytes: Buffer): Promise<void> {
  await new Promise<void>((resolve) => {
    const socket = connect(port, host, () => {
      socket.write(bytes, () => {
        setImmediate(() => socket.destroy());
      });
    });
    socket
      .on('error', () => undefined)
      .on('close', () => {
        resolve();
      });
    socket.resume();
  });
}

async function client(dice: Dice, isRoundOver: () => boolean): Promise<void> {
  let session = connected();
  while (!isRoundOver()) {
    counts.sent++;
    const damaged = bad[dice.below(20 * bad.length)];
    if (damaged === undefined) {
      const [headers, body] = good[dice.below(good.length)] ?? [unary, Buffer.alloc(0)];
      const stream = open(session, headers);
      const answer = answerOf(stream);
      stream.end(body);
      if ((await answer).status !== 0) counts.wrong++;
      continue;
    }
    counts.damaged++;
    const [headers, body, then] = damaged;
    const stream = open(session, headers);
    const answer = answerOf(stream);
    stream.end(body);
    if (then === 'answered') {
      const { status } = await answer;
      if (status === undefined || status === 0) counts.wrong++;
      continue;
    }
    // Sometimes before anything was sent, sometimes during the answer.
    if (dice.below(2) === 0) await new Promise((resolve) => setImmediate(resolve));
    if (then === 'reset') stream.close(constants.NGHTTP2_CANCEL);
    else {
      session.destroy();
      session = connected();
      if (dice.below(2) === 0) await breaks(broken[dice.below(broken.length)] ?? preface);
    }
    await answer;
    // A server ends connections on which too many calls are reset.
    if (session.destroyed || session.closed) session = connected();
  }
  session.destroy();
}

/** Waits for the endpoint to end the connections of clients that broke the rules, half a minute at most. */
async function settled(): Promise<void> {
  const isOpen = (): boolean => process.getActiveResourcesInfo().includes('TCPSocketWrap');
  for (let i = 0; i < 300 && isOpen(); i++) await new Promise((resolve) => setTimeout(resolve, 100));
}

const samples: Sample[] = [];
const clients = 32;
for (let round = 1; !isOver(); round++) {
  const most = (requests / 100) * round;
  const end = begin + seconds * 10 * round;
  const isRoundOver = (): boolean => counts.sent >= most || performance.now() > end;
  const seed = Number(values.seed) + round * clients;
  await Promise.all(Array.from({ length: clients }, (_, i) => client(new Dice(seed + i), isRoundOver)));
  if (round % 10 === 1 || isOver()) await settled();
  samples.push(await sample(counts.sent, begin));
}
await endpoint.close();
await server.close();

const failed = await report(samples, values.out, {
  name: 'calls over gRPC',
  unit: 1e6,
  unitName: 'million calls',
});
// Give the model's thread time to end. Then handles of the endpoint or its connections would keep the process
// alive.
await new Promise((resolve) => setTimeout(resolve, 100));
const left = process.getActiveResourcesInfo().filter((kind) => /TCP|Timeout/.test(kind));
console.log(
  `${counts.sent} calls, ${counts.damaged} of them damaged, in ${((performance.now() - begin) / 1000).toFixed(0)} s, seed ${values.seed}; ${counts.wrong} wrong answers; left after close: ${left.join(', ') || 'nothing'}`,
);
process.exitCode = failed || counts.wrong > 0 || left.length > 0 ? 1 : 0;
