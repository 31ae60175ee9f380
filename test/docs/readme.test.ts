import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { cp, mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { temporaryFolder } from '../support/repository.js';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const run = promisify(execFile);

/** Code blocks that a comment `<!-- test: name -->` stands before. */
function examples(markdown: string): { name: string; code: string }[] {
  return [...markdown.matchAll(/<!-- test: ([\w-]+) -->\s*```js\n([^]*?)```/g)].map(
    ([, name = '', code = '']) => ({
      name,
      code,
    }),
  );
}

const readme = await readFile(join(root, 'README.md'), 'utf8');
const found = examples(readme);

test('the README has examples', () => {
  assert.deepEqual(
    found.map(({ name }) => name),
    ['readme', 'batching', 'into', 'worker'],
  );
});

for (const { name, code } of found) {
  test(`the README's example '${name}' runs`, async (t) => {
    const folder = await temporaryFolder(t);
    await cp(join(root, 'examples', 'digits', 'models'), join(folder, 'models'), { recursive: true });
    await mkdir(join(folder, 'node_modules'));
    await symlink(root, join(folder, 'node_modules', 'tritonts'), 'dir');
    await symlink(
      dirname(fileURLToPath(import.meta.resolve('onnxruntime-node/package.json'))),
      join(folder, 'node_modules', 'onnxruntime-node'),
      'dir',
    );
    const file = join(folder, 'main.mjs');
    await writeFile(file, code);
    const { stdout, stderr } = await run(process.execPath, [file], { cwd: folder, timeout: 30_000 });
    assert.equal(stderr, '');
    assert.match(stdout, /\[ 1, 10 \]|\b64\b/);
  });
}
