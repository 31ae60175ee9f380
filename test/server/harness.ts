/** What the tests of servers share: short configs, servers that close with their test, errors, threads. */

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import {
  createServer,
  TritonError,
  type Datatype,
  type InferenceServer,
  type ModelStatistics,
  type ServerOptions,
} from '../../src/index.js';
import { addModel } from '../support/models.js';
import { temporaryFolder, writeRepository, type RepositoryModel } from '../support/repository.js';

/** What has an end at which things are released: a test or suite context of node:test. */
export interface Context {
  after(release: () => Promise<void>): void;
}

/** A tensor as {@link configText} takes it. */
export interface TensorText {
  readonly name: string;
  readonly datatype?: Datatype;
  readonly dims?: readonly number[];
}

/** What {@link configText} takes. */
export interface ConfigOptions {
  readonly backend?: 'onnxruntime' | 'identity' | 'fault';
  /** Default 64. */
  readonly maxBatchSize?: number;
  /** Default one FP32 [16] named x. */
  readonly inputs?: readonly TensorText[];
  /** Default one FP32 [16] named y. */
  readonly outputs?: readonly TensorText[];
  /** Inside of dynamic_batching; default empty; false: none. */
  readonly batching?: string | false;
  readonly instances?: number;
  readonly parameters?: Readonly<Record<string, string | number>>;
  /** Further fields. */
  readonly more?: string;
}

/** Text of a config.pbtxt. */
export function configText(options: ConfigOptions = {}): string {
  const { backend = 'onnxruntime', maxBatchSize = 64, batching = '', instances = 1, more = '' } = options;
  const tensors = (section: string, list: readonly TensorText[]): string[] =>
    list.map(
      ({ name, datatype = 'FP32', dims = [16] }) =>
        `${section} [ { name: ${JSON.stringify(name)} data_type: TYPE_${datatype === 'BYTES' ? 'STRING' : datatype} dims: [ ${dims.join(', ')} ] } ]`,
    );
  return [
    `backend: "${backend}"`,
    `max_batch_size: ${maxBatchSize}`,
    ...tensors('input', options.inputs ?? [{ name: 'x' }]),
    ...tensors('output', options.outputs ?? [{ name: 'y' }]),
    ...(batching === false ? [] : [`dynamic_batching { ${batching} }`]),
    `instance_group [ { kind: KIND_CPU count: ${instances} } ]`,
    ...Object.entries(options.parameters ?? {}).map(
      ([key, value]) => `parameters { key: "${key}" value { string_value: "${value}" } }`,
    ),
    more,
  ].join('\n');
}

/** A model of the identity backend, which has a version but no file; `delayMs` is how long each run takes. */
export function identity(options: ConfigOptions & { readonly delayMs?: number } = {}): RepositoryModel {
  const { delayMs = 0, parameters, ...rest } = options;
  const delay = delayMs > 0 ? { execute_delay_ms: delayMs } : {};
  return {
    config: configText({ ...rest, backend: 'identity', parameters: { ...delay, ...parameters } }),
    versions: { '1': {} },
  };
}

/** A model of ONNX Runtime; by default y = x + 1 for FP32 [N, 16]. */
export function onnx(model: Uint8Array = addModel(), options: ConfigOptions = {}): RepositoryModel {
  return { config: configText(options), versions: { '1': model } };
}

/** A server of a fresh repository, which may be empty, that closes, cancelling what is left, after the test. */
export async function serve(
  context: Context,
  models: Readonly<Record<string, RepositoryModel>>,
  options: Omit<ServerOptions, 'modelRepository'> = {},
): Promise<InferenceServer> {
  const isEmpty = Object.keys(models).length === 0;
  return start(context, await writeRepository(await temporaryFolder(context), models), {
    ...(isEmpty && { exitOnError: false }),
    ...options,
  });
}

/** A server of a given repository, as {@link serve}. */
export async function start(
  context: Context,
  repository: string,
  options: Omit<ServerOptions, 'modelRepository'> = {},
): Promise<InferenceServer> {
  const server = await createServer(repository, options);
  context.after(() => server.close({ timeoutMs: 0 }));
  return server;
}

/** The error that a promise rejects with; fails if it resolves, or rejects with another kind. */
export async function rejection(promise: Promise<unknown>): Promise<TritonError> {
  const outcome = await promise.then(
    (value): unknown => ({ value }),
    (error: unknown) => error,
  );
  assert.ok(outcome instanceof TritonError, `expected a TritonError, not ${String(outcome)}`);
  return outcome;
}

/** The error that a function throws; fails if it throws none, or another kind. */
export function thrown(action: () => unknown): TritonError {
  try {
    action();
  } catch (error) {
    assert.ok(error instanceof TritonError, `expected a TritonError, not ${String(error)}`);
    return error;
  }
  assert.fail('nothing was thrown');
}

/** Sixteen floats that count up from `first`. */
export function row(first = 0, width = 16): Float32Array<ArrayBuffer> {
  return Float32Array.from({ length: width }, (_, i) => first + i);
}

/** The FP32 output `name` as numbers. */
export function floats(
  result: { readonly outputs: Readonly<Record<string, { toArray(): unknown; readonly data: unknown }>> },
  name = 'y',
): number[] {
  const data = result.outputs[name]?.data;
  assert.ok(data instanceof Float32Array, `${name} is not FP32`);
  return [...data];
}

/**
 * A model's statistics, once `requests` of them are counted: those that were cancelled while they ran, when their batch has
 * ended; all others, when they are answered.
 */
export async function statisticsAfter(
  server: InferenceServer,
  model: string,
  requests: number,
): Promise<ModelStatistics> {
  const counted = (): number => {
    const { success, fail } = server.model(model).statistics().inference_stats;
    return success.count + fail.count;
  };
  await until(() => counted() >= requests);
  assert.equal(counted(), requests);
  return server.model(model).statistics();
}

/** How many batches of each size a model ran, as far as they are counted. */
export function batchCounts(server: InferenceServer, model: string): Record<number, number> {
  const { batch_stats: batches } = server.model(model).statistics();
  return Object.fromEntries(
    batches.map(({ batch_size, compute_infer }) => [batch_size, compute_infer.count]),
  );
}

/** The same, once `requests` requests are counted. */
export async function batchCountsAfter(
  server: InferenceServer,
  model: string,
  requests: number,
): Promise<Record<number, number>> {
  await statisticsAfter(server, model, requests);
  return batchCounts(server, model);
}

/** Waits, in turns of the event loop, until `condition` holds; fails after `limitMs`. */
export async function until(condition: () => boolean | Promise<boolean>, limitMs = 5000): Promise<void> {
  const end = performance.now() + limitMs;
  while (!(await condition())) {
    if (performance.now() > end) assert.fail(`not so after ${limitMs} ms: ${condition.toString()}`);
    await new Promise((resolve) => setImmediate(resolve));
  }
}

/** Number of threads of this process. Linux only. */
export async function threadCount(): Promise<number> {
  return (await readdir('/proc/self/task')).length;
}

/** Names of the threads of this process, by id. Linux only. */
export async function threadNames(): Promise<Map<string, string>> {
  const names = (await readdir('/proc/self/task')).map(async (id): Promise<[string, string]> => {
    // It may have ended since it was listed.
    const name = await readFile(`/proc/self/task/${id}/comm`, 'utf8').catch(() => '');
    return [id, name.trim()];
  });
  return new Map(await Promise.all(names));
}

/** What a child process came to. */
export interface ChildOutcome {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
  readonly ms: number;
}

/** Runs a compiled program of this folder's `programs/` in a process of its own. */
export function runProgram(name: string, args: readonly string[]): Promise<ChildOutcome> {
  const program = fileURLToPath(new URL(`programs/${name}.js`, import.meta.url));
  const begin = performance.now();
  const child = spawn(process.execPath, [program, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code, signal) => {
      resolve({ code, signal, stdout, stderr, ms: performance.now() - begin });
    });
  });
}
