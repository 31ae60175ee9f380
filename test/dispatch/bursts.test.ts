/** After a burst, memory is freed. Later requests must still get their own answers. */

// Long: it moves much data.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { identity, row, serve } from '../support/harness.js';

test('requests of many shapes keep to their answers, burst after burst', async (t) => {
  const tensors = { inputs: [{ name: 'x', dims: [-1] }], outputs: [{ name: 'y', dims: [-1] }] };
  const server = await serve(t, { echo: identity({ ...tensors, maxBatchSize: 16 }) });
  for (let burst = 0; burst < 6; burst++) {
    // No two neighbours have equal shapes, so each is a group. These are more groups than are kept.
    const inputs = Array.from({ length: 2500 }, (_, i) => row(i, 1 + ((i * 7 + burst) % 900)));
    const results = await Promise.all(inputs.map((x) => server.infer('echo', { x })));
    for (const [i, { outputs }] of results.entries()) assert.deepEqual(outputs['y']?.data, inputs[i]);
    // These have equal shapes, which differ from those of the groups that are used again.
    const x = row(burst, 3 + burst);
    const alike = await Promise.all(Array.from({ length: 40 }, () => server.infer('echo', { x })));
    for (const { outputs } of alike) assert.deepEqual(outputs['y']?.data, x);
  }
});
