/** Every trace that an endpoint or a call begins is ended, once, whatever becomes of the request. */

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { addon } from '../../src/addon/load.js';
import { connectServer } from '../../src/client/index.js';
import { createServer, type GivenModel } from '../../src/index.js';
import { until, type Context } from '../support/harness.js';
import { temporaryFolder } from '../support/repository.js';
import { endpointOf as grpcOf } from './grpc/harness.js';
import { endpointOf as httpOf, open } from './http/harness.js';

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
const input = [{ name: 'n', data_type: 'TYPE_FP32', dims: [1] }] as const;
const output = [{ name: 'y', data_type: 'TYPE_FP32', dims: [1] }] as const;
const y = Float32Array.of(1);

const models: Record<string, GivenModel> = {
  m: {
    config: { max_batch_size: 0, input, output },
    execute: async (requests) => {
      await pause(4);
      return requests.map(({ inputs: { n } }) => {
        if (((n as { data: Float32Array }).data[0] ?? 0) < 0) throw new Error('no');
        return { y };
      });
    },
  },
  s: {
    config: { max_batch_size: 0, input, output, model_transaction_policy: { decoupled: true } },
    execute: (requests) =>
      requests.map(async function* () {
        for (let i = 0; i < 5; i++) {
          await pause(1);
          yield { y };
        }
      }),
  },
};

/** Watches the traces of the next server of this process. */
function watch(t: Context): {
  readonly begun: () => number;
  readonly open: Set<number>;
  readonly twice: number[];
} {
  const open = new Set<number>();
  const twice: number[] = [];
  let begun = 0;
  const native = addon();
  const real = native.createServer.bind(native);
  native.createServer = (...options) => {
    const engine = real(...options);
    if (engine === undefined) return engine;
    const [sample, end] = [engine.sampleTrace.bind(engine), engine.endTrace.bind(engine)];
    // Their class has them as constants.
    Object.defineProperties(engine, {
      sampleTrace: {
        value: (...asked: Parameters<typeof sample>) => {
          const id = sample(...asked);
          if (id > 0) {
            open.add(id);
            begun++;
          }
          return id;
        },
      },
      endTrace: {
        value: (id: number) => {
          if (!open.delete(id)) twice.push(id);
          end(id);
        },
      },
    });
    return engine;
  };
  t.after(() => {
    native.createServer = real;
    return Promise.resolve();
  });
  return { begun: () => begun, open, twice };
}

test('clients that leave, requests that fail or are cancelled, and streams that are left', async (t) => {
  const { begun, open: notEnded, twice } = watch(t);
  const file = join(await temporaryFolder(t), 'trace.json');
  const server = await createServer({ models, traceConfig: { level: 'TIMESTAMPS', rate: 1, file } });
  t.after(() => server.close({ timeoutMs: 0 }));
  const http = await httpOf(t, server);
  const { address } = await grpcOf(t, server);
  const remote = await connectServer(`grpc://${address.host}:${address.port}`);
  t.after(() => remote.close());
  const remoteStream = await remote.model('s');
  const infer = (n: number): string =>
    JSON.stringify({ inputs: [{ name: 'n', datatype: 'FP32', shape: [1], data: [n] }] });
  const leave = async (path: string, body: string, ms: number): Promise<void> => {
    const socket = open(t, http);
    socket.on('error', () => undefined).resume();
    socket.write(
      `POST /v2/models/${path} HTTP/1.1\r\nHost: x\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    );
    await pause(ms);
    socket.destroy();
  };
  const drain = async (responses: AsyncIterable<unknown>, most: number): Promise<void> => {
    let count = 0;
    for await (const _ of responses) if (++count > most) break;
  };
  const jobs: Promise<unknown>[] = [];
  const add = (...some: readonly Promise<unknown>[]): void => {
    jobs.push(...some.map((one) => one.catch(() => undefined)));
  };
  // On a busy machine many leave before their trace begins.
  for (let i = 0; i < 60 || (i < 3000 && begun() <= 200); i++) {
    const ms = 1 + (i % 12);
    const n = Float32Array.of((i % 3) - 1);
    const signal = AbortSignal.timeout(ms);
    add(leave('m/infer', infer((i % 3) - 1), ms), leave('m/infer', '{"inputs":[]}', ms));
    add(leave('s/generate_stream', '{"n":1}', ms), leave('s/generate', '{"n":1}', ms));
    add(leave('m/generate', '{"n":-1}', ms));
    add(remote.infer('m', { n }, { signal }), drain(remoteStream.stream({ n }, { signal }), i % 7));
    add(server.infer('m', { n }, { id: 'x', signal }), drain(server.stream('s', { n }, { id: 'y' }), i % 7));
    if (i % 10 === 0) await pause(5);
  }
  await Promise.all(jobs);
  await until(() => notEnded.size === 0);
  assert.deepEqual(twice, []);
  assert.ok(begun() > 200, `only ${begun()} traces`);
});
