import assert from 'node:assert/strict';
import test from 'node:test';
import { fuzz } from './fuzz-run.js';

test('damaged and random configurations are read, or refused with file and line', () => {
  const { executions, read, served, failure } = fuzz({ seed: 1, executions: 200 });
  assert.equal(failure, undefined, failure);
  assert.equal(executions, 200);
  assert.ok(read > 0 && served > 0, `${read} read, ${served} served`);
});
