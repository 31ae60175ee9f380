/** A short run of the fuzzer with a fixed seed; `npm test -- fuzz-http` has more. */

// Long: it plays many random cases.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createServer } from '../../../src/index.js';
import { fuzzHttp } from './fuzz-run.js';
import { fuzzedModel } from './fuzzed-model.js';

test('damaged bodies are read or refused, and nothing else', async (t) => {
  const server = await createServer({ models: { m: fuzzedModel } });
  t.after(() => server.close({ timeoutMs: 0 }));
  const { read, answered, sent } = await fuzzHttp(server, 1, (executions) => executions === 4000);
  assert.ok(read > 100 && answered > 50, `${read} read, ${answered} answered`);
  assert.equal(sent, 250);
});
