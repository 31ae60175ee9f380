import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { temporaryFolder } from '../support/repository.js';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const page = await readFile(join(root, 'docs', 'pipelines.md'), 'utf8');

test('the model of the page runs, and its program prints what it says', async (t) => {
  const folder = await temporaryFolder(t);
  const files = [...page.matchAll(/<!-- (file|program): (\S+) -->\s*```\w*\n([^]*?)```/g)];
  assert.equal(files.length, 3);
  let program = '';
  for (const [, kind, name = '', text = ''] of files) {
    const path = join(folder, kind === 'file' ? name : `${name}.mjs`);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, text);
    if (kind === 'program') program = path;
  }
  await mkdir(join(folder, 'node_modules'));
  await symlink(root, join(folder, 'node_modules', 'tritonts'), 'dir');
  const { stdout } = await promisify(execFile)(process.execPath, [program], { cwd: folder });
  const [, promised] = /console\.log\(.*\); \/\/ (.*)$/m.exec(page) ?? [];
  assert.equal(stdout.trim(), promised);
});
