/** Random requests through both protocols. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { connectServer } from '../../src/client/index.js';
import { RandomRequests } from '../requests/run.js';
import { addressOf, protocols } from './harness.js';

for (const protocol of protocols) {
  test(`every request gets what it sent, or the error that it may have, over ${protocol} as in the process`, async (t) => {
    const random = await RandomRequests.start(t, 1, async (own) =>
      connectServer(await addressOf(t, protocol, own)),
    );
    await random.run(3000);
    const { answered, cancelled } = random.outcomes;
    t.diagnostic(`${answered} answered, ${cancelled} cancelled`);
    assert.ok(answered > 0 && cancelled > 0);
  });
}
