/** The model of fuzz-run.ts: optional inputs of three kinds, all of which come back. */

import type { GivenModel } from '../../../src/index.js';

const dims = [-1];

/** See the head of this file. */
export const fuzzedModel: GivenModel = {
  config: {
    max_batch_size: 0,
    input: [
      { name: 'f', data_type: 'TYPE_FP32', dims, optional: true },
      { name: 's', data_type: 'TYPE_STRING', dims, optional: true },
      { name: 'i', data_type: 'TYPE_INT64', dims, optional: true },
    ],
    output: [
      { name: 'g', data_type: 'TYPE_FP32', dims },
      { name: 't', data_type: 'TYPE_STRING', dims },
      { name: 'j', data_type: 'TYPE_INT64', dims },
    ],
  },
  execute: (requests) =>
    requests.map(({ inputs: { f, s, i } }) => ({
      g: f ?? new Float32Array(0),
      t: s ?? { data: [], shape: [0] },
      j: i ?? new BigInt64Array(0),
    })),
};
