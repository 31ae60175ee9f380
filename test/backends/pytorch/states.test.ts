import assert from 'node:assert/strict';
import { floats } from '../../support/harness.js';
import { eachWay, serve, torch } from './models.js';

eachWay('the states of sequences stay in the server', async (t) => {
  // The model has the arguments a and b, and the results a + b and a - b.
  const model = await torch('tuple', {
    maxBatchSize: 4,
    batching: false,
    inputs: [{ name: 'INPUT__0', dims: [2] }],
    outputs: [
      { name: 'OUTPUT__0', dims: [2] },
      { name: 'OUTPUT__1', dims: [2] },
    ],
    more: `sequence_batching { state { input_name: "STATE__1" output_name: "OUTPUT__0" data_type: TYPE_FP32 dims: [ 2 ] } }`,
  });
  const server = await serve(t, { m: model });
  const sums = [1, 10].map((step) => ({ step, sequence: server.model('m').sequence() }));
  for (let count = 1; count < 4; count++) {
    const asked = sums.map(({ step, sequence }) =>
      sequence.infer({ INPUT__0: { data: [step, -step], shape: [1, 2] } }, { outputs: ['OUTPUT__1'] }),
    );
    // The state before is subtracted.
    assert.deepEqual(
      (await Promise.all(asked)).map((result) => floats(result, 'OUTPUT__1')),
      sums.map(({ step }) => [(2 - count) * step, (count - 2) * step]),
    );
  }
});
