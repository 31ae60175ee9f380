/** Helpers of the servers' tests: short configs, servers that close with their test, errors, threads. */

import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import {
  createServer,
  TritonError,
  type Datatype,
  type InferenceServer,
  type ModelStatistics,
  type ServerOptions,
} from '../../src/index.js';
import './backends/added.js';
import { turn } from './basics.js';
import { addModel } from './models.js';
import { temporaryFolder, writeRepository, type Context, type RepositoryModel } from './repository.js';

export { floats, row, turn } from './basics.js';
export type { Context };

/** A tensor for {@link configText}. */
export interface TensorText {
  readonly name: string;
  readonly datatype?: Datatype;
  readonly dims?: readonly number[];
  /** Of an input: whether it may be left out. */
  readonly optional?: boolean;
  /** Of an input: whether requests of unequal shapes run together. */
  readonly ragged?: boolean;
}

/** Options of {@link configText}. */
export interface ConfigOptions {
  readonly backend?:
    | 'onnxruntime'
    | 'identity'
    | 'fault'
    | 'stream'
    | 'probe'
    | 'javascript'
    | 'python'
    | 'fil'
    | 'openvino'
    | 'pytorch'
    | 'tensorflow';
  /** Default 64. */
  readonly maxBatchSize?: number;
  /** Default one FP32 [16] named x. */
  readonly inputs?: readonly TensorText[];
  /** Default one FP32 [16] named y. */
  readonly outputs?: readonly TensorText[];
  /** Content of dynamic_batching (default: empty); false: no dynamic_batching. */
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
      ({ name, datatype = 'FP32', dims = [16], optional = false, ragged = false }) =>
        `${section} [ { name: ${JSON.stringify(name)} data_type: TYPE_${datatype === 'BYTES' ? 'STRING' : datatype} dims: [ ${dims.join(', ')} ]${optional ? ' optional: true' : ''}${ragged ? ' allow_ragged_batch: true' : ''} } ]`,
    );
  return [
    `backend: "${backend}"`,
    `max_batch_size: ${maxBatchSize}`,
    ...tensors('input', options.inputs ?? [{ name: 'x' }]),
    ...tensors('output', options.outputs ?? [{ name: 'y' }]),
    ...(batching === false ? [] : [`dynamic_batching { ${batching} }`]),
    `instance_group [ { kind: KIND_CPU count: ${instances} } ]`,
    ...Object.entries(options.parameters ?? {}).map(
      ([key, value]) =>
        `parameters { key: "${key}" value { string_value: "${String(value).replaceAll('\\', '\\\\')}" } }`,
    ),
    more,
  ].join('\n');
}

/** Tensors of {@link configText}: one FP32 input and output of any length. */
export const anyLength = {
  inputs: [{ name: 'x', dims: [-1] }],
  outputs: [{ name: 'y', dims: [-1] }],
} as const;

/** A model of the identity backend, which has a version but no file. Each run takes `delayMs`. */
export function identity(options: ConfigOptions & { readonly delayMs?: number } = {}): RepositoryModel {
  const { delayMs = 0, parameters, ...rest } = options;
  const delay = delayMs > 0 ? { execute_delay_ms: delayMs } : {};
  return {
    config: configText({ ...rest, backend: 'identity', parameters: { ...delay, ...parameters } }),
    versions: { '1': {} },
  };
}

/** A step of {@link ensemble}: its model and maps of the model's tensors to the ensemble's, such as `x=image`. */
export interface StepText {
  readonly model: string;
  readonly version?: number;
  readonly from: Readonly<Record<string, string>>;
  readonly to: Readonly<Record<string, string>>;
}

/** An ensemble of these steps, with inputs and outputs in the form of {@link configText}. */
export function ensemble(
  steps: readonly StepText[],
  options: Pick<ConfigOptions, 'maxBatchSize' | 'inputs' | 'outputs' | 'more'> & {
    readonly maxInflight?: number;
  } = {},
): RepositoryModel {
  const map = (name: string, entries: Readonly<Record<string, string>>): string =>
    Object.entries(entries)
      .map(([key, value]) => `${name} { key: "${key}" value: "${value}" }`)
      .join(' ');
  const { maxInflight, ...rest } = options;
  const text = configText({ ...rest, batching: false })
    .split('\n')
    .filter((line) => !line.startsWith('backend') && !line.startsWith('instance_group'));
  const written = steps.map(
    ({ model, version = -1, from, to }) =>
      `  step { model_name: "${model}" model_version: ${version} ${map('input_map', from)} ${map('output_map', to)} }`,
  );
  const limit = maxInflight === undefined ? [] : [`  max_inflight_requests: ${maxInflight}`];
  return {
    config: ['platform: "ensemble"', ...text, 'ensemble_scheduling {', ...written, ...limit, '}'].join('\n'),
    versions: { '1': {} },
  };
}

/** Steps in sequence: x, t1, t2, …, y. */
export function chain(models: readonly string[]): StepText[] {
  return models.map((model, i) => ({
    model,
    from: { x: i === 0 ? 'x' : `t${i}` },
    to: { y: i === models.length - 1 ? 'y' : `t${i + 1}` },
  }));
}

/** A model of ONNX Runtime; by default y = x + 1 for FP32 [N, 16]. */
export function onnx(model: Uint8Array = addModel(), options: ConfigOptions = {}): RepositoryModel {
  return { config: configText(options), versions: { '1': model } };
}

/**
 * A server of a new repository, which may be empty. After the test it is closed, and remaining requests are
 * cancelled.
 */
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

/** A server of an existing repository, as {@link serve}. */
export async function start(
  context: Context,
  repository: string,
  options: Omit<ServerOptions, 'modelRepository'> = {},
): Promise<InferenceServer> {
  const server = await createServer(repository, options);
  context.after(() => server.close({ timeoutMs: 0 }));
  return server;
}

/** The error that a promise rejects with. Fails if it resolves, or rejects with another class. */
export async function rejection(promise: Promise<unknown>): Promise<TritonError> {
  const outcome = await promise.then(
    (value): unknown => ({ value }),
    (error: unknown) => error,
  );
  assert.ok(outcome instanceof TritonError, `expected a TritonError, not ${String(outcome)}`);
  return outcome;
}

/** The error that a function throws. Fails if it throws nothing, or an error of another class. */
export function thrown(action: () => unknown): TritonError {
  try {
    action();
  } catch (error) {
    assert.ok(error instanceof TritonError, `expected a TritonError, not ${String(error)}`);
    return error;
  }
  assert.fail('nothing was thrown');
}

/**
 * A model's statistics, once `requests` requests are counted. A request that was cancelled while it ran is counted
 * when its batch has ended; any other request when it is answered.
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

/** How many batches of each size have been counted for a model. */
export function batchCounts(server: InferenceServer, model: string): Record<number, number> {
  const { batch_stats: batches } = server.model(model).statistics();
  return Object.fromEntries(
    batches.map(({ batch_size, compute_infer }) => [batch_size, compute_infer.count]),
  );
}

/** {@link batchCounts}, once `requests` requests are counted. */
export async function batchCountsAfter(
  server: InferenceServer,
  model: string,
  requests: number,
): Promise<Record<number, number>> {
  await statisticsAfter(server, model, requests);
  return batchCounts(server, model);
}

/** Waits until `condition` holds, which is checked in turns of the event loop. Fails after `limitMs`. */
export async function until(condition: () => boolean | Promise<boolean>, limitMs = 60_000): Promise<void> {
  const end = performance.now() + limitMs;
  while (!(await condition())) {
    if (performance.now() > end) assert.fail(`not so after ${limitMs} ms: ${condition.toString()}`);
    await turn();
  }
}

/** Number of threads of this process. Linux only. */
export async function threadCount(): Promise<number> {
  return (await readdir('/proc/self/task')).length;
}

/** Names of the threads of this process, by id. Linux only. */
export async function threadNames(): Promise<Map<string, string>> {
  const names = (await readdir('/proc/self/task')).map(async (id): Promise<[string, string]> => {
    // The thread may have ended since it was listed.
    const name = await readFile(`/proc/self/task/${id}/comm`, 'utf8').catch(() => '');
    return [id, name.trim()];
  });
  return new Map(await Promise.all(names));
}
