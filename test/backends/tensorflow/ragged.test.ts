/** Batches of unequal shapes in TensorFlow: the model gets one tensor of one dimension. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { floats, rejection, serve } from '../../support/harness.js';
import { needsTensorFlow, recordedModel, tensorflow } from './models.js';

const texts = {
  inputs: [{ name: 'x', dims: [-1], ragged: true }],
  outputs: [{ name: 'y', dims: [-1] }],
  batching: 'preferred_batch_size: 3 max_queue_delay_microseconds: 20000000',
  more: 'batch_output { target_name: "y" source_input: "x" }',
} as const;

test('an output is cut by the shapes of the requests', needsTensorFlow, async (t) => {
  const server = await serve(t, { m: await tensorflow(recordedModel('unranked'), texts) });
  const numbers = [[1, 2, 3], [4], [5, 6]];
  const results = await Promise.all(numbers.map((x) => server.infer('m', { x: Float32Array.from(x) })));
  assert.deepEqual(
    results.map(({ outputs, timings }) => [outputs['y']?.shape, timings.batchSize]),
    [
      [[1, 3], 3],
      [[1, 1], 3],
      [[1, 2], 3],
    ],
  );
  const [first, second, third] = results.map((result) => floats(result));
  // The model works on each element by itself.
  const alone = await server.infer('m', { x: { data: Float32Array.of(1, 2, 3, 4, 5, 6), shape: [3, 2] } });
  assert.deepEqual([first, second, third].flat(), floats(alone));
});

test('a ragged input has one dimension in the model', needsTensorFlow, async (t) => {
  const model = await tensorflow(recordedModel('perceptron'), texts);
  const { message } = await rejection(serve(t, { m: model }));
  assert.match(message, /input\[0\]\.allow_ragged_batch: .*must have one dimension to be ragged/);
});
