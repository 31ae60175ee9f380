/** A model with a state over HTTP and gRPC. */

import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { configText, floats, rejection } from '../support/harness.js';
import { runningSum } from '../support/models/sequences.js';
import { connectedTo, protocols } from './harness.js';

const config = configText({
  maxBatchSize: 4,
  batching: false,
  inputs: [{ name: 'x', dims: [2] }],
  outputs: [{ name: 'y', dims: [2] }],
  more: 'sequence_batching { state { input_name: "sum" output_name: "next" data_type: TYPE_FP32 dims: [ 2 ] } }',
});

for (const protocol of protocols) {
  void suite(protocol, () => {
    test('the state stays on the server', async (t) => {
      const { remote } = await connectedTo(protocol)(t, {
        m: { config, versions: { '1': runningSum(true) } },
      });
      const model = await remote.model('m');
      assert.deepEqual(
        (await model.metadata).inputs.map(({ name }) => name),
        ['x'],
      );
      const sequences = [1, 2, 3].map((step) => ({ step, sequence: model.sequence() }));
      const x = (step: number): { x: { data: number[]; shape: number[] } } => ({
        x: { data: [step, 2 * step], shape: [1, 2] },
      });
      for (let count = 1; count < 5; count++) {
        const asked = sequences.map(({ step, sequence }) =>
          count === 4 ? sequence.end(x(step)) : sequence.infer(x(step), { outputs: ['y'] }),
        );
        assert.deepEqual(
          (await Promise.all(asked)).map((result) => floats(result)),
          sequences.map(({ step }) => [count * step, 2 * count * step]),
        );
      }
      const sent = await rejection(
        model.infer({ ...x(1), sum: x(1).x }, { sequence: { id: 1, start: true } }),
      );
      assert.equal(sent.code, 'INVALID_ARG');
    });
  });
}
