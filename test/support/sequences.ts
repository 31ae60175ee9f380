/** Models for tests of sequences: they answer with the sequence of each request. */

import type { GivenModel, InferResult, ModelObject } from '../../src/index.js';

/** Statements that answer with the sequence of each request, its id as text: `5n` is a number, `5` a text. */
export const tellsSequence = `return requests.map(({ sequence, inputs }) => ({
  y: [JSON.stringify([inputs.x.data[0], sequence && [typeof sequence.id === 'bigint' ? sequence.id + 'n' : sequence.id,
    sequence.start, sequence.end]])],
}));`;

/** What a model tells of a request: the first number of its input, and the id, START and END of its sequence. */
export type Told = readonly [x: number, sequence: readonly [id: string, start: boolean, end: boolean] | null];

/** The configuration of {@link teller}. */
export const tellerConfig = {
  max_batch_size: 8,
  input: [{ name: 'x', data_type: 'TYPE_FP32', dims: [-1] }],
  output: [{ name: 'y', data_type: 'TYPE_STRING', dims: [1] }],
} as const;

/** A model with the answers of {@link tellsSequence}. */
export const teller: Extract<GivenModel, ModelObject> = {
  config: { ...tellerConfig, dynamic_batching: {} },
  execute: (requests) =>
    requests.map(({ sequence, inputs: { x } }) => {
      const id = typeof sequence?.id === 'bigint' ? `${sequence.id}n` : sequence?.id;
      return {
        y: [JSON.stringify([x?.as('FP32').data[0], sequence ? [id, sequence.start, sequence.end] : null])],
      };
    }),
};

/** What {@link teller} has answered. */
export function toldIn({ outputs }: Pick<InferResult, 'outputs'>): Told {
  // The model writes this form.
  return JSON.parse(outputs['y']?.strings()[0] ?? '') as Told;
}

/** An input of {@link teller}. */
export const chunk = (x: number): { readonly x: Float32Array } => ({ x: Float32Array.of(x) });
