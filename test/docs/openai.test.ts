/** The program of docs/openai.md, with the model of the page. */

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import test from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { executing, script } from '../javascript/harness.js';
import { temporaryFolder, writeRepository } from '../support/repository.js';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const run = promisify(execFile);

test('the program of the page prints what it says', async (t) => {
  const page = await readFile(join(root, 'docs', 'openai.md'), 'utf8');
  const parts = new Map(
    [...page.matchAll(/<!-- test: ([\w.]+) -->\s*```\w+\n([^]*?)```/g)].map(([, name = '', text = '']) => [
      name,
      text,
    ]),
  );
  const part = (name: string): string => parts.get(name) ?? assert.fail(`the page has no ${name}`);
  const folder = await temporaryFolder(t);
  await mkdir(join(folder, 'models'));
  await writeRepository(join(folder, 'models'), {
    parrot: {
      config: part('parrot.pbtxt'),
      versions: { '1': { 'model.mjs': part('parrot.js') } },
      files: { 'chat_template.jinja': '{{ messages[0].content }}' },
    },
    lengths: script(
      executing(
        'return requests.map(({ inputs }) => ({ y: Float32Array.from(inputs.x.strings().flatMap(({ length }) => [length, length ** 2])) }));',
      ),
      {
        inputs: [{ name: 'x', datatype: 'BYTES', dims: [1] }],
        outputs: [{ name: 'y', datatype: 'FP32', dims: [2] }],
      },
    ),
  });
  await mkdir(join(folder, 'node_modules'));
  for (const [name, target] of [
    ['tritonts', root],
    ['openai', join(root, 'node_modules', 'openai')],
  ] as const)
    await symlink(target, join(folder, 'node_modules', name), 'dir');
  const file = join(folder, 'program.mjs');
  await writeFile(file, part('program'));
  const { stdout, stderr } = await run(process.execPath, [file], { cwd: folder, timeout: 60_000 });
  assert.equal(stderr, '');
  assert.equal(stdout, 'to be or not\n[ [ 1, 1 ], [ 3, 9 ] ]\n');
});
