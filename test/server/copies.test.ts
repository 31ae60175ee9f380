/** The mode without external buffers, which some runtimes (Electron) forbid: all bytes are copied instead. */

// Long: it starts many processes.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const folder = fileURLToPath(new URL('.', import.meta.url));

/** Test files about memory that JavaScript and the engine exchange. */
const files = readdirSync(folder)
  .filter((name) => /^(infer.*|signal|workers)\.test\.js$/.test(name))
  .map((name) => `${folder}${name}`);

test('all that sends and receives tensors works without external buffers', { timeout: 600_000 }, async () => {
  assert.ok(files.length > 5);
  const env: NodeJS.ProcessEnv = { ...process.env, TRITONTS_NO_EXTERNAL_BUFFERS: '1' };
  // The test runner sets this variable for files that report to it.
  delete env['NODE_TEST_CONTEXT'];
  const child = spawn(process.execPath, ['--enable-source-maps', '--test', '--test-reporter=dot', ...files], {
    env,
  });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (output += text));
  const code = await new Promise((resolve) => child.on('close', resolve));
  assert.equal(code, 0, output);
});
