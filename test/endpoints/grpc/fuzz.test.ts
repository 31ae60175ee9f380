/** A short run of the fuzzer with a fixed seed; `npm test -- fuzz-grpc` has more. */

// Long: it plays many random cases.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createServer } from '../../../src/index.js';
import { fuzzedModel } from '../http/fuzzed-model.js';
import { fuzzGrpc } from './fuzz-run.js';

test('damaged frames and messages are read or refused, and nothing else', async (t) => {
  const server = await createServer({ models: { m: fuzzedModel } });
  t.after(() => server.close({ timeoutMs: 0 }));
  const { read, answered, sent } = await fuzzGrpc(server, 1, (executions) => executions === 4000);
  assert.ok(read > 100 && answered > 50, `${read} read, ${answered} answered`);
  assert.equal(sent, 250);
});
