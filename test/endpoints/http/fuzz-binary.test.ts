/** A short run of the fuzzer with a fixed seed; `npm test -- fuzz-binary` has more. */

// Long: it plays many random cases.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fuzzBinary } from './fuzz-binary-run.js';

test('binary tensors are read as they were written, and lies about them are refused', () => {
  const { honest, refused } = fuzzBinary(1, (executions) => executions === 20_000);
  assert.ok(honest > 3000 && refused > 8000, `${honest} honest, ${refused} refused`);
});
