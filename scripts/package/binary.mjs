// Writes the package with the binary for this platform, @tritonts/<platform>-<arch>[-musl]:
//
//   npm run build && node scripts/package/binary.mjs
//
// It goes to build/packages/<platform>-<arch>[-musl]. Packages of other platforms stay there.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { target as targetOf } from '../../dist/src/addon/platform.js';
import { floors } from '../glibc-floor.mjs';
import { addresses, manifest, root, staging } from './paths.mjs';

/** The newest glibc whose symbols a published binary may need: that of onnxruntime-node. */
const newestGlibc = '2.28';

/** The library that processes of Python models load, on Linux only. */
const stubLibrary = 'tritonts_python.so';

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

/** Copies the built addon to a folder without its symbols, and writes its manifest beside it. */
export function writeBinary(folder) {
  const built = join(root, 'build', 'Release', 'tritonts.node');
  if (!existsSync(built)) throw new Error(`${built} is not there: npm run build`);
  mkdirSync(folder, { recursive: true });
  const file = join(folder, 'tritonts.node');
  copyFileSync(built, file);
  if (process.platform === 'linux') {
    const stub = join(folder, stubLibrary);
    copyFileSync(join(dirname(built), stubLibrary), stub);
    for (const one of [file, stub]) strip(one);
  }
  const bytes = readFileSync(file);
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  const text = JSON.stringify({ version: manifest.version, bytes: bytes.length, sha256 }, null, 2);
  writeFileSync(`${file}.json`, `${text}\n`);
}

/** Writes the package of this platform. Returns its folder. */
export function writeBinaryPackage() {
  const target = targetOf();
  const folder = join(staging, target);
  rmSync(folder, { recursive: true, force: true });
  writeBinary(folder);
  const libc = process.platform === 'linux' ? [target.endsWith('-musl') ? 'musl' : 'glibc'] : undefined;
  const own = {
    name: `@tritonts/${target}`,
    version: manifest.version,
    description: `The binary of tritonts for ${target}. Install tritonts, which names this package.`,
    license: manifest.license,
    ...addresses(manifest),
    engines: manifest.engines,
    os: [process.platform],
    cpu: [process.arch],
    ...(libc ? { libc } : {}),
    // Yarn keeps packages in archives, but this one must be unpacked.
    preferUnplugged: true,
    files: ['tritonts.node', 'tritonts.node.json', ...(process.platform === 'linux' ? [stubLibrary] : [])],
  };
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(own, null, 2)}\n`);
  copyFileSync(join(root, 'LICENSE'), join(folder, 'LICENSE'));
  writeFileSync(join(folder, 'README.md'), `# ${own.name}\n\n${own.description}\n`);
  return folder;
}

if (process.argv[1] === import.meta.filename) console.log(writeBinaryPackage());
