// Long: it measures for seconds.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  allMetrics,
  canCount,
  countedEnsembles,
  countedLoads,
  countedModels,
  countedStep,
  countRequests,
  overCopied,
  overLimits,
} from '../../bench/measuring/request-cost.js';
import { createServer } from '../../src/index.js';
import '../support/fault-addon.js';
import { temporaryFolder, writeRepository } from '../support/repository.js';

const skip = canCount() ? false : 'this addon does not count';

for (const inline of ['auto', 'off'] as const) {
  test(`a batch allocates nothing and takes three locks at most, inline ${inline}`, { skip }, async (t) => {
    const modelRepository = await writeRepository(await temporaryFolder(t), countedModels());
    const server = await createServer({ modelRepository, inline, metricsConfig: allMetrics });
    t.after(() => server.close());
    for (const [model, outstanding] of countedLoads) {
      const cost = await countRequests(server, model, outstanding, 50, 100);
      assert.deepEqual(overLimits(cost), [], `${model}, ${outstanding} outstanding`);
      // Every batch locks its model, so fewer locks mean that nothing was counted.
      assert.ok(cost.counts.locks >= cost.batches, `${model}: ${JSON.stringify(cost)}`);
    }
    for (const [model, outstanding] of countedEnsembles) {
      const cost = await countRequests(server, model, outstanding, 20, 20);
      const alone = await countRequests(server, countedStep, outstanding, 20, 20);
      assert.deepEqual(overCopied(cost, alone), [], `${model}, ${outstanding} outstanding`);
    }
  });
}

test('allocations and locks are counted', { skip }, async (t) => {
  const modelRepository = await writeRepository(await temporaryFolder(t), countedModels());
  const server = await createServer({ modelRepository });
  t.after(() => server.close());
  // The first requests fill pools.
  const first = await countRequests(server, 'identity', 64, 1, 0);
  assert.ok(first.counts.allocations > 0);
  assert.match(overLimits(first).join(), /allocations a batch, 0 are allowed/);
});
