// Builds the programs of native/test.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build as buildParts } from './build.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));

/** The build folder for each set of sanitizers. Their builds cannot be mixed. */
const folders = {
  'address,undefined': join('build', 'native-tests-asan'),
  thread: join('build', 'native-tests-tsan'),
};

function cmake(...args) {
  // Standard output belongs to the programs.
  const { status, signal, error } = spawnSync('cmake', args, { stdio: ['ignore', 2, 2], cwd: root });
  if (error) throw error;
  if (status !== 0) {
    console.error(`cmake ${args.join(' ')} ended with ${status ?? signal}`);
    process.exit(status ?? 1);
  }
}

/**
 * Builds the programs with these names, or ends the process if that fails. Returns the folder that has them.
 *
 * Without sanitizers they share the compiled files and the folder of the addon, which is built first. With sanitizers they also
 * assert the engine's rules, and need no Node.
 *
 * @param sanitize - The sanitizers: `address,undefined` or `thread`.
 */
export function buildPrograms(names, sanitize = '') {
  const own = folders[sanitize];
  if (sanitize !== '' && own === undefined)
    throw new RangeError(
      `Expected ${Object.keys(folders).join(' or ')} for --sanitize but received ${sanitize}`,
    );
  const build = join(root, own ?? 'build');
  if (own === undefined && !buildParts(['addon'])) process.exit(1);
  const isConfigured = existsSync(join(build, 'CMakeCache.txt'));
  const hasNinja = () => spawnSync('ninja', ['--version']).status === 0;
  const alone = [
    '-DCMAKE_BUILD_TYPE=Debug',
    '-DTRITONTS_ADDON=OFF',
    '-DTRITONTS_CHECKS=ON',
    `-DTRITONTS_SANITIZE=${sanitize}`,
  ];
  cmake(
    ...['-S', join(root, 'native'), '-B', build, '-DTRITONTS_TESTS=ON'],
    ...(own === undefined ? [] : alone),
    ...(!isConfigured && hasNinja() ? ['-G', 'Ninja'] : []),
  );
  cmake('--build', build, '--parallel', String(availableParallelism()), '--target', ...names);
  return build;
}
