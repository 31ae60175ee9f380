import assert from 'node:assert/strict';
import { test } from 'node:test';
import { floats, serve } from '../../support/harness.js';
import { needsTensorFlow, recordedModel, tensorflow } from './models.js';

test('the states of sequences stay in the server', needsTensorFlow, async (t) => {
  // The model has the outputs a + b and a - b. Here a is the state, and is not sent.
  const model = await tensorflow(recordedModel('two_inputs'), {
    maxBatchSize: 4,
    batching: false,
    inputs: [{ name: 'b', datatype: 'INT32', dims: [4] }],
    outputs: [{ name: 'difference', dims: [4] }],
    more: 'sequence_batching { state { input_name: "a" output_name: "sum" data_type: TYPE_FP32 dims: [ 4 ] } }',
  });
  const server = await serve(t, { m: model });
  const sums = [1, 10].map((step) => ({ step, sequence: server.model('m').sequence() }));
  for (let count = 1; count < 4; count++) {
    const asked = sums.map(({ step, sequence }) =>
      sequence.infer(
        { b: { data: [step, -step, 0, step], datatype: 'INT32', shape: [1, 4] } },
        { outputs: ['difference'] },
      ),
    );
    assert.deepEqual(
      (await Promise.all(asked)).map((result) => floats(result, 'difference')[0]),
      sums.map(({ step }) => (count - 2) * step),
    );
  }
});
