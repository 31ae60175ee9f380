/** The random requests of the library, through HTTP. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { connectServer } from '../../src/client/index.js';
import { serveHttp } from '../../src/endpoints/http/serve.js';
import { RandomRequests } from '../requests/run.js';

test('every request gets what it sent, or the error that it may have, over HTTP as in the process', async (t) => {
  const random = await RandomRequests.start(t, 1, async (own) => {
    const endpoint = await serveHttp(own, { port: 0 });
    t.after(() => endpoint.close({ timeoutMs: 0 }));
    return connectServer(`http://127.0.0.1:${endpoint.address.port}`);
  });
  await random.run(3000);
  const { answered, cancelled } = random.outcomes;
  t.diagnostic(`${answered} answered, ${cancelled} cancelled`);
  assert.ok(answered > 0 && cancelled > 0);
});
