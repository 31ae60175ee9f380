/** An example with its own package.json, laid out as if its dependencies had been installed. */

import { execFile } from 'node:child_process';
import { cp, mkdir, symlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

// This file is in dist/test/examples.
const root = fileURLToPath(new URL('../../../', import.meta.url));
const compiler = join(
  dirname(createRequire(import.meta.url).resolve('typescript/package.json')),
  'bin',
  'tsc',
);

/**
 * Copies an example to a folder; its imports find this checkout and the packages that are installed in it.
 *
 * @param packages - Names of further packages that it imports.
 */
export async function layOut(example: string, folder: string, packages: readonly string[]): Promise<void> {
  await cp(join(root, 'examples', example), folder, { recursive: true });
  await mkdir(join(folder, 'node_modules'));
  await symlink(root, join(folder, 'node_modules', 'tritonts'), 'dir');
  for (const name of packages)
    await symlink(join(root, 'node_modules', name), join(folder, 'node_modules', name), 'dir');
}

/** Runs the TypeScript compiler over JavaScript files; what it says, which is nothing where all is well. */
export function checkTypes(folder: string, ...files: readonly string[]): Promise<string> {
  const options =
    '--noEmit --strict --skipLibCheck --allowJs --checkJs --target es2022 --module nodenext --lib es2023,esnext.disposable,dom --types node';
  return new Promise((resolve) => {
    execFile(
      process.execPath,
      [compiler, ...options.split(' '), ...files],
      { cwd: folder },
      (error, stdout, stderr) => {
        resolve(stdout + stderr + (error && stdout === '' ? error.message : ''));
      },
    );
  });
}
