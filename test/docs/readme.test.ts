import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { cp, mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { digitsProgram } from '../../src/cli/init.js';
import { tritonts } from '../cli/run.js';
import { compile, linkPackages, root } from '../support/project.js';
import { temporaryFolder } from '../support/repository.js';

const run = promisify(execFile);

/** Code blocks after a comment `<!-- test: name -->`. */
function examples(markdown: string): { name: string; language: string; code: string }[] {
  return [...markdown.matchAll(/<!-- test: ([\w-]+) -->\s*```(js|cjs|ts)\n([^]*?)```/g)].map(
    ([, name = '', language = '', code = '']) => ({ name, language, code }),
  );
}

const readme = await readFile(join(root, 'README.md'), 'utf8');
const found = examples(readme);

/** The output of each example. */
const expected: Readonly<Record<string, RegExp>> = {
  digits: /^The image shows a 7\n$/,
  batching: /\b64\b[^]*batch_size: 64\b/,
  into: /^true \[ 1, 10 \]\n$/,
  pipeline: /^\[ 'a \d' \]\n$/,
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

/** Compiles main.ts as a user would, with declarations of the models. */
async function compileMain(folder: string): Promise<void> {
  const { code, stderr } = await tritonts(
    'types',
    join(folder, 'models'),
    '--output',
    join(folder, 'models.d.ts'),
  );
  assert.deepEqual([code, stderr], [0, '']);
  const options =
    '--strict --target es2022 --module nodenext --lib es2023,esnext.disposable --skipLibCheck --types node';
  assert.equal(await compile(folder, ...options.split(' '), 'main.ts', 'models.d.ts'), '');
}

/** Writes the models that the README shows, and the folder that it asks for. */
async function addPipeline(folder: string): Promise<void> {
  const files = [...readme.matchAll(/<!-- file: (\S+) -->\s*```\w+\n([^]*?)```/g)];
  assert.equal(files.length, 3);
  await mkdir(join(folder, 'models', 'reader', '1'), { recursive: true });
  for (const [, path = '', text = ''] of files) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), text);
  }
}

for (const { name, language, code } of found) {
  test(`the README's example '${name}' runs`, async (t) => {
    const folder = await temporaryFolder(t);
    await cp(join(root, 'examples', 'digits', 'models'), join(folder, 'models'), { recursive: true });
    if (name === 'pipeline') await addPipeline(folder);
    await linkPackages(folder, 'onnxruntime-node', 'onnxruntime-common', '@types');
    await writeFile(
      join(folder, 'package.json'),
      `{ "type": "${language === 'cjs' ? 'commonjs' : 'module'}" }`,
    );
    await writeFile(join(folder, language === 'ts' ? 'main.ts' : 'main.js'), code);
    if (language === 'ts') await compileMain(folder);
    const { stdout, stderr } = await run(process.execPath, ['main.js'], { cwd: folder });
    assert.equal(stderr, '');
    const output = expected[name];
    assert.ok(output, `nobody says what '${name}' prints`);
    assert.match(stdout, output);
  });
}
