/** The models of the fixtures, with the answers of OpenVINO's own Python, as `make_models.py` records them. */

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Datatype, InferResult } from '../../../src/index.js';
import { configText, type ConfigOptions } from '../../support/harness.js';
import { hasOpenVino } from '../../support/openvino.js';
import { root } from '../../support/project.js';
import type { Files, RepositoryModel } from '../../support/repository.js';

/** A tensor of a request or an answer. */
export interface RecordedTensor {
  readonly datatype: Datatype;
  readonly shape: readonly number[];
  readonly data: readonly (number | boolean)[];
}

/** A model of the fixtures. */
export interface RecordedModel {
  readonly name: string;
  readonly file: string;
  readonly inputs: Readonly<Record<string, RecordedTensor>>;
  readonly outputs: Readonly<Record<string, RecordedTensor>>;
}

const folder = join(root, 'test', 'backends', 'openvino', 'fixtures');

const { models: recorded } = JSON.parse(await readFile(join(folder, 'answers.json'), 'utf8')) as {
  readonly models: Readonly<Record<string, Omit<RecordedModel, 'name'>>>;
};

/** All models that can be served. */
export const recordedModels: readonly RecordedModel[] = Object.entries(recorded).map(([name, model]) => ({
  name,
  ...model,
}));

/** A model of the fixtures. */
export function recordedModel(name: string): RecordedModel {
  const found = recordedModels.find((model) => model.name === name);
  assert.ok(found, `there is no model '${name}'`);
  return found;
}

/** Options of tests that need OpenVINO. */
export const needsOpenVino: { readonly skip: string | false } = {
  skip: !hasOpenVino && 'OpenVINO is not installed: set TRITONTS_OPENVINO_PATH',
};

/** The files of a model, with the names that a repository needs. */
export async function filesOf(file: string): Promise<Files> {
  const read = (name: string): Promise<Buffer> => readFile(join(folder, name));
  if (file.endsWith('.onnx')) return { 'model.onnx': await read(file) };
  return { 'model.xml': await read(file), 'model.bin': await read(file.replace(/xml$/, 'bin')) };
}

/** Options of {@link openvino}. */
export type OpenVinoOptions = Omit<ConfigOptions, 'backend'>;

/** A model with a configuration. Its tensors have the recorded dims, without the first one if it is batched. */
export async function openvino(
  { file, inputs, outputs }: RecordedModel,
  { more = '', ...options }: OpenVinoOptions = {},
): Promise<RepositoryModel> {
  const batching = (options.maxBatchSize ?? 64) > 0;
  const tensors = (side: Readonly<Record<string, RecordedTensor>>): NonNullable<ConfigOptions['inputs']> =>
    Object.entries(side).map(([name, { datatype, shape }]) => ({
      name,
      datatype,
      dims: batching ? shape.slice(1) : shape.map((dim, index) => (index === 0 ? -1 : dim)),
    }));
  const config = configText({
    inputs: tensors(inputs),
    outputs: tensors(outputs),
    ...options,
    ...(!batching && { batching: false }),
    backend: 'openvino',
    more: file.endsWith('.onnx') ? `${more}\ndefault_model_filename: "model.onnx"` : more,
  });
  return { config, versions: { '1': await filesOf(file) } };
}

/** A model without inputs and outputs in its configuration. */
export async function completed({ file }: Pick<RecordedModel, 'file'>, more = ''): Promise<RepositoryModel> {
  // A folder with model.xml needs no configuration.
  const text = file.endsWith('.onnx')
    ? `backend: "openvino" default_model_filename: "model.onnx" ${more}`
    : more;
  return { ...(text !== '' && { config: text }), versions: { '1': await filesOf(file) } };
}

/** A recorded tensor as an input of a request. */
export function asInput({ datatype, shape, data }: RecordedTensor): {
  readonly data: (number | bigint | boolean)[];
  readonly shape: readonly number[];
} {
  return { data: data.map((value) => element(datatype, value)), shape };
}

/** The inputs of a recorded request. */
export function asked(model: RecordedModel): Record<string, ReturnType<typeof asInput>> {
  return Object.fromEntries(Object.entries(model.inputs).map(([name, tensor]) => [name, asInput(tensor)]));
}

/** A row of a recorded tensor, with the batch dimension. */
export function rowOf(tensor: RecordedTensor, row: number): RecordedTensor {
  const [, ...dims] = tensor.shape;
  const size = dims.reduce((product, dim) => product * dim, 1);
  return { ...tensor, shape: [1, ...dims], data: tensor.data.slice(row * size, (row + 1) * size) };
}

function element(datatype: Datatype, value: number | boolean): number | bigint | boolean {
  return datatype === 'INT64' || datatype === 'UINT64' ? BigInt(value) : value;
}

/** Fails unless the outputs are the recorded ones, bit for bit. A tensor without dimensions has shape [1]. */
export function assertAnswers(
  result: Pick<InferResult, 'outputs'>,
  outputs: RecordedModel['outputs'],
  message: string,
): void {
  for (const [name, { datatype, shape, data }] of Object.entries(outputs)) {
    const tensor = result.outputs[name];
    assert.ok(tensor, `${message}: no output ${name}`);
    assert.equal(tensor.datatype, datatype, `${message}: ${name}`);
    assert.deepEqual(tensor.shape, shape.length === 0 ? [1] : shape, `${message}: ${name}`);
    assert.deepEqual(
      (tensor.toArray() as unknown[]).flat(10),
      data.map((value) => element(datatype, value)),
      `${message}: ${name}`,
    );
  }
}
