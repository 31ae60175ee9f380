/**
 * Sets the allocator up so that resident size shows leaks. By default glibc keeps memory that threads freed
 * in their arenas, in larger and larger pieces. Over the first half of a million requests that grows to half
 * a gigabyte, in steps, before it levels off. With a fixed threshold and few arenas, freed memory goes back
 * to the system.
 */

import { spawnSync } from 'node:child_process';

const settings = { MALLOC_MMAP_THRESHOLD_: '131072', MALLOC_ARENA_MAX: '2' } as const;

/**
 * Runs this program again if the allocator is not set up yet. Only the environment of a new process can do
 * that.
 *
 * @returns Whether it was set up. Only then may the program go on.
 */
export function allocatorIsSteady(): boolean {
  const names = Object.keys(settings) as (keyof typeof settings)[];
  if (process.platform !== 'linux' || names.every((name) => process.env[name] !== undefined)) return true;
  const { status } = spawnSync(process.execPath, [...process.execArgv, ...process.argv.slice(1)], {
    stdio: 'inherit',
    env: { ...settings, ...process.env },
  });
  process.exitCode = status ?? 1;
  return false;
}
