import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { cp, mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { digitsProgram } from '../../src/cli/init.js';
import { tritonts } from '../cli/run.js';
import { temporaryFolder } from '../support/repository.js';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const typescript = dirname(createRequire(import.meta.url).resolve('typescript/package.json'));
const run = promisify(execFile);

/** Code blocks that a comment `<!-- test: name -->` stands before. */
function examples(markdown: string): { name: string; language: string; code: string }[] {
  return [...markdown.matchAll(/<!-- test: ([\w-]+) -->\s*```(js|cjs|ts)\n([^]*?)```/g)].map(
    ([, name = '', language = '', code = '']) => ({ name, language, code }),
  );
}

const readme = await readFile(join(root, 'README.md'), 'utf8');
const found = examples(readme);

/** What each example prints. */
const expected: Readonly<Record<string, RegExp>> = {
  digits: /^The image shows a 7\n$/,
  batching: /\b64\b[^]*batch_size: 64\b/,
  into: /^true \[ 1, 10 \]\n$/,
  types: /^\[ 1, 10 \] 10\n$/,
  commonjs: /^\[ 1, 10 \]\n$/,
  worker: /^\[ 1, 10 \]\n$/,
};

test('the README has examples', () => {
  assert.deepEqual(
    found.map(({ name }) => name),
    Object.keys(expected),
  );
});

test("the README's first program is what init prints, and its output what that says", () => {
  assert.equal(found.find(({ name }) => name === 'digits')?.code, digitsProgram('./models'));
  assert.match(readme, /```text\n\$ node digits\.mjs\nThe image shows a 7\n```/);
});

/** Compiles main.ts as a user would, with the declarations of the models. */
async function compile(folder: string): Promise<void> {
  const { code, stderr } = await tritonts(
    'types',
    join(folder, 'models'),
    '--output',
    join(folder, 'models.d.ts'),
  );
  assert.deepEqual([code, stderr], [0, '']);
  const options =
    '--strict --target es2022 --module nodenext --lib es2023,esnext.disposable --skipLibCheck --types node';
  await run(
    process.execPath,
    [join(typescript, 'bin', 'tsc'), ...options.split(' '), 'main.ts', 'models.d.ts'],
    {
      cwd: folder,
    },
  ).catch((error: unknown) => {
    throw new Error(String(error instanceof Error && 'stdout' in error ? error.stdout : error));
  });
}

for (const { name, language, code } of found) {
  test(`the README's example '${name}' runs`, async (t) => {
    const folder = await temporaryFolder(t);
    await cp(join(root, 'examples', 'digits', 'models'), join(folder, 'models'), { recursive: true });
    await mkdir(join(folder, 'node_modules'));
    await symlink(root, join(folder, 'node_modules', 'tritonts'), 'dir');
    for (const installed of ['onnxruntime-node', 'onnxruntime-common', '@types'])
      await symlink(join(root, 'node_modules', installed), join(folder, 'node_modules', installed), 'dir');
    await writeFile(
      join(folder, 'package.json'),
      `{ "type": "${language === 'cjs' ? 'commonjs' : 'module'}" }`,
    );
    await writeFile(join(folder, language === 'ts' ? 'main.ts' : 'main.js'), code);
    if (language === 'ts') await compile(folder);
    const { stdout, stderr } = await run(process.execPath, ['main.js'], { cwd: folder, timeout: 30_000 });
    assert.equal(stderr, '');
    assert.match(stdout, expected[name] ?? /^$/);
  });
}
