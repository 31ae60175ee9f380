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

/** The folders below engine/, of which the first ones are inside. `engine` stands for engine/backend.h. */
const engineFolders = {
  'engine/base': [],
  'engine/memory': ['engine/base'],
  'engine/request': ['engine/base', 'engine/memory'],
  engine: ['engine/base', 'engine/memory', 'engine/request'],
  'engine/scheduling': ['engine/base', 'engine/memory', 'engine/request'],
  'engine/sequences': ['engine/base', 'engine/memory', 'engine/request', 'engine/scheduling'],
  'engine/statistics': ['engine/base', 'engine/memory', 'engine/request', 'engine/scheduling'],
  'engine/cache': ['engine/base', 'engine/memory', 'engine/request'],
  'engine/trace': ['engine/base', 'engine/memory', 'engine/request'],
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
    'engine/sequences',
    'engine/statistics',
    'engine/trace',
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
  ],
  'engine/server': [
    'engine',
    'engine/base',
    'engine/memory',
    'engine/request',
    'engine/scheduling',
    'engine/statistics',
    'engine/trace',
    'engine/waiting',
    'engine/cache',
    'engine/version',
    'engine/ensemble',
    'engine/port',
  ],
};
const wholeEngine = Object.keys(engineFolders);
/**
 * The folders that each folder may include, besides itself and `platform`. `contract` stands for what a backend sees of
 * the engine.
 */
const allowed = {
  ...engineFolders,
  platform: [],
  // Code that opens libraries reports why it could not, and asks for time when the process exits.
  // Pinned memory is handed out in blocks.
  device: ['engine/base', 'engine/memory'],
  inbox: ['contract'],
  json: ['engine/base'],
  // A header of C, which programs outside of the addon include, too.
  include: [],
  // Native programs are to the engine what an environment is.
  c_api: [...wholeEngine, 'json', 'include'],
  // Triton's C interfaces: what plug-ins see of the engine, and of the servers in the process.
  plugins: [...wholeEngine, 'device', 'json', 'c_api', 'include', 'plugins/abi'],
  'plugins/abi': [],
  // The names by which sources that were written for Triton include them.
  'plugins/abi/triton/core': ['plugins/abi'],
  'plugins/library': ['plugins/abi'],
  // The process of a Python model is to the engine what an environment is: it makes requests, too.
  python: [...wholeEngine, 'inbox'],
  backends: ['contract'],
  'backends/common': ['contract'],
  'backends/gpu': ['contract', 'device'],
  'backends/plugin': ['contract', 'device', 'json', 'plugins', 'plugins/abi'],
  binding: [...wholeEngine, 'device', 'inbox', 'python', 'backends', 'c_api', 'include', 'plugins'],
};
/** The same for the folder of a backend. */
const allowedToBackends = ['contract', 'device', 'inbox', 'json', 'backends/common', 'backends/gpu'];
/** A header that CMake writes. */
const written = 'backend_table.h';
/**
 * Parts of C++20 that libc++ before 19 lacks, as with common compilers for macOS. Also std::thread, which throws if the
 * system refuses a thread, and does not allow the stack size to be set.
 */
const lacking =
  /\bstd::(atomic_ref|jthread|stop_token|thread\((?!\))|thread [a-z_]|format\(|source_location)/;

/** Names by which compilers tell the system. Those of processors and compilers may stand everywhere. */
const systems = /\b(_WIN32|__linux__|__APPLE__|__GLIBC__|__unix__|__MINGW\w*)\b/;

/** Source files below folders, by their paths below `root`. */
const filesOf = (...folders) =>
  folders
    .flatMap((folder) =>
      readdirSync(join(root, folder), { recursive: true }).map((name) => join(folder, String(name))),
    )
    .filter((file) => /\.(h|cc)$/.test(file))
    .map((file) => file.split(sep).join('/'));

const files = filesOf(
  'engine',
  'platform',
  'device',
  'inbox',
  'json',
  'python',
  'include',
  'c_api',
  'plugins',
  'backends',
  'binding',
);

const folderOf = (file) => dirname(file);
const faults = [];
/** The headers that a header includes. */
const includes = new Map();
/** The other folders that the files of a folder include. */
const arrows = new Map();
const textOf = (file) => readFileSync(join(root, file), 'utf8');

/** The files that a file includes, and the names of those that do not exist. */
function includedBy(file) {
  const found = [];
  const missing = [];
  for (const [, path] of textOf(file).matchAll(/^#include "([^"]+)"/gm)) {
    const beside = relative(root, normalize(join(root, dirname(file), path)))
      .split(sep)
      .join('/');
    const target = [path, beside].find((one) => files.includes(one));
    if (target !== undefined) found.push(target);
    else if (path !== written) missing.push(path);
  }
  return { found, missing };
}

/** What a backend sees of the engine: the contract, what it includes, and what the comment at its head names. */
const contract = 'engine/backend.h';
const seen = new Set([
  contract,
  ...includedBy(contract).found,
  ...(/^(\/\/.*\n)+/.exec(textOf(contract))?.[0].match(/\bengine\/[a-z_/]+\.h\b/g) ?? []),
]);
for (const file of seen) if (!files.includes(file)) faults.push(`${contract}: there is no ${file}`);

/** Whether a file of one folder may include a file. */
function mayInclude(from, target) {
  const to = folderOf(target);
  if (from === to || to === 'platform') return true;
  // A backend shares the interface of its shim with the shim, which includes nothing of ours.
  if (to === `${from}/shim`) return true;
  if (from.endsWith('/shim')) return false;
  const folders = allowed[from] ?? (from.startsWith('backends/') ? allowedToBackends : []);
  return folders.includes(to) || (folders.includes('contract') && seen.has(target));
}

for (const file of files) {
  const named = lacking.exec(textOf(file));
  if (named)
    faults.push(
      `${file}: ${named[0]} is not everywhere, or not what it seems (see scripts/engine-arrows.mjs)`,
    );
  const system = file.startsWith('platform/') ? null : systems.exec(textOf(file));
  if (system) faults.push(`${file}: ${system[0]}; what differs between systems belongs into platform/`);
  const { found, missing } = includedBy(file);
  for (const path of missing) faults.push(`${file}: includes "${path}", which is no file of native/`);
  for (const target of found) {
    if (!mayInclude(folderOf(file), target))
      faults.push(`${file}: ${folderOf(file)} may not include ${target}`);
  }
  if (file.endsWith('.h')) includes.set(file, found);
  const others = arrows.get(folderOf(file)) ?? new Set();
  for (const target of found) if (folderOf(target) !== folderOf(file)) others.add(folderOf(target));
  arrows.set(folderOf(file), others);
}

/** A circle that can be reached from the header or folder; undefined if there is none. */
function circle(graph, from, path, done) {
  if (path.includes(from)) return [...path.slice(path.indexOf(from)), from];
  if (done.has(from)) return undefined;
  for (const next of graph.get(from) ?? []) {
    const found = circle(graph, next, [...path, from], done);
    if (found) return found;
  }
  done.add(from);
  return undefined;
}
const done = new Set();
for (const file of includes.keys()) {
  const found = circle(includes, file, [], done);
  if (found) faults.push(`headers include each other: ${found.join(' -> ')}`);
}
const doneFolders = new Set();
for (const folder of arrows.keys()) {
  const found = circle(arrows, folder, [], doneFolders);
  if (found) faults.push(`folders include each other: ${found.join(' -> ')}`);
}

for (const fault of faults) console.error(fault);
if (faults.length > 0) process.exitCode = 1;
else console.log(`${files.length} files of native/: no arrow points outwards`);
