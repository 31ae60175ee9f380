// Installs packages of Debian that a test needs, if it can.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { isAbsolute } from 'node:path';

/** How long apt-get may take at each step, in milliseconds. */
const patienceMs = 180_000;

const has = (program) =>
  isAbsolute(program)
    ? existsSync(program)
    : spawnSync(program, ['--version'], { stdio: 'ignore' }).status === 0;

/**
 * Looks for programs, and installs the packages that have them if they are missing, which needs root.
 *
 * @param {string | readonly string[]} names - Of the packages.
 * @param {readonly string[]} programs - Which they have; also absolute paths of files.
 * @returns {string | undefined} Why they are missing after that; undefined: they are there.
 */
export function whyMissing(names, programs) {
  if (programs.every(has)) return undefined;
  if (!has('apt-get')) return 'there is no apt-get';
  if (process.getuid?.() !== 0) return 'only root may install it';
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive', RUNLEVEL: '1' };
  for (const args of [
    ['update', '-qq'],
    ['install', '-qq', '-y', '--no-install-recommends', ...[names].flat()],
  ]) {
    const { status, error } = spawnSync('apt-get', args, {
      stdio: ['ignore', 'ignore', 'inherit'],
      env,
      timeout: patienceMs,
    });
    if (status !== 0)
      return `apt-get ${args[0]} ${error ? `took longer than ${patienceMs / 1000} s` : `ended with ${status}`}`;
  }
  return programs.every(has) ? undefined : `${[names].flat().join(' ')}: brings no ${programs.join(' and ')}`;
}
