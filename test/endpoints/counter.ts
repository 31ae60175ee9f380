/** A decoupled model for tests of streams. */

import { setImmediate } from 'node:timers/promises';
import type { GivenModel } from '../../src/index.js';

/** Counts from 0 to its input, one response each. A negative number is an error. */
export const counter: GivenModel = {
  config: {
    max_batch_size: 0,
    model_transaction_policy: { decoupled: true },
    input: [{ name: 'n', data_type: 'TYPE_FP32', dims: [1] }],
    output: [{ name: 'y', data_type: 'TYPE_FP32', dims: [1] }],
  },
  execute: (requests) =>
    requests.map(async function* ({ inputs: { n } }) {
      const count = (n as { data: Float32Array }).data[0] ?? 0;
      if (count < 0) throw new Error('it cannot count so far');
      for (let i = 0; i < count; i++) {
        await setImmediate();
        yield { y: Float32Array.of(i) };
      }
    }),
};
