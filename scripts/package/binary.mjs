// Writes the package with the binary for a platform, @tritonts/<platform>-<arch>[-musl]:
//
//   npm run build && node scripts/package/binary.mjs [<platform>…]
//
// Without names: this platform's, from build/Release. It goes to build/packages/<platform>-<arch>[-musl]. Packages of other
// platforms stay there.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { target as targetOf } from '../../dist/src/addon/platform.js';
import { buildFor } from '../cross/build.mjs';
import { checkBinary } from '../cross/check-binary.mjs';
import { filesOf, newestGlibc, placeOf } from '../cross/targets.mjs';
import { floors } from '../glibc-floor.mjs';
import { addresses, manifest, root, staging } from './paths.mjs';

/** Strips a binary's symbols, and checks that it runs on all supported systems. */
function strip(file) {
  execFileSync('strip', ['--strip-unneeded', file]);
  const { GLIBC, GLIBCXX } = floors(file);
  if (GLIBC?.version.localeCompare(newestGlibc, 'en', { numeric: true }) > 0)
    throw new Error(
      `${file} needs glibc ${GLIBC.version} (${GLIBC.because}), and ${newestGlibc} is the limit`,
    );
  if (GLIBCXX)
    throw new Error(`${file} needs the libstdc++ of this system: install the static one, and build it anew`);
}

/**
 * Copies a platform's built addon to a folder without its symbols, and writes its manifest beside it. This platform's was
 * built by `npm run build`; others are built here.
 */
export function writeBinary(folder, target = targetOf()) {
  const own = target === targetOf();
  const built = own ? join(root, 'build', 'Release') : buildFor(target);
  if (!existsSync(join(built, 'tritonts.node')))
    throw new Error(`${join(built, 'tritonts.node')} is not there: npm run build`);
  mkdirSync(folder, { recursive: true });
  for (const name of filesOf(target)) {
    copyFileSync(join(built, name), join(folder, name));
    if (own && process.platform === 'linux') strip(join(folder, name));
    if (!own) checkBinary(target, join(folder, name));
  }
  const bytes = readFileSync(join(folder, 'tritonts.node'));
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  const text = JSON.stringify({ version: manifest.version, bytes: bytes.length, sha256 }, null, 2);
  writeFileSync(join(folder, 'tritonts.node.json'), `${text}\n`);
}

/**
 * Writes the package of a platform, by default this one. Returns its folder.
 *
 * @param folder - Where to; it is emptied first.
 */
export function writeBinaryPackage(target = targetOf(), folder = join(staging, target)) {
  rmSync(folder, { recursive: true, force: true });
  writeBinary(folder, target);
  const own = {
    name: `@tritonts/${target}`,
    version: manifest.version,
    description: `The binary of tritonts for ${target}. Install tritonts, which names this package.`,
    license: manifest.license,
    ...addresses(manifest),
    engines: manifest.engines,
    ...placeOf(target),
    // Yarn keeps packages in archives, but this one must be unpacked.
    preferUnplugged: true,
    files: [...filesOf(target), 'tritonts.node.json'],
  };
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(own, null, 2)}\n`);
  copyFileSync(join(root, 'LICENSE'), join(folder, 'LICENSE'));
  writeFileSync(join(folder, 'README.md'), `# ${own.name}\n\n${own.description}\n`);
  return folder;
}

if (process.argv[1] === import.meta.filename) {
  const names = process.argv.slice(2);
  for (const target of names.length > 0 ? names : [targetOf()]) console.log(writeBinaryPackage(target));
}
