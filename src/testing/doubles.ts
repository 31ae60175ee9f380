/** Makes models of the program of what a test gives: functions, with the configurations that their models have. */

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { checkKeys, checkObject, expected } from '../argument-checks.js';
import { readModelConfig, readModelConfigJson } from '../config/index.js';
import { invalidArgument, TritonError, withModel } from '../errors.js';
import type {
  AnyTensor,
  JavaScriptModel,
  ModelConfigInput,
  ModelObject,
  ModelRequest,
  ModelResult,
} from '../index.js';
import { printableLine } from '../printable.js';

/**
 * Answers one request of a model: gets its inputs by name, and returns the outputs by name, or a promise of them. What it throws,
 * and an error that it returns, fails the request with INTERNAL, or with the code of a `TritonError`. The function of a decoupled
 * model returns an iterable, such as a generator, of its responses.
 *
 * @param inputs - The inputs as tensors.
 * @param request - The rest of the request: its id, parameters, sequence, signal.
 *
 * @example
 * const double: AnswerFunction = ({ image }) => ({ scores: new Float32Array(10 * image.shape[0]) });
 */
export type AnswerFunction = (
  inputs: Readonly<Record<string, AnyTensor>>,
  request: ModelRequest,
) => ModelResult | PromiseLike<ModelResult>;

/**
 * A model of a test server: its configuration, and a function for each request (`answer`) or for each batch (`execute`, as of a
 * model in JavaScript).
 *
 * @example
 * const upper: TestModel = {
 *   config: {
 *     input: [{ name: 'text', data_type: 'TYPE_STRING', dims: [1] }],
 *     output: [{ name: 'upper', data_type: 'TYPE_STRING', dims: [1] }],
 *   },
 *   answer: ({ text }) => ({ upper: text.strings().map((one) => one.toUpperCase()) }),
 * };
 */
export interface TestModel extends Partial<JavaScriptModel> {
  /**
   * The configuration: an object, or the text of a `config.pbtxt` or of its JSON (default: that of the model of this name in
   * `modelRepository`). Fields that say what runs the model, and where, are left out: `backend`, `instance_group`, and so on.
   */
  readonly config?: ModelConfigInput | string | undefined;
  /** Answers a request. */
  readonly answer?: AnswerFunction | undefined;
}

/** Fields of what runs a model, and where. A double has no part in them. */
const ofTheRuntime: readonly string[] = [
  'backend',
  'batch_input',
  'batch_output',
  'cc_model_filenames',
  'default_model_filename',
  'ensemble_scheduling',
  'instance_group',
  'metric_tags',
  'model_metrics',
  'model_operations',
  'model_repository_agents',
  'model_warmup',
  'optimization',
  'platform',
  'response_cache',
  'runtime',
  'version_policy',
];

/** Where configurations are that a double does not give. */
export type Repository = string | URL | undefined;

/**
 * See the head of this file.
 *
 * @throws {@link TritonError} INVALID_ARG for a double of the wrong kind, NOT_FOUND for one whose configuration is nowhere.
 */
export async function modelOf(name: string, given: unknown, repository: Repository): Promise<ModelObject> {
  const double = typeof given === 'function' ? { answer: given } : given;
  checkObject(double, `models['${printableLine(name)}']`);
  const { config, ...code } = double as TestModel;
  return { ...codeOf(name, code), config: await configOf(name, config, repository) };
}

function codeOf(name: string, { answer, ...code }: Omit<TestModel, 'config'>): JavaScriptModel {
  const path = `models['${printableLine(name)}']`;
  const { execute, initialize, finalize } = code;
  checkKeys(code, ['execute', 'initialize', 'finalize'], path);
  if ((typeof answer === 'function') === (typeof execute === 'function')) {
    throw invalidArgument(
      `${path}: expected a function, or an object with one of the functions answer and execute`,
      { model: name },
    );
  }
  for (const [key, value] of Object.entries({ initialize, finalize })) {
    if (value !== undefined && typeof (value as unknown) !== 'function')
      throw expected('a function', `${path}.${key}`, value);
  }
  return {
    ...(initialize && { initialize: initialize.bind(code) }),
    ...(finalize && { finalize: finalize.bind(code) }),
    execute: execute?.bind(code) ?? ((requests) => requests.map((request) => answered(answer, request))),
  };
}

/** What a function answers to a request. What it throws fails that request alone. */
function answered(
  answer: AnswerFunction | undefined,
  request: ModelRequest,
): ModelResult | PromiseLike<ModelResult> {
  try {
    const result = answer?.(request.inputs, request) ?? {};
    if (!isThenable(result)) return result;
    return Promise.resolve(result).catch(errorOf);
  } catch (thrown) {
    return errorOf(thrown);
  }
}

function isThenable(result: ModelResult | PromiseLike<ModelResult>): result is PromiseLike<ModelResult> {
  return typeof (result as { readonly then?: unknown }).then === 'function';
}

function errorOf(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown));
}

async function configOf(
  name: string,
  given: ModelConfigInput | string | undefined,
  repository: Repository,
): Promise<ModelConfigInput> {
  const written = given === undefined ? await repositoryConfig(name, repository) : parsed(name, given);
  const kept = Object.entries(written).filter(([field]) => !ofTheRuntime.includes(field));
  const { input = [], output = [], ...rest }: ModelConfigInput = { ...Object.fromEntries(kept), name };
  if (output.length === 0) {
    throw invalidArgument(
      `model '${name}': its configuration has no outputs: a double cannot ask the model's file for them, so write its tensors, as npx tritonts check --print-config shows them`,
      { model: name },
    );
  }
  // A label file is in the folder of the real model.
  const unlabelled = output.map((one) => ({ ...one, label_filename: undefined }));
  return { ...rest, input, output: unlabelled };
}

function parsed(name: string, given: ModelConfigInput | string): ModelConfigInput {
  const source = { file: `config of model '${name}'` };
  try {
    if (typeof given === 'string' && !given.trimStart().startsWith('{'))
      return readModelConfig({ ...source, text: given }).value;
    return readModelConfigJson({ ...source, value: given }).value;
  } catch (error) {
    throw error instanceof TritonError ? withModel(error, name) : error;
  }
}

async function repositoryConfig(name: string, repository: Repository): Promise<ModelConfigInput> {
  if (repository === undefined) {
    throw invalidArgument(
      `model '${name}': expected its configuration: give { config, answer }, or the option modelRepository, whose ${name}/config.pbtxt is taken`,
      { model: name },
    );
  }
  const isFolder =
    repository instanceof URL ? repository.protocol === 'file:' : typeof (repository as unknown) === 'string';
  if (!isFolder) throw expected('a folder, as a path or a file URL', 'options.modelRepository', repository);
  const folder = repository instanceof URL ? fileURLToPath(repository) : repository;
  const file = join(folder, name, 'config.pbtxt');
  let text: string;
  try {
    text = await readFile(file, 'utf8');
  } catch (cause) {
    throw new TritonError('NOT_FOUND', `model '${name}': its configuration cannot be read from '${file}'`, {
      model: name,
      cause,
    });
  }
  return readModelConfig({ file, text }).value;
}
