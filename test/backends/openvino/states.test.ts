import assert from 'node:assert/strict';
import { test } from 'node:test';
import { configText, floats, serve } from '../../support/harness.js';
import { growing, runningSum } from '../../support/models/sequences.js';
import { needsOpenVino } from './models.js';

test('the states of sequences stay in the server', needsOpenVino, async (t) => {
  const config = (width: number, state: string): string =>
    configText({
      backend: 'openvino',
      maxBatchSize: 4,
      batching: false,
      inputs: [{ name: 'x', dims: [width] }],
      outputs: [{ name: 'y', dims: [state === '-1' ? -1 : width] }],
      more: `default_model_filename: "model.onnx"
        sequence_batching { state { input_name: "${state === '-1' ? 'past' : 'sum'}" output_name: "${state === '-1' ? 'y' : 'next'}"
          data_type: TYPE_FP32 dims: [ ${state} ] } }`,
    });
  const server = await serve(t, {
    sum: { config: config(2, '2'), versions: { '1': { 'model.onnx': runningSum(true) } } },
    growing: { config: config(1, '-1'), versions: { '1': { 'model.onnx': growing(true, 'FP32') } } },
  });
  const sums = [1, 10].map((step) => ({ step, sequence: server.model('sum').sequence() }));
  for (let count = 1; count < 4; count++) {
    const asked = sums.map(({ step, sequence }) =>
      sequence.infer({ x: { data: [step, -step], shape: [1, 2] } }, { outputs: ['y'] }),
    );
    assert.deepEqual(
      (await Promise.all(asked)).map((result) => floats(result)),
      sums.map(({ step }) => [count * step, -count * step]),
    );
  }
  const one = server.model('growing').sequence();
  await one.infer({ x: { data: [1], shape: [1, 1] } });
  assert.deepEqual(floats(await one.end({ x: { data: [2], shape: [1, 1] } })), [0, 1, 2]);
});
