/** Runs the program of a page of the documentation as a user does: in a folder with the package, its runtime and models. */

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { cp, mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Context } from '../support/harness.js';
import { root } from '../support/project.js';
import { temporaryFolder } from '../support/repository.js';

const run = promisify(execFile);

/**
 * Runs the program that the page marks with its own name, or with `program`. Returns what it printed, and the folder that it ran in.
 *
 * @param prepare - Called before, with the page and the folder.
 */
export async function runPageProgram(
  t: Context,
  name: string,
  prepare?: (page: string, folder: string) => Promise<void>,
  program: string = name,
): Promise<{ readonly stdout: string; readonly folder: string }> {
  const page = await readFile(join(root, 'docs', `${name}.md`), 'utf8');
  const code = new RegExp(`<!-- test: ${program} -->\\s*\`\`\`js\\n([^]*?)\`\`\``).exec(page)?.[1];
  assert.ok(code !== undefined);
  const folder = await temporaryFolder(t);
  await cp(join(root, 'examples', 'digits', 'models'), join(folder, 'models'), { recursive: true });
  await mkdir(join(folder, 'node_modules'));
  const runtime = dirname(fileURLToPath(import.meta.resolve('onnxruntime-node/package.json')));
  await symlink(root, join(folder, 'node_modules', 'tritonts'), 'dir');
  await symlink(runtime, join(folder, 'node_modules', 'onnxruntime-node'), 'dir');
  await writeFile(join(folder, `${program}.mjs`), code);
  await prepare?.(page, folder);
  const { stdout, stderr } = await run(process.execPath, [`${program}.mjs`], {
    cwd: folder,
    timeout: 120_000,
  });
  assert.equal(stderr, '');
  return { stdout, folder };
}

/** Runs each program that the page marks as a program, in a folder with the package alone. It prints what its comments promise. */
export async function programsPrintWhatTheySay(t: Context, name: string, count: number): Promise<void> {
  const page = await readFile(join(root, 'docs', `${name}.md`), 'utf8');
  const programs = [...page.matchAll(/<!-- test: program -->\s*```js\n([^]*?)```/g)].map(
    ([, code = '']) => code,
  );
  assert.equal(programs.length, count);
  const folder = await temporaryFolder(t);
  await mkdir(join(folder, 'node_modules'));
  await symlink(root, join(folder, 'node_modules', 'tritonts'), 'dir');
  for (const code of programs) {
    const promised = [...code.matchAll(/console\.log\(.*\); \/\/ prints (.*)$/gm)].map(
      ([, text = '']) => text,
    );
    assert.ok(promised.length > 0);
    await writeFile(join(folder, 'program.mjs'), code);
    const { stdout, stderr } = await run(process.execPath, ['program.mjs'], { cwd: folder, timeout: 60_000 });
    assert.deepEqual([stdout, stderr], [`${promised.join('\n')}\n`, '']);
  }
}
