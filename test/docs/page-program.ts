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
 * Runs the program that the page marks with its own name. Returns what it printed, and the folder that it ran in.
 *
 * @param prepare - Called before, with the page and the folder.
 */
export async function runPageProgram(
  t: Context,
  name: string,
  prepare?: (page: string, folder: string) => Promise<void>,
): Promise<{ readonly stdout: string; readonly folder: string }> {
  const page = await readFile(join(root, 'docs', `${name}.md`), 'utf8');
  const code = new RegExp(`<!-- test: ${name} -->\\s*\`\`\`js\\n([^]*?)\`\`\``).exec(page)?.[1];
  assert.ok(code !== undefined);
  const folder = await temporaryFolder(t);
  await cp(join(root, 'examples', 'digits', 'models'), join(folder, 'models'), { recursive: true });
  await mkdir(join(folder, 'node_modules'));
  const runtime = dirname(fileURLToPath(import.meta.resolve('onnxruntime-node/package.json')));
  await symlink(root, join(folder, 'node_modules', 'tritonts'), 'dir');
  await symlink(runtime, join(folder, 'node_modules', 'onnxruntime-node'), 'dir');
  await writeFile(join(folder, `${name}.mjs`), code);
  await prepare?.(page, folder);
  const { stdout, stderr } = await run(process.execPath, [`${name}.mjs`], { cwd: folder, timeout: 120_000 });
  assert.equal(stderr, '');
  return { stdout, folder };
}
