// Builds the addon and the TypeScript: npm run build [-- addon | ts]
//
// Output goes to stderr: stdout belongs to the program that runs next, such as a benchmark that prints JSON.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));

/** Lists of programs for Node. */
const parts = {
  addon: [['scripts/build-addon.mjs', '--define', 'TRITONTS_FAULTS=ON']],
  // These write sources.
  tables: [['scripts/backend-tables.mjs'], ['scripts/ui-page.mjs']],
  ts: [
    ['node_modules/typescript/bin/tsc', '-p', 'tsconfig.json'],
    ['scripts/roll-types.mjs'],
    ['scripts/package/commonjs.mjs'],
    ['scripts/bundle-command.mjs'],
  ],
};

/** What the TypeScript is built from; the lock file stands for the packages. */
const sources = [
  'bench',
  'examples',
  'scripts',
  'src',
  'test',
  'package.json',
  'package-lock.json',
  'tsconfig.json',
];
/** The state of the sources at the last build. It goes when dist/ is deleted. */
const stamp = join(root, 'dist', 'sources.sha256');

/** Paths, sizes and times of all sources, as one hash. */
function stateOfSources() {
  const hash = createHash('sha256').update(process.version);
  for (const source of sources) {
    const path = join(root, source);
    const files = statSync(path).isDirectory() ? readdirSync(path, { recursive: true }).sort() : [''];
    for (const file of files) {
      const { size, mtimeMs } = statSync(join(path, file), { throwIfNoEntry: false }) ?? {};
      hash.update(`${source}/${file}\0${size}\0${mtimeMs}\0`);
    }
  }
  return hash.digest('hex');
}

/** Whether the TypeScript is built already. The compiler takes many seconds to find that out. */
function isBuilt() {
  try {
    return readFileSync(stamp, 'utf8') === stateOfSources();
  } catch (error) {
    if (error.code !== 'ENOENT') throw error;
    return false;
  }
}

function run([file, ...args]) {
  const command = [join(root, file), ...args];
  const { status, error } = spawnSync(process.execPath, command, { cwd: root, stdio: ['inherit', 2, 2] });
  if (error) throw error;
  return status === 0;
}

function buildTypeScript() {
  if (isBuilt()) return true;
  if (!parts.tables.every(run)) return false;
  // A file that changes from here on may have been read by the compiler, or not.
  const state = stateOfSources();
  if (!parts.ts.every(run)) return false;
  writeFileSync(stamp, state);
  return true;
}

/** What can be built alone. */
const builds = { addon: () => parts.addon.every(run), ts: buildTypeScript };

/** Builds the named parts, or all parts. Returns whether the build succeeded. */
export function build(names = Object.keys(builds)) {
  return names.every((name) => builds[name]());
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const names = process.argv.slice(2);
  const unknown = names.find((name) => !Object.hasOwn(builds, name));
  if (unknown !== undefined) {
    console.error(`Expected ${Object.keys(builds).join(' or ')} but received ${unknown}`);
    process.exitCode = 2;
  } else process.exitCode = build(names.length > 0 ? names : undefined) ? 0 : 1;
}
