// Builds twice, in folders with different paths and from files with different times, and compares the bytes:
//
//   npm test -- reproducible [--whole [--only <platform>]…]
//
// The tarball of the package is always compared. Of the binaries, two libraries for Linux on arm64 are. With --whole it is all that
// is published for each platform, by a copy of the compiler; that takes some minutes for each. Debug files are not compared: those
// of Windows have paths. It needs Python 3 with venv, CMake and ninja.
import { spawnSync } from 'node:child_process';
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  realpathSync,
  rmSync,
  symlinkSync,
  utimesSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { parseArgs } from 'node:util';
import { target as targetOf } from '../../dist/src/addon/platform.js';
import { pack, root } from '../package/paths.mjs';
import { writePublished } from '../package/published.mjs';
import { buildFor, buildTargets, configureFor, publishFrom } from './build.mjs';
import { targets } from './targets.mjs';

const { values } = parseArgs({
  options: {
    whole: { type: 'boolean', default: false },
    only: { type: 'string', multiple: true, default: [] },
  },
});
const unknown = values.only.find((name) => !Object.hasOwn(targets, name));
if (values.only.length > 0 && !values.whole) throw new RangeError('--only is for --whole');
if (unknown !== undefined)
  throw new RangeError(`--only: expected one of ${Object.keys(targets).join(', ')} but received ${unknown}`);

/** The platform, and its libraries, that are built without --whole: they take seconds. */
const part = { target: 'linux-arm64', files: ['tritonts_python.so', 'libtritonserver.so'] };

/** A time long ago, for the files of a copy. */
const longAgo = new Date('2001-09-09T01:46:40Z');

function age(folder) {
  for (const name of readdirSync(folder, { recursive: true }))
    utimesSync(join(folder, name), longAgo, longAgo);
}

/** A copy of what the addon is built from. The path is longer than that of the project. */
function copyOfSources() {
  const copy = realpathSync(mkdtempSync(join(tmpdir(), 'tritonts-built-in-another-folder-')));
  for (const name of ['native', 'package.json'])
    cpSync(join(root, name), join(copy, name), { recursive: true });
  age(join(copy, 'native'));
  symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'));
  return copy;
}

/** The files below folders, by their paths there. */
function filesIn(base, folders) {
  return folders.flatMap((folder) =>
    readdirSync(join(base, folder), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => relative(base, join(entry.parentPath, entry.name))),
  );
}

/** Throws if files in two folders differ. Returns what was compared, for a line. */
function compare(first, second, names) {
  if (names.length === 0) throw new Error(`${first}: there is nothing to compare`);
  const other = names.filter(
    (name) => !readFileSync(join(first, name)).equals(readFileSync(join(second, name))),
  );
  if (other.length > 0) {
    const [name] = other;
    const [a, b] = [first, second].map((folder) => readFileSync(join(folder, name)));
    const at = a.findIndex((byte, i) => byte !== b[i]);
    throw new Error(`${other.join(', ')}: other bytes when built again; ${name} from byte ${at} on`);
  }
  const bytes = names.reduce((sum, name) => sum + readFileSync(join(first, name)).length, 0);
  return `${names.length} files, ${bytes} bytes`;
}

/** Builds a part, or all, of a platform's binary in a project. Returns the build's folder, and the files to compare. */
function built(target, from) {
  if (values.whole) {
    const folder = join(buildFor(target, from), '..');
    return { folder, names: filesIn(folder, ['published']) };
  }
  // A copy of the compiler would compile its own library anew.
  const folder = configureFor(target, from, root);
  buildTargets(
    folder,
    part.files.map((file) => file.replace(/^lib|\..*$/g, '')),
  );
  publishFrom(folder, target, part.files);
  return { folder, names: filesIn(folder, ['published']) };
}

const counts = { passed: 0, failed: 0, skipped: 0 };

async function check(name, body) {
  try {
    console.log(`passed: ${name}: ${await body()}`);
    counts.passed++;
  } catch (error) {
    counts.failed++;
    console.error(`failed: ${name}: ${error.message}`);
  }
}

const base = realpathSync(mkdtempSync(join(tmpdir(), 'tritonts-packed-')));
try {
  await check('the tarball of the package, packed twice', async () => {
    const folders = ['one', 'another'].map((name) => join(base, name));
    for (const [at, folder] of folders.entries()) {
      const staged = join(folder, 'tritonts');
      await writePublished(staged, { '@tritonts/linux-x64': '0.0.0' });
      if (at > 0) age(staged);
      mkdirSync(join(folder, 'packed'));
      pack(staged, join(folder, 'packed'));
    }
    return compare(...folders, filesIn(folders[0], ['packed']));
  });
} finally {
  rmSync(base, { recursive: true, force: true });
}

const tools = ['cmake', 'ninja', 'python3'].find(
  (program) => spawnSync(program, ['--version'], { stdio: 'ignore' }).status !== 0,
);
const wanted = values.only.length > 0 ? values.only : values.whole ? Object.keys(targets) : [part.target];
for (const target of wanted) {
  const name = `${target}, ${values.whole ? 'built' : 'two libraries of it built'} twice`;
  if (tools !== undefined || (values.whole && target === targetOf())) {
    counts.skipped++;
    console.log(
      `skipped: ${name}: ${tools === undefined ? 'the compiler of this machine builds it' : `needs ${tools}`}`,
    );
    continue;
  }
  const copy = copyOfSources();
  try {
    await check(name, () => {
      const [first, second] = [root, copy].map((from) => built(target, from));
      return compare(first.folder, second.folder, first.names);
    });
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
}
console.log(`${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped`);
process.exitCode = counts.failed === 0 ? 0 : 1;
