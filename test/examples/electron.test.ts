import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

// These tests do not run in Electron, because npm alone does not install its program. `npm test -- electron` checks
// types.

const folder = fileURLToPath(new URL('../../../examples/electron/', import.meta.url));
const files = await readdir(folder);
const run = promisify(execFile);

for (const file of files.filter((name) => /\.c?js$/.test(name)))
  test(`examples/electron/${file} is JavaScript`, async () => {
    await run(process.execPath, ['--check', join(folder, file)]);
  });

test('each file that the example names is there', async () => {
  const named = new Set<string>();
  for (const file of files.filter((name) => /\.(c?js|html|json)$/.test(name))) {
    const text = await readFile(join(folder, file), 'utf8');
    for (const [, name = ''] of text.matchAll(/['"](?:\.\/|node )?([\w-]+\.(?:c?js|html|css))['"]/g))
      named.add(name);
  }
  assert.deepEqual([...named].sort(), files.filter((name) => /\.(c?js|html|css)$/.test(name)).sort());
});
