/** The system's C compiler, for tests of what programs of C do. */

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';

const compiler = process.env['CC'] ?? 'cc';

/** The reason to skip tests that compile C; false: none. */
export const noCompiler: string | false =
  process.platform === 'win32' || spawnSync(compiler, ['--version']).status !== 0
    ? `there is no C compiler (${compiler})`
    : false;
if (noCompiler !== false) console.error(`skipped: ${noCompiler}`);

/** Compiles and links a file that programs load. Fails the test if that is impossible. */
export function sharedObject(file: string, args: readonly string[]): void {
  const system = process.platform === 'darwin' ? ['-undefined', 'dynamic_lookup'] : [];
  const { status, stderr } = spawnSync(
    compiler,
    ['-std=gnu11', '-Wall', '-fPIC', '-shared', '-pthread', ...system, ...args, '-o', file],
    { encoding: 'utf8' },
  );
  assert.equal(status, 0, stderr);
}
