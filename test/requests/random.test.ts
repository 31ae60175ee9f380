/**
 * Random requests in every form. `npm test -- requests --requests 1000000 --seed N` makes more of them,
 * or others. A failure prints its seed.
 */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RandomRequests } from './run.js';

const requests = Number(process.env['TRITONTS_REQUESTS'] ?? 20_000);
const seed = Number(process.env['TRITONTS_REQUESTS_SEED'] ?? 1);

test('every request gets what it sent, or the error that it may have', async (t) => {
  t.diagnostic(`seed ${seed}`);
  const random = await RandomRequests.start(t, seed);
  await random.run(requests);
  const { answered, cancelled, refused } = random.outcomes;
  t.diagnostic(`${answered} answered, ${cancelled} cancelled, ${refused} refused`);
  // The numbers of cancelled and refused requests depend on the machine's speed. A run without answers or
  // cancellations would prove nothing.
  assert.ok(answered > 0 && cancelled > 0);
});
