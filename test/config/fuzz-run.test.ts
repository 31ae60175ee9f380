import assert from 'node:assert/strict';
import test from 'node:test';
import { fuzz } from './fuzz-run.js';

test('damaged and random configurations are read, or refused with file and line, in a second of fuzzing', () => {
  const { executions, read, failure } = fuzz({ seed: 1, ms: 1000 });
  assert.equal(failure, undefined, failure);
  assert.ok(executions > 10, `${executions} executions`);
  assert.ok(read > 0);
});
