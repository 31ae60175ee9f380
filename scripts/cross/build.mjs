// Builds the addon for another platform, with zig: build/cross/<platform>.
//
//   node scripts/cross/build.mjs <platform>…      see targets.mjs; all: every one
//
// Needs Python 3 with venv, CMake and ninja.
import { spawnSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../python-environment.mjs';
import { filesOf, targets } from './targets.mjs';
import { toolsFor, zigEnvironment } from './zig.mjs';

function run(file, args) {
  // Standard output belongs to the next program.
  const { status, error } = spawnSync(file, args, {
    cwd: root,
    stdio: ['ignore', 2, 2],
    env: { ...process.env, ...zigEnvironment },
  });
  if (status !== 0)
    throw new Error(`${file} ${args.join(' ')}: ${error?.message ?? `ended with code ${status}`}`);
}

/** Builds a platform's addon, from the project in `from`. Returns the folder with its files. */
export function buildFor(target, from = root) {
  const known = targets[target];
  if (known === undefined)
    throw new RangeError(`Expected ${Object.keys(targets).join(', ')} or all but received ${target}`);
  const { zig, system, processor } = known;
  const tools = toolsFor(zig);
  const folder = join(from, 'build', 'cross', target);
  mkdirSync(folder, { recursive: true });
  run('cmake', [
    ...['-S', join(from, 'native'), '-B', folder, '-G', 'Ninja'],
    `-DCMAKE_SYSTEM_NAME=${system}`,
    `-DCMAKE_SYSTEM_PROCESSOR=${processor}`,
    `-DCMAKE_CXX_COMPILER=${tools.cxx}`,
    `-DCMAKE_AR=${tools.ar}`,
    `-DCMAKE_RANLIB=${tools.ranlib}`,
    '-DCMAKE_BUILD_TYPE=Release',
    '-DCMAKE_UNITY_BUILD=ON',
    // Files keep no path of this machine.
    `-DCMAKE_CXX_FLAGS=-ffile-prefix-map=${from}=.`,
    '-DTRITONTS_ZIG=ON',
  ]);
  const names = filesOf(target).map((file) => file.replace(/\..*$/, ''));
  run('cmake', ['--build', folder, '--target', ...names]);
  return folder;
}

if (process.argv[1] === import.meta.filename) {
  const names = process.argv.slice(2);
  for (const target of names.includes('all') ? Object.keys(targets) : names) console.log(buildFor(target));
}
