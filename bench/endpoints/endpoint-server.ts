/** A process with one of the servers of endpoints.ts: `ours` or `bare`, and the name of a load. */
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer as createHttpServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { fileURLToPath } from 'node:url';
import { createServer } from '../../src/index.js';
import { serveHttp } from '../../src/endpoints/http/serve.js';
import { identity, onnx } from '../../test/support/harness.js';
import { writeRepository } from '../../test/support/repository.js';

/** A question to the process. */
export interface ServerQuestion {
  /**
   * `cpu`: microseconds of CPU time so far. `batches`: batches that ran. `rows`: rows in them. `delay`: the 99th
   * percentile of the event loop's delay since the previous question, in milliseconds. The first `delay` only
   * starts the watch, as watching has a cost.
   */
  readonly ask: 'cpu' | 'batches' | 'rows' | 'delay';
}

/** A load: the number of connections, and the requests. */
interface EndpointLoad {
  readonly atOnce: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly bodies: () => Buffer[];
}

const row = Array.from({ length: 16 }, (_, i) => i);
const tinyInput = { name: 'x', datatype: 'FP32', shape: [1, 16], data: row };
const tinyJson = JSON.stringify({ inputs: [tinyInput] });
/** Four texts for each request. Their lengths differ, but all requests have the same size. */
function textsOf(i: number): { shape: number[]; data: string[] } {
  const cut = 5 + (i % 20);
  const words = `request ${100 + i} of a program that asks for the labels of some lines`;
  return {
    shape: i % 2 === 0 ? [1, 4] : [2, 2],
    data: [words.slice(0, cut), words.slice(cut), String(1000 + i), 'again'],
  };
}

function textBodies(): string[] {
  return Array.from({ length: 64 }, (_, i) =>
    JSON.stringify({ inputs: [{ name: 'x', datatype: 'BYTES', ...textsOf(i) }] }),
  );
}

const imageShape = [1, 3, 224, 224];
const imageBytes = 4 * 3 * 224 * 224;
const imageHead = JSON.stringify({
  inputs: [{ name: 'x', datatype: 'FP32', shape: imageShape, parameters: { binary_data_size: imageBytes } }],
  parameters: { binary_data_output: true },
});

/** Loads by the name of the model. */
export const endpointLoads: Readonly<Record<string, EndpointLoad>> = {
  tiny: { atOnce: 64, headers: {}, bodies: () => [Buffer.from(tinyJson)] },
  texts: { atOnce: 64, headers: {}, bodies: () => textBodies().map((one) => Buffer.from(one)) },
  image: {
    atOnce: 8,
    headers: { 'Inference-Header-Content-Length': String(imageHead.length) },
    bodies: () => [Buffer.concat([Buffer.from(imageHead), Buffer.alloc(imageBytes)])],
  },
};

const dims = [3, 224, 224];
const models = {
  tiny: onnx(),
  texts: identity({
    maxBatchSize: 64,
    inputs: [{ name: 'x', dims: [-1], datatype: 'BYTES' }],
    outputs: [{ name: 'y', dims: [-1], datatype: 'BYTES' }],
  }),
  image: identity({ maxBatchSize: 8, inputs: [{ name: 'x', dims }], outputs: [{ name: 'y', dims }] }),
};

/** The answer of the bare handler, with the content type and length of ours. */
function answerOf(name: string): [string, Buffer] {
  if (name === 'image') return ['application/octet-stream', Buffer.alloc(imageBytes + 150, 32)];
  if (name === 'texts') {
    const outputs = [{ name: 'y', datatype: 'BYTES', ...textsOf(0) }];
    const answer = { model_name: 'texts', model_version: '1', outputs };
    return ['application/json', Buffer.from(JSON.stringify(answer))];
  }
  const data = row.map((value) => `${value + 1}.0`).join(',');
  const outputs = `[{"name":"y","datatype":"FP32","shape":[1,16],"data":[${data}]}]`;
  return ['application/json', Buffer.from(`{"model_name":"tiny","model_version":"1","outputs":${outputs}}`)];
}

function bare(name: string): Promise<number> {
  const [type, body] = answerOf(name);
  const server = createHttpServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const whole = chunks.length === 1 ? chunks[0] : Buffer.concat(chunks);
      response.writeHead(whole === undefined ? 400 : 200, {
        'Content-Type': type,
        'Content-Length': body.length,
      });
      response.end(body);
    });
  });
  return new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => {
      // The server listens on a port, so the address is not the name of a pipe.
      resolve((server.address() as AddressInfo).port);
    });
  });
}

async function main(kind: string | undefined, name: string): Promise<void> {
  let statistics = (): { batches: number; rows: number } => ({ batches: 0, rows: 0 });
  let port: number;
  if (kind === 'bare') port = await bare(name);
  else {
    const folder = await mkdtemp(join(tmpdir(), 'tritonts-endpoints-'));
    const repository = await writeRepository(folder, models);
    const server = await createServer(repository, { modelControlMode: 'explicit', loadModels: [name] });
    await rm(folder, { recursive: true });
    const endpoint = await serveHttp(server, { port: 0 });
    port = endpoint.address.port;
    statistics = () => {
      const { execution_count: batches, inference_count: rows } = server.model(name).statistics();
      return { batches, rows };
    };
  }
  const loop = monitorEventLoopDelay({ resolution: 1 });
  process.on('message', ({ ask }: ServerQuestion) => {
    if (ask === 'delay') {
      process.send?.(loop.percentile(99) / 1e6);
      loop.enable();
      loop.reset();
      return;
    }
    const { user, system } = process.cpuUsage();
    process.send?.(ask === 'cpu' ? user + system : statistics()[ask]);
  });
  process.on('disconnect', () => process.exit());
  process.send?.(port);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main(process.argv[2], process.argv[3] ?? '');
