/** The page of lazy models: its program prints what it says. */

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import test from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { temporaryFolder } from '../support/repository.js';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const page = await readFile(join(root, 'docs', 'many-models.md'), 'utf8');

test('the program of the page prints what it says', async (t) => {
  const code = /<!-- test: program -->\s*```js\n([^]*?)```/.exec(page)?.[1] ?? '';
  const promised = [...code.matchAll(/console\.log\(.*\); \/\/ prints (.*)$/gm)].map(([, text = '']) => text);
  assert.equal(promised.length, 3);
  const folder = await temporaryFolder(t);
  await mkdir(join(folder, 'node_modules'));
  await symlink(root, join(folder, 'node_modules', 'tritonts'), 'dir');
  const file = join(folder, 'program.mjs');
  await writeFile(file, code);
  const options = { cwd: folder, timeout: 60_000 };
  const { stdout, stderr } = await promisify(execFile)(process.execPath, [file], options);
  assert.deepEqual([stdout, stderr], [`${promised.join('\n')}\n`, '']);
});
