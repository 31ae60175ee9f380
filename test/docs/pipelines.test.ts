// Long: it starts many processes.

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

test('the models of the page run, and its programs print what they say', async (t) => {
  const folder = await temporaryFolder(t);
  const files = [...page.matchAll(/<!-- (file|program): (\S+) -->\s*```\w*\n([^]*?)```/g)];
  const programs: { readonly path: string; readonly promised: string | undefined }[] = [];
  for (const [, kind, name = '', text = ''] of files) {
    const path = join(folder, kind === 'file' ? name : `${name}.mjs`);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, text);
    if (kind === 'program')
      programs.push({ path, promised: /console\.log\(.*\); \/\/ (.*)$/m.exec(text)?.[1] });
  }
  assert.equal(programs.length, 3);
  await mkdir(join(folder, 'node_modules'));
  await symlink(root, join(folder, 'node_modules', 'tritonts'), 'dir');
  for (const { path, promised } of programs) {
    const { stdout } = await promisify(execFile)(process.execPath, [path], { cwd: folder });
    // A comment lists the expected lines, separated by commas.
    assert.equal(stdout.trim().split('\n').join(', '), promised);
  }
});
