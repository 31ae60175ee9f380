/**
 * Measures shared memory: images of 602 KB through a model that returns its input, over HTTP by shared memory and as
 * binary data, and in the server's own process. Server and client have a thread each.
 */
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { connections, type Load } from '../endpoints/endpoint-client.js';
import { estimate } from '../reports/statistics.js';
import type { Measured } from './limits.js';

/** How long a form is measured at a time, in milliseconds. */
const windowMs = 500;
/** Requests under way at a time. */
const atOnce = 8;
export const imageShape: readonly number[] = [3, 224, 224];
export const imageBytes: number = 4 * 3 * 224 * 224;
/** The name of the region, which has an input and an output for each of the requests under way. */
export const regionName = 'images';
export const regionBytes: number = 2 * atOnce * imageBytes;

/** Where the first request's range begins in the region: all offsets have as many digits, so all bodies the same size. */
export const firstOffset = 10_000_000;

/** What the server's thread says first. */
export interface Served {
  readonly port: number;
}
/** How many requests a second are answered in the server's own process; the question has this form, too. */
export interface InProcess {
  readonly atOnce: number;
  readonly windowMs: number;
  readonly rate?: number;
}

function binaryLoad(port: number): Load {
  const [datatype, parameters] = ['FP32', { binary_data_size: imageBytes }];
  const head = JSON.stringify({
    inputs: [{ name: 'x', shape: [1, ...imageShape], datatype, parameters }],
    parameters: { binary_data_output: true },
  });
  return {
    ...{ port, path: '/v2/models/image/infer', atOnce },
    headers: { 'Inference-Header-Content-Length': String(head.length) },
    bodies: [Buffer.concat([Buffer.from(head), Buffer.alloc(imageBytes)])],
  };
}

function sharedLoad(port: number): Load {
  const bodies = Array.from({ length: atOnce }, (_, i) => {
    const range = (at: number): object => ({
      shared_memory_region: regionName,
      shared_memory_offset: firstOffset + at * imageBytes,
      shared_memory_byte_size: imageBytes,
    });
    return Buffer.from(
      JSON.stringify({
        inputs: [{ name: 'x', datatype: 'FP32', shape: [1, ...imageShape], parameters: range(2 * i) }],
        outputs: [{ name: 'y', parameters: range(2 * i + 1) }],
      }),
    );
  });
  return { port, path: '/v2/models/image/infer', atOnce, headers: {}, bodies };
}

/** Measures the three forms in turn. */
export async function measureSharedMemory(rounds: number): Promise<Measured[]> {
  if (process.platform !== 'linux') return [];
  const worker = new Worker(new URL('shared-memory-server.js', import.meta.url));
  try {
    const [{ port }] = (await once(worker, 'message')) as [Served];
    const forms: readonly (() => Promise<number>)[] = [
      async () => (await connections(sharedLoad(port), windowMs)).rate,
      async () => (await connections(binaryLoad(port), windowMs)).rate,
      async () => {
        worker.postMessage({ atOnce, windowMs } satisfies InProcess);
        const [{ rate = NaN }] = (await once(worker, 'message')) as [InProcess];
        return rate;
      },
    ];
    for (const form of forms) await form();
    const ofBinary: number[] = [];
    const ofOwn: number[] = [];
    for (let round = 0; round < rounds; round++) {
      const rates: number[] = [];
      for (let i = 0; i < forms.length; i++) {
        const at = (i + round) % forms.length;
        rates[at] = (await forms[at]?.()) ?? NaN;
      }
      const [shared = NaN, binary = NaN, own = NaN] = rates;
      ofBinary.push(shared / binary);
      ofOwn.push(shared / own);
    }
    return [
      {
        what: '602 KB over HTTP by shared memory: requests/s',
        value: estimate(ofBinary),
        unit: 'x',
        limit: { atLeast: 3 },
        detail: 'of the same as binary data',
      },
      {
        what: '602 KB over HTTP by shared memory: requests/s',
        value: estimate(ofOwn),
        unit: 'x',
        limit: { atLeast: 0.9 },
        detail: "of infer() in the server's process",
      },
    ];
  } finally {
    await worker.terminate();
  }
}
