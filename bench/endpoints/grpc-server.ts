/** A process with one of the servers of grpc-endpoints.ts: `ours`, `bare` or `grpc-js`, and the name of a load. */
import { Server, ServerCredentials } from '@grpc/grpc-js';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer as createHttp2Server } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { serveGrpc } from '../../src/endpoints/grpc/serve.js';
import { createServer } from '../../src/index.js';
import { identity, onnx } from '../../test/support/harness.js';
import { writeRepository } from '../../test/support/repository.js';
import { LoopDelay } from '../measuring/loop-delay.js';

/** A question to the process. */
export interface GrpcQuestion {
  /**
   * `cpu`: microseconds of CPU time so far. `batches`: batches that ran. `rows`: rows in them. `watch`: starts
   * measuring the event loop's delay. `delay`: its 99th percentile in milliseconds.
   */
  readonly ask: 'cpu' | 'batches' | 'rows' | 'watch' | 'delay';
}

/** A load: its concurrency, and the message. */
export interface GrpcEndpointLoad {
  readonly connections: number;
  readonly streams: number;
  readonly message: () => Buffer;
}

/** Encodes a field of bytes. */
function field(number: number, value: Uint8Array): Buffer {
  const size: number[] = [];
  let rest = value.length;
  for (; rest >= 128; rest = Math.floor(rest / 128)) size.push((rest % 128) + 128);
  return Buffer.concat([Buffer.from([number * 8 + 2, ...size, rest]), value]);
}

const text = (number: number, value: string): Buffer => field(number, Buffer.from(value));

function inferRequest(model: string, shape: readonly number[], bytes: number): Buffer {
  // Dims under 2^14 have two bytes at most.
  const dims = shape.flatMap((dim) => (dim < 128 ? [dim] : [(dim % 128) + 128, Math.floor(dim / 128)]));
  const input = Buffer.concat([text(1, 'x'), text(2, 'FP32'), field(3, Buffer.from(dims))]);
  return Buffer.concat([text(1, model), field(5, input), field(7, Buffer.alloc(bytes))]);
}

/** Loads by the name of the model. */
export const grpcLoads: Readonly<Record<string, GrpcEndpointLoad>> = {
  tiny: { connections: 8, streams: 8, message: () => inferRequest('tiny', [1, 16], 64) },
  image: {
    connections: 4,
    streams: 2,
    message: () => inferRequest('image', [1, 3, 224, 224], 4 * 3 * 224 * 224),
  },
};

const dims = [3, 224, 224];
const models = {
  tiny: onnx(),
  image: identity({ maxBatchSize: 8, inputs: [{ name: 'x', dims }], outputs: [{ name: 'y', dims }] }),
};

/** The path of the RPC. */
export const inferPath = '/inference.GRPCInferenceService/ModelInfer';

/** An echo server on node:http2 that does only what gRPC needs, for a client without errors. */
function bare(): Promise<number> {
  const server = createHttp2Server({
    maxSessionMemory: 1000,
    settings: { initialWindowSize: 256 << 10, maxFrameSize: 256 << 10 },
  });
  server.on('session', (session) => {
    session.setLocalWindowSize(8 << 20);
  });
  server.on('stream', (stream) => {
    const chunks: Buffer[] = [];
    stream.on('data', (chunk: Buffer) => chunks.push(chunk));
    stream.on('end', () => {
      const [only] = chunks;
      stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true });
      stream.on('wantTrailers', () => {
        stream.sendTrailers({ 'grpc-status': '0' });
      });
      stream.end(chunks.length === 1 ? only : Buffer.concat(chunks));
    });
  });
  return new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => {
      // The server listens on a port, so the address is not the name of a pipe.
      resolve((server.address() as AddressInfo).port);
    });
  });
}

/** An echo server on grpc-js. It neither decodes nor encodes messages. */
function grpcJs(): Promise<number> {
  const server = new Server({ 'grpc.max_receive_message_length': -1 });
  const same = (bytes: Buffer): Buffer => bytes;
  const codec = {
    requestSerialize: same,
    requestDeserialize: same,
    responseSerialize: same,
    responseDeserialize: same,
  };
  const method = {
    path: inferPath,
    requestStream: false,
    responseStream: false,
    originalName: 'modelInfer',
    ...codec,
  };
  server.addService(
    { ModelInfer: method },
    {
      ModelInfer: (call: { request: Buffer }, done: (error: null, answer: Buffer) => void) => {
        done(null, call.request);
      },
    },
  );
  return new Promise((resolve, reject) => {
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, port) => {
      if (error === null) resolve(port);
      else reject(error);
    });
  });
}

async function main(kind: string | undefined, name: string): Promise<void> {
  let statistics = (): { batches: number; rows: number } => ({ batches: 0, rows: 0 });
  let delay: LoopDelay | undefined;
  let port: number;
  if (kind === 'bare') port = await bare();
  else if (kind === 'grpc-js') port = await grpcJs();
  else {
    const folder = await mkdtemp(join(tmpdir(), 'tritonts-endpoints-'));
    const repository = await writeRepository(folder, models);
    const server = await createServer(repository, { modelControlMode: 'explicit', loadModels: [name] });
    await rm(folder, { recursive: true });
    const endpoint = await serveGrpc(server, { port: 0 });
    port = endpoint.address.port;
    statistics = () => {
      const { execution_count: batches, inference_count: rows } = server.model(name).statistics();
      return { batches, rows };
    };
  }
  const answer = (ask: GrpcQuestion['ask']): number => {
    if (ask === 'batches' || ask === 'rows') return statistics()[ask];
    if (ask === 'watch') delay = new LoopDelay();
    if (ask === 'delay') return delay?.stop().p99 ?? NaN;
    const { user, system } = process.cpuUsage();
    return user + system;
  };
  process.on('message', ({ ask }: GrpcQuestion) => {
    process.send?.(answer(ask));
  });
  process.on('disconnect', () => process.exit());
  process.send?.(port);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main(process.argv[2], process.argv[3] ?? '');
