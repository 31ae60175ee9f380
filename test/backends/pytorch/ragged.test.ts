/** Batches of unequal shapes in TorchScript: the model gets one tensor of one dimension, and tensors about the batch. */

import assert from 'node:assert/strict';
import { eachWay, elements, loadError, serve, torch } from './models.js';

const together = (rows: number): string =>
  `preferred_batch_size: ${rows} max_queue_delay_microseconds: 20000000`;

eachWay('an output is cut by the shapes of the requests', async (t) => {
  const model = await torch('twice', {
    inputs: [{ name: 'x', dims: [-1], ragged: true }],
    batching: together(3),
    more: 'batch_output { target_name: "y" source_input: "x" }',
  });
  const server = await serve(t, { m: model });
  const results = await Promise.all(
    [3, 1, 2].map((length) => server.infer('m', { x: new Float32Array(length).fill(length) })),
  );
  assert.deepEqual(
    results.map(({ outputs, timings }) => [outputs['y']?.shape, timings.batchSize]),
    [
      [[1, 3], 3],
      [[1, 1], 3],
      [[1, 2], 3],
    ],
  );
  assert.deepEqual(
    results.map((result) => elements(result)),
    [[6, 6, 6], [2], [4, 4]],
  );
});

const sums = {
  inputs: [{ name: 'a__0', dims: [-1], ragged: true }],
  outputs: [{ name: 'sum__0', dims: [1] }],
  more: 'batch_input { kind: BATCH_ACCUMULATED_ELEMENT_COUNT target_name: "b__1" data_type: TYPE_FP32 source_input: "a__0" }',
} as const;

eachWay('a batch input is an argument of forward', async (t) => {
  // forward(a, b) returns a + b; of texts of one element each, b counts the texts so far.
  const model = await torch('tuple', { ...sums, batching: together(3) });
  const config = (model.config ?? '').replace(
    '"sum__0" data_type: TYPE_FP32 dims: [ 1 ]',
    '"sum__0" data_type: TYPE_FP32 dims: [ 1 ] reshape { shape: [ ] }',
  );
  const server = await serve(t, { m: { ...model, config } });
  const results = await Promise.all([10, 20, 30].map((a) => server.infer('m', { a__0: Float32Array.of(a) })));
  assert.deepEqual(
    results.map((result) => elements(result, 'sum__0')),
    [[11], [22], [33]],
  );
});

eachWay('a batch input that forward does not take fails the load', async (t) => {
  const { code, message } = await loadError(t, await torch('twice', sums));
  assert.equal(code, 'INVALID_ARG');
  assert.match(message, /configuration expects 2 inputs, model provides 1/);
});
