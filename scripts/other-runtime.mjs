// Runs tests with other versions of ONNX Runtime than the one this project is developed with:
//
//   node scripts/other-runtime.mjs [--quick] [version of onnxruntime-node]…
//
// By default these are the oldest allowed version and two in between. Each is installed in .other-runtime/<version>, with
// a copy of this package beside it, so that all code there finds only that version. It runs
//   the native tests of the backend, with that library;
//   the tests of backends and servers, with that version installed (--quick: without those of servers);
//   the tests of processes that use two versions at once, one of them by option, in both directions.
import { spawnSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { availableParallelism } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const read = (file) => JSON.parse(readFileSync(file, 'utf8'));
const { values, positionals } = parseArgs({
  options: { quick: { type: 'boolean', default: false } },
  allowPositionals: true,
});
const versions = positionals.length > 0 ? positionals : ['1.17.0', '1.20.1', '1.23.2'];

/** The tests that run with a version as the installed one. */
const installed = ['backends', join('ending', 'onnxruntime'), ...(values.quick ? [] : ['server'])];

/** Runs a program; false where it fails. */
function run(args, cwd, env = {}) {
  const { status, error } = spawnSync(process.execPath, args, {
    cwd,
    stdio: 'inherit',
    env: { ...process.env, ...env },
  });
  if (error) throw error;
  return status === 0;
}

/** Creates a folder with that version and this package beside it. Returns its path. */
function prepare(version) {
  const folder = join(root, '.other-runtime', version);
  const carrier = join(folder, 'node_modules', 'onnxruntime-node');
  mkdirSync(folder, { recursive: true });
  if (!existsSync(join(carrier, 'package.json'))) {
    const { name, version: own, type } = read(join(root, 'package.json'));
    writeFileSync(join(folder, 'package.json'), JSON.stringify({ name, version: own, type, private: true }));
    const npm = ['install', '--ignore-scripts', '--no-audit', '--no-fund', `onnxruntime-node@${version}`];
    const { status } = spawnSync('npm', npm, { cwd: folder, stdio: 'inherit' });
    if (status !== 0) throw new Error(`onnxruntime-node ${version} cannot be installed`);
  }
  // Copied, not linked, because Node resolves modules from the real path of the importer.
  rmSync(join(folder, 'dist'), { recursive: true, force: true });
  cpSync(join(root, 'dist'), join(folder, 'dist'), { recursive: true });
  for (const name of ['build', 'docs', 'native', 'test', 'examples']) {
    if (!existsSync(join(folder, name))) symlinkSync(join(root, name), join(folder, name));
  }
  return { folder, library: libraryOf(carrier) };
}

/** The library file of a package for this system. */
function libraryOf(carrier) {
  for (const abi of readdirSync(join(carrier, 'bin'))) {
    const folder = join(carrier, 'bin', abi, process.platform, process.arch);
    if (!existsSync(folder)) continue;
    const file = readdirSync(folder)
      .sort()
      .find((name) => /^(lib)?onnxruntime\.(so|dll|[\d.]*dylib)/.test(name));
    if (file) return join(folder, file);
  }
  throw new Error(`${carrier} has no library for this system`);
}

const developed = libraryOf(dirname(createRequire(import.meta.url).resolve('onnxruntime-node/package.json')));
const failures = [];
for (const version of versions) {
  const { folder, library } = prepare(version);
  const files = readdirSync(join(folder, 'dist', 'test'), { recursive: true })
    .filter((file) => file.endsWith('.test.js') && installed.some((part) => file.startsWith(part)))
    .map((file) => join('dist', 'test', file))
    .sort();
  const steps = {
    'native tests': () =>
      run([join(root, 'scripts', 'native-tests.mjs'), '--filter', 'onnxruntime'], root, {
        TRITONTS_TEST_ORT_LIBRARY: library,
      }),
    'tests where it is installed': () =>
      run(
        ['--enable-source-maps', '--test', `--test-concurrency=${availableParallelism() + 1}`, ...files],
        folder,
        { TRITONTS_OTHER_ORT: developed },
      ),
    'tests beside the installed one': () =>
      run([join(root, 'scripts', 'node-tests.mjs'), 'ending/onnxruntime'], root, {
        TRITONTS_OTHER_ORT: library,
      }),
  };
  for (const [name, step] of Object.entries(steps)) {
    console.log(`\n== ONNX Runtime ${version}: ${name}`);
    if (!step()) failures.push(`${version}: ${name}`);
  }
}
console.log(failures.length === 0 ? `passed with ${versions.join(', ')}` : `failed: ${failures.join('; ')}`);
process.exitCode = failures.length === 0 ? 0 : 1;
