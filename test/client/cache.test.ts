/** The response cache over a network: requests are answered from it, and statistics tell of it. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { addModel } from '../support/models.js';
import { floats, onnx, row } from '../support/harness.js';
import { connectedTo, protocols } from './harness.js';

for (const protocol of protocols) {
  const both = connectedTo(protocol);

  test(`equal requests are answered from the cache, and statistics tell of it: ${protocol}`, async (t) => {
    const cached = onnx(addModel(), { more: 'response_cache { enable: true }' });
    const { own, remote } = await both(t, { cached }, { cacheConfig: { local: { size: 2 ** 20 } } });
    for (let i = 0; i < 3; i++) {
      assert.deepEqual(floats(await remote.infer('cached', { x: row(5) })), [...row(6)]);
    }
    // The way of the request makes no difference.
    assert.ok((await own.infer('cached', { x: row(5) })).timings.cacheHit);
    const [statistics] = await remote.statistics('cached');
    const stats = statistics?.inference_stats;
    assert.deepEqual(
      [stats?.success.count, stats?.cache_hit.count, stats?.cache_miss.count, statistics?.inference_count],
      [4, 3, 1, 1],
    );
    assert.ok(stats !== undefined && stats.cache_hit.ns > 0 && stats.cache_miss.ns > 0);
  });
}
