// Writes the debug files of a platform's binaries to build/packages/debug/<platform>. Packages never have them.
//
// Linux: <file>.debug, and links to these by the id of the binary, as debuggers look for them (.build-id/). Windows: tritonts.pdb,
// whose name is in the binary. macOS: tritonts.node.dSYM, which has the UUID of the binary. Each fits the published bytes alone.
import { execFileSync, spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { target as targetOf } from '../../dist/src/addon/platform.js';
import { whyMissing } from '../debian-package.mjs';
import { buildFor } from '../cross/build.mjs';
import { filesOf } from '../cross/targets.mjs';
import { pythonOfZig } from '../cross/zig.mjs';
import { root, staging } from './paths.mjs';

/** Why a platform has no debug files; undefined: it has. */
export function whyNoDebugFiles(target) {
  if (target === targetOf() && process.platform !== 'linux')
    return `those of a binary that this machine's compiler built are written on Linux, and this is ${process.platform}`;
  if (!target.startsWith('darwin')) return undefined;
  const why = whyMissing('llvm', ['dsymutil']);
  return why === undefined ? undefined : `dsymutil of LLVM puts them together: ${why}`;
}

/**
 * Builds this platform's files once more, with line tables, and takes these off into debug files. Throws if the code is not that
 * of the published files.
 */
function builtHere(published, folder) {
  const out = join(root, 'build', 'lines');
  const args = [join(root, 'scripts', 'build-addon.mjs'), '--out', out, '--define', 'TRITONTS_LINES=ON'];
  const { status } = spawnSync(process.execPath, args, { stdio: ['ignore', 2, 2] });
  if (status !== 0) throw new Error(`${args.join(' ')} ended with code ${status}`);
  for (const name of filesOf(targetOf())) {
    const [linked, debug] = [join(out, 'Release', name), join(folder, `${name}.debug`)];
    execFileSync('objcopy', ['--only-keep-debug', linked, debug]);
    const matched = [
      join(root, 'scripts', 'package', 'match_debug.py'),
      join(published, name),
      linked,
      debug,
    ];
    execFileSync(pythonOfZig(), matched, { stdio: ['ignore', 2, 2] });
  }
}

/** Makes a debug file found by the id of its binary, as debuggers look for it. */
function linkById(published, folder, name) {
  const notes = execFileSync('readelf', ['--notes', join(published, name)], { encoding: 'utf8' });
  const [, first, rest] = /Build ID: ([0-9a-f]{2})([0-9a-f]+)/.exec(notes) ?? [];
  if (rest === undefined) throw new Error(`${join(published, name)} has no build id`);
  const place = join(folder, '.build-id', first);
  mkdirSync(place, { recursive: true });
  symlinkSync(join('..', '..', `${name}.debug`), join(place, `${rest}.debug`));
}

/**
 * Writes a platform's debug files. Returns their folder.
 *
 * @param published - The folder with the files as they are published.
 */
export function writeDebugFiles(target, published) {
  const folder = join(staging, 'debug', target);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const files = filesOf(target);
  if (target === targetOf()) builtHere(published, folder);
  else {
    const built = join(buildFor(target), '..');
    // The linked file names the objects of the build, which have the lines.
    if (target.startsWith('darwin')) {
      for (const name of files)
        execFileSync('dsymutil', [join(built, name), '--out', join(folder, `${name}.dSYM`)], {
          stdio: ['ignore', 2, 2],
        });
    } else {
      const names = target.startsWith('win32') ? ['tritonts.pdb'] : files.map((name) => `${name}.debug`);
      for (const name of names) copyFileSync(join(built, 'debug', name), join(folder, name));
    }
  }
  if (target.startsWith('linux')) for (const name of files) linkById(published, folder, name);
  return folder;
}
