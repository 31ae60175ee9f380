import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { delimiter, dirname, join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { backend as executable } from '../../src/backends/python/index.js';
import { python, skip } from '../python/harness.js';
import { temporaryFolder } from '../support/repository.js';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const page = await readFile(join(root, 'docs', 'python.md'), 'utf8');

test('the model of the page runs, and its program prints what it says', { skip }, async (t) => {
  const folder = await temporaryFolder(t);
  for (const [, kind, name = '', text = ''] of page.matchAll(
    /<!-- (file|program): (\S+) -->\s*```\w*\n([^]*?)```/g,
  )) {
    const path = join(folder, kind === 'file' ? name : `${name}.mjs`);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, text);
  }
  await mkdir(join(folder, 'node_modules'));
  await symlink(root, join(folder, 'node_modules', 'tritonts'), 'dir');
  const env = { ...process.env, PATH: `${dirname(python)}${delimiter}${process.env['PATH'] ?? ''}` };
  const { stdout } = await promisify(execFile)(process.execPath, ['twice.mjs'], { cwd: folder, env });
  assert.equal(stdout.trim(), /console\.log\(.*\); \/\/ (.*)$/m.exec(page)?.[1]);
});

test('the page has all options of the backend', () => {
  const listed = [...page.matchAll(/^\| `([^`]+)` +\|/gm)].map(([, key]) => key);
  assert.deepEqual(listed.sort(), [...executable.optionKeys].sort());
});
