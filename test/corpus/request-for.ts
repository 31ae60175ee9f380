/** Makes a request that fits a configuration, and checks the answer. */

import assert from 'node:assert/strict';
import type { InferenceServer, Inputs, ModelConfig, TensorInput } from '../../src/index.js';
import { datatypeOf } from '../../src/config/rules/description.js';
import type { Datatype } from '../../src/tensor/datatype.js';
import { variableSize } from './model-for.js';

/**
 * Sends one request with zeros, or words, to a model: two items if it batches, but one if the model gets tensors about
 * requests or has sequences, as the only request of one. Checks the names, datatypes and shapes of the outputs.
 *
 * @returns The result.
 */
export async function askOnce(server: InferenceServer, name: string): ReturnType<InferenceServer['infer']> {
  const { config } = server.model(name);
  const { sequence_batching: sequences } = config;
  const most = sequences || config.batch_input.length > 0 ? 1 : 2;
  const batch = config.max_batch_size > 0 ? [Math.min(most, config.max_batch_size)] : [];
  const shapeOf = (dims: readonly number[]): number[] => [
    ...batch,
    ...dims.map((dim) => (dim === -1 ? variableSize : dim)),
  ];
  const inputs: Inputs = Object.fromEntries(
    config.input
      .filter(({ optional }) => !optional)
      .map((input) => [input.name, zeros(typeOf(input), shapeOf(input.dims))]),
  );
  // An iterative model makes a sequence of each request by itself.
  const options =
    sequences?.iterative_sequence === false ? { sequence: { id: 7, start: true, end: true } } : undefined;
  const result = await server.infer(name, inputs, options);
  const outline = Object.values(result.outputs).map(({ datatype, shape }) => ({
    datatype,
    shape: [...shape],
  }));
  assert.deepEqual(
    Object.keys(result.outputs),
    config.output.map((output) => output.name),
  );
  assert.deepEqual(
    outline,
    config.output.map((output) => ({ datatype: typeOf(output), shape: shapeOf(output.dims) })),
  );
  return result;
}

function typeOf({ data_type }: ModelConfig['input'][number] | ModelConfig['output'][number]): Datatype {
  const datatype = datatypeOf(data_type);
  assert.ok(datatype !== undefined, `${data_type} in a complete configuration`);
  return datatype;
}

function zeros(datatype: Datatype, shape: number[]): TensorInput {
  const count = shape.reduce((product, dim) => product * dim, 1);
  const element = datatype === 'BYTES' ? 'words' : datatype === 'BOOL' ? false : 0;
  return { data: new Array<typeof element>(count).fill(element), shape, datatype };
}
