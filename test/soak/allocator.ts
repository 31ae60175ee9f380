/**
 * Makes the resident size tell of leaks. By default glibc keeps what threads freed in arenas of theirs, and puts larger and
 * larger pieces there as these are freed: half a gigabyte comes together, in steps, over the first half of a million
 * requests, before it levels off. With a fixed threshold and few arenas, what is freed goes back to the system.
 */

import { spawnSync } from 'node:child_process';

const settings = { MALLOC_MMAP_THRESHOLD_: '131072', MALLOC_ARENA_MAX: '2' } as const;

/**
 * Runs this program again where the allocator is not set up yet, which is for the environment of a new process to say.
 *
 * @returns Whether it was set up: only then shall the program go on.
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
