// Long: it starts many processes.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { cp, mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import test, { after } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { temporaryFolder } from '../support/repository.js';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const run = promisify(execFile);
const page = await readFile(join(root, 'docs', 'migration.md'), 'utf8');

/** Programs by name: with onnxruntime-node, and with tritonts. */
const programs = { before: new Map<string, string>(), after: new Map<string, string>() };
for (const [, side, name = '', code = ''] of page.matchAll(
  /<!-- (before|after): ([\w-]+) -->\s*```js\n([^]*?)```/g,
)) {
  programs[side === 'before' ? 'before' : 'after'].set(name, code);
}

const folder = await temporaryFolder({ after });
await cp(join(root, 'examples', 'digits', 'models'), join(folder, 'models'), { recursive: true });
await mkdir(join(folder, 'node_modules'));
for (const [name, target] of [
  ['tritonts', root],
  ['onnxruntime-node', dirname(fileURLToPath(import.meta.resolve('onnxruntime-node/package.json')))],
] as const) {
  await symlink(target, join(folder, 'node_modules', name), 'dir');
}

/** The output of a program, which must match its comments. */
async function output(name: string, code: string): Promise<string> {
  const file = join(folder, `${name}.mjs`);
  await writeFile(file, code);
  const { stdout, stderr } = await run(process.execPath, [file], { cwd: folder, timeout: 120_000 });
  assert.equal(stderr, '');
  const promised = [...code.matchAll(/console\.log\(.*\); \/\/ (.*)$/gm)].map(([, text]) => text);
  assert.ok(promised.length > 0);
  assert.deepEqual(stdout.split('\n').slice(0, promised.length), promised);
  return stdout;
}

test('the program of the performance page times a row', async () => {
  const performancePage = await readFile(join(root, 'docs', 'performance.md'), 'utf8');
  const [, code = ''] = /<!-- test: rows -->\s*```js\n([^]*?)```/.exec(performancePage) ?? [];
  const file = join(folder, 'rows.mjs');
  await writeFile(file, code);
  const { stdout, stderr } = await run(process.execPath, [file], { cwd: folder, timeout: 120_000 });
  assert.equal(stderr, '');
  assert.match(stdout, /^(1 rows, [\d.]+ µs each\n32 rows, [\d.]+ µs each\n){3}$/);
});

test('the program of the queueing page prints what it says', async () => {
  const queueingPage = await readFile(join(root, 'docs', 'queueing.md'), 'utf8');
  const [, code = ''] = /<!-- test: explain -->\s*```js\n([^]*?)```/.exec(queueingPage) ?? [];
  await output('explain', code);
});

test('the page has programs of both sides', () => {
  assert.deepEqual([...programs.before.keys()], ['one', 'many']);
  assert.deepEqual([...programs.after.keys()], ['one', 'many', 'tensor']);
});

for (const [name, code] of programs.after) {
  const before = programs.before.get(name);
  test(`the page's program '${name}' prints what it says${before === undefined ? '' : ', on both sides'}`, async () => {
    const printed = await output(`after-${name}`, code);
    if (before !== undefined) assert.equal(await output(`before-${name}`, before), printed);
  });
}
