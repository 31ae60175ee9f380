// Writes the tarballs that are published to build/packages: the package, and one with the binary of each platform.
//
//   npm run build && npm run package [-- --carry] [-- --platform <name>,… | all]
//
// Without --platform: this platform's binary. Others are built with zig (scripts/cross/), in some minutes each, and packed
// before this platform's. --carry puts this platform's binary into the package itself (prebuilds/), for use without @tritonts/…
//
// The published manifest differs from the repository's. It names a package for each platform in build/packages; in the
// repository such names would make `npm ci` ask for unpublished packages. It leaves out fields that only building needs.
// So the repository's package is private, and `npm publish` takes the tarballs.
import { execFileSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, posix } from 'node:path';
import { parseArgs } from 'node:util';
import { target } from '../../dist/src/addon/platform.js';
import { targets } from '../cross/targets.mjs';
import { writeBinary, writeBinaryPackage } from './binary.mjs';
import { isModule, writeLibrary } from './library.mjs';
import { addresses, manifest, root, staging } from './paths.mjs';

/** Packs a folder into a tarball beside it. Returns the tarball's path. */
function pack(folder) {
  const args = ['pack', '--json', '--ignore-scripts', '--pack-destination', staging];
  const [{ filename }] = JSON.parse(execFileSync('npm', args, { cwd: folder, encoding: 'utf8' }));
  return join(staging, filename);
}

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

/** A page whose links to unpublished files lead to the repository. */
function withLinks(page, text) {
  const known = (path) => published.some((file) => file === path || file.startsWith(`${path}/`));
  return text.replace(/(?<=\]\()(?![a-z]+:|#)[^)\s#]+/g, (link) => {
    const path = posix.join(posix.dirname(page), link);
    return known(path) ? link : `${addresses(manifest).homepage.replace(/#.*$/, '')}/blob/HEAD/${path}`;
  });
}

const { values } = parseArgs({
  options: { carry: { type: 'boolean', default: false }, platform: { type: 'string', default: '' } },
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

const folder = join(staging, 'tritonts');
rmSync(folder, { recursive: true, force: true });
// The files that `npm pack` takes in the repository, without what was built here.
const [{ files }] = JSON.parse(
  execFileSync('npm', ['pack', '--json', '--dry-run', '--ignore-scripts'], { cwd: root, encoding: 'utf8' }),
);
const published = files
  .map(({ path }) => path)
  .filter((path) => !path.startsWith('build/') && !isModule(path));
for (const path of published) {
  mkdirSync(dirname(join(folder, path)), { recursive: true });
  if (/\.c?js$/.test(path)) {
    // Source maps are not published.
    const text = readFileSync(join(root, path), 'utf8').replace(/^\/\/# sourceMappingURL=.*\n?/gm, '');
    writeFileSync(join(folder, path), text, { mode: statSync(join(root, path)).mode });
  } else if (path.endsWith('.md')) {
    writeFileSync(join(folder, path), withLinks(path, readFileSync(join(root, path), 'utf8')));
  } else cpSync(join(root, path), join(folder, path));
}
await writeLibrary(folder);
const unpublished = new Set(['private', 'scripts', 'devDependencies', 'allowScripts']);
const rest = Object.fromEntries(Object.entries(manifest).filter(([key]) => !unpublished.has(key)));
writeFileSync(
  join(folder, 'package.json'),
  `${JSON.stringify({ ...rest, ...addresses(manifest), optionalDependencies: binaryPackages() }, null, 2)}\n`,
);
if (values.carry) writeBinary(join(folder, 'prebuilds', target()));
for (const ready of [...binaries, folder]) console.log(pack(ready));
