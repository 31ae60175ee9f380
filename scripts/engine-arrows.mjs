// Checks the structure of native/: allowed includes between folders, no circles between folders or headers, and no part
// of the standard library that common compilers lack.
//
//   node scripts/engine-arrows.mjs
//
// Needs nothing but Node.
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = join(dirname(dirname(fileURLToPath(import.meta.url))), 'native');

/**
 * The folders that each folder may include, besides itself and `platform`. `engine` stands for
 * engine/backend.h.
 */
const allowed = {
  'engine/base': [],
  'engine/memory': ['engine/base'],
  'engine/request': ['engine/base', 'engine/memory'],
  engine: ['engine/base', 'engine/memory', 'engine/request'],
  'engine/scheduling': ['engine/base', 'engine/memory', 'engine/request'],
  'engine/statistics': ['engine/base', 'engine/memory', 'engine/request', 'engine/scheduling'],
  'engine/waiting': ['engine/base'],
  'engine/batch': [
    'engine',
    'engine/base',
    'engine/memory',
    'engine/request',
    'engine/scheduling',
    'engine/statistics',
    'engine/waiting',
  ],
  'engine/version': [
    'engine',
    'engine/base',
    'engine/memory',
    'engine/request',
    'engine/scheduling',
    'engine/statistics',
    'engine/waiting',
    'engine/batch',
  ],
  'engine/ensemble': [
    'engine',
    'engine/base',
    'engine/memory',
    'engine/request',
    'engine/statistics',
    'engine/version',
  ],
  'engine/port': [
    'engine',
    'engine/base',
    'engine/memory',
    'engine/request',
    'engine/statistics',
    'engine/waiting',
    'engine/version',
    'engine/server',
  ],
  'engine/server': [
    'engine',
    'engine/base',
    'engine/memory',
    'engine/request',
    'engine/statistics',
    'engine/waiting',
    'engine/version',
    'engine/ensemble',
    'engine/port',
  ],
  // Code that opens libraries reports why it could not, and asks for time when the process exits.
  // Pinned memory is handed out in blocks.
  device: ['engine/base', 'engine/memory'],
  platform: ['engine/base'],
};
/**
 * Parts of C++20 that libc++ before 19 lacks, as with common compilers for macOS. Also std::thread, which throws if the
 * system refuses a thread, and does not allow the stack size to be set.
 */
const lacking =
  /\bstd::(atomic_ref|jthread|stop_token|thread\((?!\))|thread [a-z_]|format\(|source_location)/;

/** Source files below folders, by their paths below `root`. */
const filesOf = (...folders) =>
  folders
    .flatMap((folder) =>
      readdirSync(join(root, folder), { recursive: true }).map((name) => join(folder, String(name))),
    )
    .filter((file) => /\.(h|cc)$/.test(file))
    .map((file) => file.split(sep).join('/'));

const files = filesOf('engine', 'device', 'platform');

const folderOf = (file) => dirname(file);
const faults = [];
/** Headers by the header that includes them. */
const includes = new Map();

for (const file of [...files, ...filesOf('backends', 'binding')]) {
  const text = readFileSync(join(root, file), 'utf8');
  const named = lacking.exec(text);
  if (named)
    faults.push(
      `${file}: ${named[0]} is not everywhere, or not what it seems (see scripts/engine-arrows.mjs)`,
    );
}

for (const file of files) {
  const text = readFileSync(join(root, file), 'utf8');
  const own = [];
  for (const [, path] of text.matchAll(/^#include "([^"]+)"/gm)) {
    const target = files.includes(path)
      ? path
      : relative(root, normalize(join(root, dirname(file), path)))
          .split(sep)
          .join('/');
    if (!files.includes(target)) {
      faults.push(`${file}: includes "${path}", which is no file of the engine`);
      continue;
    }
    own.push(target);
    const [from, to] = [folderOf(file), folderOf(target)];
    if (from === to || to === 'platform') continue;
    if (!allowed[from]?.includes(to)) faults.push(`${file}: ${from} may not include ${target}`);
  }
  if (file.endsWith('.h')) includes.set(file, own);
}

/** A circle of includes that contains the header; undefined if there is none. */
function circle(file, path, done) {
  if (path.includes(file)) return [...path.slice(path.indexOf(file)), file];
  if (done.has(file)) return undefined;
  for (const next of includes.get(file) ?? []) {
    const found = circle(next, [...path, file], done);
    if (found) return found;
  }
  done.add(file);
  return undefined;
}
const done = new Set();
for (const file of includes.keys()) {
  const found = circle(file, [], done);
  if (found) faults.push(`headers include each other: ${found.join(' -> ')}`);
}

for (const fault of faults) console.error(fault);
if (faults.length > 0) process.exitCode = 1;
else console.log(`${files.length} files of the engine: no arrow points outwards`);
