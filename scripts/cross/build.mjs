// Builds the addon for another platform, with zig: build/cross/<platform>.
//
//   node scripts/cross/build.mjs <platform>…      see targets.mjs; all: every one
//
// Needs Python 3 with venv, CMake and ninja.
import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../python-environment.mjs';
import { filesOf, targets } from './targets.mjs';
import { pythonOfZig, toolsFor, zigEnvironment } from './zig.mjs';

function run(file, args, zigFrom = root) {
  // Standard output belongs to the next program.
  const { status, error } = spawnSync(file, args, {
    cwd: root,
    stdio: ['ignore', 2, 2],
    env: { ...process.env, ...zigEnvironment(zigFrom) },
  });
  if (status !== 0)
    throw new Error(`${file} ${args.join(' ')}: ${error?.message ?? `ended with code ${status}`}`);
}

/**
 * Has CMake write the build of a platform. Returns the build's folder.
 *
 * @param from - The folder of the project.
 * @param zigFrom - The folder of the project that has the compiler and its cache.
 */
export function configureFor(target, from = root, zigFrom = from) {
  const known = targets[target];
  if (known === undefined)
    throw new RangeError(`Expected ${Object.keys(targets).join(', ')} or all but received ${target}`);
  const { zig, system, processor } = known;
  const tools = toolsFor(zig, zigFrom);
  const folder = join(from, 'build', 'cross', target);
  mkdirSync(folder, { recursive: true });
  const args = [
    ...['-S', join(from, 'native'), '-B', folder, '-G', 'Ninja'],
    `-DCMAKE_SYSTEM_NAME=${system}`,
    `-DCMAKE_SYSTEM_PROCESSOR=${processor}`,
    `-DCMAKE_CXX_COMPILER=${tools.cxx}`,
    `-DCMAKE_AR=${tools.ar}`,
    `-DCMAKE_RANLIB=${tools.ranlib}`,
    '-DCMAKE_BUILD_TYPE=Release',
    '-DCMAKE_UNITY_BUILD=ON',
    '-DTRITONTS_ZIG=ON',
    '-DTRITONTS_LINES=ON',
    // Another target. Published files do not change.
    '-DTRITONTS_FAULTS=ON',
  ];
  run('cmake', args, zigFrom);
  return folder;
}

/** Builds targets of CMake, or files, in a folder that {@link configureFor} returned. */
export function buildTargets(folder, names, zigFrom = root) {
  run('cmake', ['--build', folder, '--target', ...names], zigFrom);
}

/** CMake's name of a file's target. It lacks what the system adds to a library's. */
const targetNameOf = (file) => file.replace(/^lib/, '').replace(/\..*$/, '');

/**
 * Builds a platform's addon, from the project in `from`. Returns the folder with its files as they are published. Their debug
 * files are in the folder `debug` beside that.
 */
export function buildFor(target, from = root) {
  const folder = configureFor(target, from);
  buildTargets(folder, filesOf(target).map(targetNameOf), from);
  return publishFrom(folder, target);
}

/**
 * Builds a platform's addon, and that of the tests. Returns the folder with both, and with what lies beside the addon.
 */
export function buildForTests(target) {
  const folder = configureFor(target);
  const files = [...filesOf(target), 'tritonts_faults.node'];
  buildTargets(folder, files.map(targetNameOf));
  const together = join(folder, 'for-tests');
  rmSync(together, { recursive: true, force: true });
  mkdirSync(together);
  for (const file of files) copyFileSync(join(folder, file), join(together, file));
  return together;
}

/**
 * Writes built files as they are published, and their debug files. Returns the folder with the former.
 *
 * @param folder - That of the build.
 * @param files - Names; default: all of the platform.
 */
export function publishFrom(folder, target, files = filesOf(target)) {
  const { system } = targets[target];
  const [published, debug] = ['published', 'debug'].map((name) => join(folder, name));
  for (const one of [published, debug]) {
    rmSync(one, { recursive: true, force: true });
    mkdirSync(one);
  }
  const python = (script, ...paths) => run(pythonOfZig(), [join(root, 'scripts', 'cross', script), ...paths]);
  for (const file of files) {
    const [linked, bare] = [join(folder, file), join(published, file)];
    if (system === 'Linux') python('strip_elf.py', linked, bare, join(debug, `${file}.debug`));
    else if (system === 'Darwin') python('strip_macho.py', linked, bare);
    else {
      // The binary names the file with the symbols, without a folder.
      const symbols = join(folder, 'tritonts.pdb');
      python('seal_pe.py', linked, bare, symbols);
      copyFileSync(symbols, join(debug, 'tritonts.pdb'));
    }
  }
  return published;
}

if (process.argv[1] === import.meta.filename) {
  const names = process.argv.slice(2);
  for (const target of names.includes('all') ? Object.keys(targets) : names) console.log(buildFor(target));
}
