/** The common part of both kinds of schedules: the model, its requests, and their outcomes. */

import assert from 'node:assert/strict';
import { join } from 'node:path';
import {
  createServer,
  TritonError,
  type InferenceServer,
  type InferResult,
  type Inputs,
  type ModelConfigInput,
  type TritonErrorCode,
} from '../../src/index.js';
import type { Context } from '../support/harness.js';
import { temporaryFolder, writeRepository } from '../support/repository.js';
import { asking, type FaultName } from '../faults/harness.js';
import type { Policy } from './batcher.js';
import { inTime } from './patience.js';
import type { Draft } from './schedule.js';

/** A server that loads model `m` again for each schedule. */
export interface Bench {
  readonly server: InferenceServer;
  readonly folder: string;
  loads: number;
}

export async function openBench(context: Context): Promise<Bench> {
  const folder = await temporaryFolder(context);
  await writeRepository(join(folder, 'models'), { m: { versions: { '1': {} } } });
  const server = await createServer(join(folder, 'models'), { modelControlMode: 'explicit' });
  context.after(() => server.close({ timeoutMs: 0 }));
  return { server, folder, loads: 0 };
}

/** Loads `m` with a policy. Returns the path of the file that releases held requests. */
export async function load(
  bench: Bench,
  { maxBatchSize, preferred, acrossShapes }: Pick<Policy, 'maxBatchSize' | 'preferred' | 'acrossShapes'>,
  delayUs: number,
  instances: number,
  inline: string,
): Promise<string> {
  const release = join(bench.folder, `release-${++bench.loads}`);
  const config: ModelConfigInput = {
    backend: 'fault',
    max_batch_size: maxBatchSize,
    input: [
      { name: 'x', data_type: 'TYPE_FP32', dims: [-1] },
      { name: 'z', data_type: 'TYPE_FP32', dims: [-1] },
      { name: 'fault', data_type: 'TYPE_INT32', dims: [1] },
    ],
    output: [
      { name: 'y', data_type: 'TYPE_FP32', dims: [-1] },
      { name: 'ran', data_type: 'TYPE_INT32', dims: [3] },
    ],
    instance_group: [{ kind: 'KIND_CPU', count: instances }],
    parameters: {
      release_file: { string_value: release },
      delay_ms: { string_value: '1' },
      inline: { string_value: inline },
      batch_across_shapes: { string_value: String(acrossShapes) },
    },
    ...(preferred && {
      dynamic_batching: {
        // A configuration may have them in any order.
        preferred_batch_size: preferred,
        max_queue_delay_microseconds: delayUs,
      },
    }),
  };
  await bench.server.loadModel('m', { config });
  return release;
}

/** Where a request ran, as the backend reports it. */
export interface Ran {
  readonly run: number;
  readonly position: number;
  readonly firstRow: number;
  readonly batchSize: number;
}

/** The outcome of a request: where it ran, or the code of its error. */
export type Outcome = Ran | TritonErrorCode;

/** A request that was sent. */
export interface Call {
  readonly draft: Omit<Draft, 'aborted'>;
  readonly rows: number;
  readonly shape: string;
  readonly fault: FaultName;
  /** How many times it ended. */
  ends: number;
  outcome: Outcome | undefined;
  /** The message of its error. */
  message: string;
  readonly ended: Promise<void>;
}

let sent = 0;

/** Sends a request, and compares its answer with its input at once. */
export function send(
  server: InferenceServer,
  draft: Omit<Draft, 'aborted' | 'fault'> & { readonly fault: FaultName },
  signal?: AbortSignal,
): Call {
  const { rows, shape, fault } = draft;
  const [width = 1, other = 1] = shape.split('x').map(Number);
  const first = ++sent;
  const x = Float32Array.from({ length: rows * width }, (_, i) => first + i / 1024);
  const number = asking(fault)['fault'];
  assert.ok(number instanceof Int32Array);
  const inputs: Inputs = {
    x: { data: x, shape: [rows, width] },
    z: { data: new Float32Array(rows * other), shape: [rows, other] },
    fault: { data: new Int32Array(rows).fill(number[0] ?? 0), shape: [rows, 1] },
  };
  const call: Call = {
    draft,
    rows,
    shape,
    fault,
    ends: 0,
    outcome: undefined,
    message: '',
    ended: server.infer('m', inputs, { signal }).then(
      (result) => {
        call.ends++;
        call.outcome = ranOf(result, x, rows);
      },
      (error: unknown) => {
        call.ends++;
        if (!(error instanceof TritonError)) throw error;
        call.outcome = error.code;
        call.message = error.message;
      },
    ),
  };
  // Callers that wait for the request get the failure.
  call.ended.catch(() => undefined);
  return call;
}

/** Where an answer's request ran. Fails if the rows are not its own. */
function ranOf({ outputs, timings }: InferResult, x: Float32Array, rows: number): Ran {
  assert.deepEqual(outputs['y']?.data, x);
  const told = outputs['ran']?.data;
  assert.ok(told instanceof Int32Array && told.length === 3 * rows);
  const [run = 0, position = 0, firstRow = 0] = told;
  for (let row = 0; row < rows; row++) {
    assert.deepEqual([...told.subarray(3 * row, 3 * row + 3)], [run, position, firstRow + row]);
  }
  return { run, position, firstRow, batchSize: timings.batchSize };
}

/** Unloads the model. This waits for its requests. */
export async function unload({ server }: Bench): Promise<void> {
  assert.ok(await inTime(server.unloadModel('m')), 'a model with nothing to do was not unloaded');
}

/** Waits until all of them have ended. */
export async function ended(calls: readonly Call[]): Promise<void> {
  await inTime(Promise.all(calls.map((call) => call.ended)));
  const open = calls.filter(({ ends }) => ends === 0);
  assert.equal(open.length, 0, `${open.length} of ${calls.length} requests have not ended`);
  for (const { ends } of calls) assert.equal(ends, 1);
}

/** The number of batches by size, ascending, as in `batch_stats`. */
export function histogram(batchSizes: readonly number[]): [size: number, count: number][] {
  const counts = new Map<number, number>();
  for (const size of batchSizes) counts.set(size, (counts.get(size) ?? 0) + 1);
  return [...counts].sort(([a], [b]) => a - b);
}

/** The histogram from a model's statistics. */
export function batchesOf(server: InferenceServer): [size: number, count: number][] {
  return server
    .model('m')
    .statistics()
    .batch_stats.map(({ batch_size, compute_infer }): [number, number] => [batch_size, compute_infer.count])
    .sort(([a], [b]) => a - b);
}
