// Writes the tarballs that are published to build/packages: the package, and one with the binary of each platform.
//
//   npm run build && npm run package [-- --carry] [-- --debug] [-- --platform <name>,… | all]
//
// Without --platform: this platform's binary. Others are built with zig (scripts/cross/), in some minutes each, and packed
// before this platform's. --carry puts this platform's binary into the package itself (prebuilds/), for use without @tritonts/…
// --debug also writes debug files, beside the tarballs and in none of them: debug-files.mjs.
//
// `npm publish` takes the tarballs: published.mjs says why not the repository.
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { target } from '../../dist/src/addon/platform.js';
import { targets } from '../cross/targets.mjs';
import { writeBinary, writeBinaryPackage } from './binary.mjs';
import { whyNoDebugFiles, writeDebugFiles } from './debug-files.mjs';
import { manifest, pack, staging } from './paths.mjs';
import { writePublished } from './published.mjs';

/** The packages with binaries in build/packages, for this and other platforms. */
function binaryPackages() {
  const manifests = readdirSync(staging, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && existsSync(join(staging, entry.name, 'tritonts.node')))
    .map(({ name }) => JSON.parse(readFileSync(join(staging, name, 'package.json'), 'utf8')));
  for (const { name, version } of manifests) {
    if (version !== manifest.version)
      throw new Error(`${name} in ${staging} is of version ${version}, and this is ${manifest.version}`);
  }
  return Object.fromEntries(manifests.map(({ name, version }) => [name, version]).sort());
}

const { values } = parseArgs({
  options: {
    carry: { type: 'boolean', default: false },
    debug: { type: 'boolean', default: false },
    platform: { type: 'string', default: '' },
  },
});
const wanted = values.platform === 'all' ? Object.keys(targets) : values.platform.split(',');
const others = wanted.filter((name) => name !== '' && name !== target());
const unknown = others.find((name) => !Object.hasOwn(targets, name));
if (unknown !== undefined)
  throw new RangeError(
    `--platform: expected ${Object.keys(targets).join(', ')} or all but received ${unknown}`,
  );
mkdirSync(staging, { recursive: true });
for (const name of readdirSync(staging)) if (name.endsWith('.tgz')) rmSync(join(staging, name));
const binaries = [...others.map((name) => writeBinaryPackage(name)), writeBinaryPackage()];
for (const name of values.debug ? [...others, target()] : []) {
  const why = whyNoDebugFiles(name);
  if (why === undefined) writeDebugFiles(name, join(staging, name));
  else console.error(`no debug files for ${name}: ${why}`);
}

const folder = join(staging, 'tritonts');
await writePublished(folder, binaryPackages());
if (values.carry) writeBinary(join(folder, 'prebuilds', target()));
for (const ready of [...binaries, folder]) console.log(pack(ready));
