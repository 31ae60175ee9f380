/**
 * Projects of users in temporary folders, laid out as if this checkout and other packages had been installed there.
 */

import { execFile } from 'node:child_process';
import { cp, mkdir, readFile, symlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

/** The checkout's folder; this file is in dist/test/support. */
export const root: string = fileURLToPath(new URL('../../../', import.meta.url));

const compiler = join(
  dirname(createRequire(import.meta.url).resolve('typescript/package.json')),
  'bin',
  'tsc',
);

/**
 * Lets the programs of a folder import this checkout, and packages that are installed in it.
 *
 * @param packages - Names of these packages.
 */
export async function linkPackages(folder: string, ...packages: readonly string[]): Promise<void> {
  await mkdir(join(folder, 'node_modules'));
  await symlink(root, join(folder, 'node_modules', 'tritonts'), 'dir');
  for (const name of packages)
    await symlink(join(root, 'node_modules', name), join(folder, 'node_modules', name), 'dir');
}

/** Copies the built code of this checkout to a folder, without files for tools. */
export async function copyCode(folder: string): Promise<void> {
  const filter = (path: string): boolean => !/\.(map|d\.c?ts)$/.test(path);
  await cp(join(root, 'dist', 'src'), join(folder, 'dist', 'src'), { recursive: true, filter });
  await cp(join(root, 'package.json'), join(folder, 'package.json'));
}

/** Copies an example to a folder, and links packages as {@link linkPackages} does. */
export async function layOut(example: string, folder: string, ...packages: readonly string[]): Promise<void> {
  await cp(join(root, 'examples', example), folder, { recursive: true });
  await linkPackages(folder, ...packages);
}

/** Runs the TypeScript compiler in a folder. Returns its output, which is empty on success. */
export function compile(folder: string, ...options: readonly string[]): Promise<string> {
  return new Promise((resolve) => {
    execFile(process.execPath, [compiler, ...options], { cwd: folder }, (error, stdout, stderr) => {
      resolve(stdout + stderr + (error && stdout === '' ? error.message : ''));
    });
  });
}

/**
 * The output of the first program of an example's README, run in the example's folder. It must not write to stderr.
 */
export async function readmeProgram(folder: string, env: NodeJS.ProcessEnv = process.env): Promise<string> {
  const readme = await readFile(join(folder, 'README.md'), 'utf8');
  const [, program = ''] = /```js\n([^]*?)```/.exec(readme) ?? [];
  const { stdout, stderr } = await promisify(execFile)(
    process.execPath,
    ['--input-type=module', '--eval', program],
    { cwd: folder, env },
  );
  if (stderr !== '') throw new Error(stderr);
  return stdout;
}
