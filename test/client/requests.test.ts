/** Random requests through both protocols. `npm test -- requests` makes more of them. */

// Long: it plays many random cases.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { connectServer } from '../../src/client/index.js';
import { RandomRequests } from '../requests/run.js';
import { addressOf, protocols } from './harness.js';

const requests = Math.ceil(Number(process.env['TRITONTS_REQUESTS'] ?? 20_000) / 20);
const seed = Number(process.env['TRITONTS_REQUESTS_SEED'] ?? 1);

for (const protocol of protocols) {
  test(`every request gets what it sent, or the error that it may have, over ${protocol} as in the process`, async (t) => {
    const random = await RandomRequests.start(t, seed, async (own) =>
      connectServer(await addressOf(t, protocol, own)),
    );
    await random.run(requests);
    const { answered, cancelled } = random.outcomes;
    t.diagnostic(`seed ${seed}: ${answered} answered, ${cancelled} cancelled`);
    assert.ok(answered > 0 && cancelled > 0);
  });
}
