/** The page of repository agents: its program prints what it says. */

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import test from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { temporaryFolder } from '../support/repository.js';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const page = await readFile(join(root, 'docs', 'agents.md'), 'utf8');

test('the programs of the page print what they say', async (t) => {
  const programs = [...page.matchAll(/<!-- test: program -->\s*```js\n([^]*?)```/g)].map(
    ([, code = '']) => code,
  );
  assert.equal(programs.length, 1);
  const promisedIn = (code: string): string[] =>
    [...code.matchAll(/console\.log\(.*\); \/\/ prints (.*)$/gm)].map(([, text = '']) => text);
  const folder = await temporaryFolder(t);
  await mkdir(join(folder, 'node_modules'));
  await symlink(root, join(folder, 'node_modules', 'tritonts'), 'dir');
  for (const code of programs) {
    const promised = promisedIn(code);
    assert.ok(promised.length > 0);
    const file = join(folder, 'program.mjs');
    await writeFile(file, code);
    const options = { cwd: folder, timeout: 60_000 };
    const { stdout, stderr } = await promisify(execFile)(process.execPath, [file], options);
    assert.deepEqual([stdout, stderr], [`${promised.join('\n')}\n`, '']);
  }
});
