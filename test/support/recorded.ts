/** Models with the requests and answers that a framework's own Python has recorded. */

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import type { Datatype, InferResult } from '../../src/index.js';
import type { InputElement } from '../../src/tensor/inputs.js';
import type { ConfigOptions } from './harness.js';

/** A tensor of a request or an answer. The elements of BYTES are in base64. */
export interface RecordedTensor {
  readonly datatype: Datatype;
  readonly shape: readonly number[];
  readonly data: readonly (number | boolean | string)[];
}

/** A model of the fixtures. */
export interface RecordedModel {
  readonly name: string;
  readonly file: string;
  readonly inputs: Readonly<Record<string, RecordedTensor>>;
  readonly outputs: Readonly<Record<string, RecordedTensor>>;
}

/** The models that `make_models.py` of a backend has recorded in a file. */
export async function readRecorded(file: string): Promise<readonly RecordedModel[]> {
  const { models } = JSON.parse(await readFile(file, 'utf8')) as {
    readonly models: Readonly<Record<string, Omit<RecordedModel, 'name'>>>;
  };
  return Object.entries(models).map(([name, model]) => ({ name, ...model }));
}

/** A model by its name. */
export function recordedAmong(models: readonly RecordedModel[], name: string): RecordedModel {
  const found = models.find((model) => model.name === name);
  assert.ok(found, `there is no model '${name}'`);
  return found;
}

/** The inputs or outputs of a configuration. Without batches the first dimension is variable. */
export function tensorTexts(
  side: Readonly<Record<string, RecordedTensor>>,
  batching: boolean,
): NonNullable<ConfigOptions['inputs']> {
  return Object.entries(side).map(([name, { datatype, shape }]) => ({
    name,
    datatype,
    dims: batching ? shape.slice(1) : shape.map((dim, index) => (index === 0 ? -1 : dim)),
  }));
}

/** A recorded tensor as an input of a request. A tensor without dimensions has shape [1]. */
export function asInput({ datatype, shape, data }: RecordedTensor): {
  readonly data: InputElement[];
  readonly shape: readonly number[];
} {
  return { data: data.map((value) => element(datatype, value)), shape: shape.length === 0 ? [1] : shape };
}

/** The inputs of a recorded request. */
export function asked(model: Pick<RecordedModel, 'inputs'>): Record<string, ReturnType<typeof asInput>> {
  return Object.fromEntries(Object.entries(model.inputs).map(([name, tensor]) => [name, asInput(tensor)]));
}

/** A row of a recorded tensor, with the batch dimension. */
export function rowOf(tensor: RecordedTensor, row: number): RecordedTensor {
  const [, ...dims] = tensor.shape;
  const size = dims.reduce((product, dim) => product * dim, 1);
  return { ...tensor, shape: [1, ...dims], data: tensor.data.slice(row * size, (row + 1) * size) };
}

function element(datatype: Datatype, value: number | boolean | string): InputElement {
  if (typeof value === 'string') return Buffer.from(value, 'base64');
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
