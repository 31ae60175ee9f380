import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import test from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { streaming } from '../streams/harness.js';
import { temporaryFolder, writeRepository } from '../support/repository.js';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const run = promisify(execFile);
const faultAddon = new URL('../support/fault-addon.js', import.meta.url).href;

test('the program of the page prints what it says', async (t) => {
  const page = await readFile(join(root, 'docs', 'streams.md'), 'utf8');
  const [, code = ''] = /<!-- test: program -->\s*```js\n([^]*?)```/.exec(page) ?? [];
  const folder = await temporaryFolder(t);
  const inputs = [{ name: 'count', datatype: 'INT32', dims: [1] }] as const;
  await mkdir(join(folder, 'models'));
  await writeRepository(join(folder, 'models'), { counter: streaming({ inputs }) });
  await mkdir(join(folder, 'node_modules'));
  await symlink(root, join(folder, 'node_modules', 'tritonts'), 'dir');
  const file = join(folder, 'program.mjs');
  await writeFile(file, code);
  // The program's process, too, has the build of the addon and the table with such a backend.
  const { stdout, stderr } = await run(process.execPath, ['--import', faultAddon, file], {
    cwd: folder,
    timeout: 60_000,
  });
  assert.equal(stderr, '');
  assert.equal(stdout, '[ 0 ]\n[ 1 ]\n[ 2 ]\n10\n');
});
