/** Which test files share a process (scripts/test-programs.mjs). */

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { root } from './project.js';
import { temporaryFolder, type Context } from './repository.js';

const { isLong, programsOf, programText } = (await import(
  pathToFileURL(join(root, 'scripts', 'test-programs.mjs')).href
)) as {
  isLong: (root: string, file: string) => boolean;
  programsOf: (root: string, files: readonly string[]) => string[][];
  programText: (root: string, files: readonly string[]) => string;
};

/** A checkout with these tests. Each text is that of a source, and also what it is compiled to. */
async function checkout(t: Context, files: Readonly<Record<string, string>>): Promise<string> {
  const folder = await temporaryFolder(t);
  for (const [name, text] of Object.entries(files))
    for (const file of [join('test', `${name}.ts`), join('dist', 'test', `${name}.js`)]) {
      await mkdir(dirname(join(folder, file)), { recursive: true });
      await writeFile(join(folder, file), text);
    }
  await writeFile(join(folder, 'package.json'), '{ "type": "module" }');
  return folder;
}

const compiled = (...names: readonly string[]): string[] =>
  names.map((name) => join('dist', 'test', `${name}.js`));

test('files share processes, except those with a mark, and those with the addon that has faults', async (t) => {
  const folder = await checkout(t, {
    'support/fault-addon': '',
    'support/harness': "import './fault-addon.js';\n",
    'a.test': '// Own process: it counts threads.\n',
    'b.test': '',
    'c/d.test': "import '../support/harness.js';\n",
    'c/e.test': "const text = `import './gone.js';`;\n",
    'f.test': "import { x } from './support/fault-addon.js';\n",
  });
  assert.deepEqual(programsOf(folder, compiled('a.test', 'b.test', 'c/d.test', 'c/e.test', 'f.test')), [
    compiled('a.test'),
    compiled('c/d.test', 'f.test'),
    compiled('b.test', 'c/e.test'),
  ]);
});

test('a file whose tests take long says so in a line of its own', async (t) => {
  const folder = await checkout(t, {
    'a.test': '/** About. */\n\n// Long: it measures for seconds.\n',
    'b.test': "const text = '// Long: in a text';\n",
  });
  assert.deepEqual(
    compiled('a.test', 'b.test').map((file) => isLong(folder, file)),
    [true, false],
  );
});

test('each file is in one process, and none has many more than others', async (t) => {
  const names = Array.from({ length: 30 }, (_, i) => `${String(i).padStart(2, '0')}.test`);
  const folder = await checkout(t, Object.fromEntries(names.map((name) => [name, ''])));
  const programs = programsOf(folder, compiled(...names));
  assert.deepEqual(programs.flat(), compiled(...names));
  const sizes = programs.map(({ length }) => length);
  assert.ok(sizes.length > 1 && Math.max(...sizes) - Math.min(...sizes) <= 1, sizes.join());
});

test('the tests of a file that awaits something run, and hooks only after all tests', async (t) => {
  const lines = (name: string): string => `
    after(() => console.log('said: after ${name}'));
    test('in ${name}', () => console.log('said: in ${name}'));`;
  const imports = "import { after, test } from 'node:test';";
  const folder = await checkout(t, {
    'a.test': `${imports}${lines('a')}`,
    'b.test': `${imports}\nawait new Promise((resolve) => setTimeout(resolve, 100));${lines('b')}`,
    'c.test': `${imports}${lines('c')}`,
  });
  const program = join(folder, 'program.test.mjs');
  await writeFile(program, programText(folder, compiled('a.test', 'b.test', 'c.test')));
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const { stdout } = await promisify(execFile)(process.execPath, [program], { env });
  assert.deepEqual(
    [...stdout.matchAll(/said: (.*)$/gm)].map(([, said]) => said),
    ['in a', 'in b', 'in c', 'after a', 'after b', 'after c'],
  );
});

test('a file that cannot be read fails', async (t) => {
  const folder = await checkout(t, { 'a.test': "throw new Error('broken file');" });
  const program = join(folder, 'program.test.mjs');
  await writeFile(program, programText(folder, compiled('a.test')));
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const failed = promisify(execFile)(process.execPath, [program], { env });
  await assert.rejects(failed, ({ stdout, stderr }: { stdout: string; stderr: string }) =>
    `${stdout}${stderr}`.includes('broken file'),
  );
});

test('what a test leaves changed is told', async (t) => {
  const folder = await checkout(t, {
    'a.test': "import { test } from 'node:test';\ntest('changes', () => (process.env.LEFT = '1'));",
    'b.test': '',
  });
  const program = join(folder, 'program.test.mjs');
  await writeFile(program, programText(folder, compiled('a.test', 'b.test')));
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const failed = promisify(execFile)(process.execPath, [program], { env });
  await assert.rejects(
    failed,
    ({ stdout }: { stdout: string }) => /LEFT/.test(stdout) && /have left the environment/.test(stdout),
  );
});

test('a file that measures or changes the process has one of its own', async () => {
  const folder = join(root, 'test');
  const wholeProcess = /process\.(memoryUsage|resourceUsage|cpuUsage)\b|^(delete )?process\.env\b/m;
  const files = await readdir(folder, { recursive: true });
  for (const file of files.filter((name) => name.endsWith('.test.ts'))) {
    const text = await readFile(join(folder, file), 'utf8');
    if (wholeProcess.test(text) && !file.endsWith('programs.test.ts'))
      assert.match(text, /^\/\/ Own process: /m, `test/${file}`);
    assert.doesNotMatch(text, /^await (test|suite|describe)\(/m, `test/${file} would wait for itself`);
  }
});

test('a file that ends the process does not hide that a test of another one failed', async (t) => {
  const folder = await checkout(t, {
    'a.test': "import { test } from 'node:test'; test('fails', () => { throw new Error('no'); });",
    'b.test': "import { test } from 'node:test'; test('exits', () => { process.exit(0); });",
  });
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  for (const files of [
    ['a.test', 'b.test'],
    ['b.test', 'a.test'],
  ]) {
    const program = join(folder, `${files.join('-')}.mjs`);
    await writeFile(program, programText(folder, compiled(...files)));
    await assert.rejects(promisify(execFile)(process.execPath, [program], { env }), { code: 1 });
  }
});
