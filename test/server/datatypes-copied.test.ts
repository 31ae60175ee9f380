// Long: it moves much data.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

test('tensors of every datatype stay what they are where memory is not shared with native code', async () => {
  const file = fileURLToPath(new URL('datatypes.test.js', import.meta.url));
  const env: NodeJS.ProcessEnv = { ...process.env, TRITONTS_NO_EXTERNAL_BUFFERS: '1' };
  // The runner of this file sets this variable. With it, the inner run would report to that runner.
  delete env['NODE_TEST_CONTEXT'];
  // If a test fails, the promise rejects with the output.
  const { stdout } = await promisify(execFile)(process.execPath, ['--test-reporter=tap', file], { env });
  assert.match(stdout, /^# pass [1-9]\d+$/m);
});
