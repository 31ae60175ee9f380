// Runs the compiled tests: node scripts/node-tests.mjs [mode]… [part/of/a/path]… [--option=value of node --test]…
//
// --copies       copies everything between JavaScript and the engine, as in Electron, where external buffers are forbidden
// --no-inline    without runs on the JS thread
// --no-spin      without threads that look for work before they sleep
// --plain        without optimizations: --no-inline and --no-spin
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { dirname, join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const args = process.argv.slice(2);
const optimisations = {
  '--no-inline': { TRITONTS_INLINE: '0' },
  '--no-spin': { TRITONTS_SPIN: '0' },
};
const modes = {
  '--copies': { TRITONTS_NO_EXTERNAL_BUFFERS: '1' },
  '--plain': Object.assign({}, ...Object.values(optimisations)),
  ...optimisations,
};
const options = args.filter((argument) => argument.startsWith('--') && !(argument in modes));
const parts = args.filter((argument) => !argument.startsWith('--'));

// Ignore compiled files whose source was removed.
const all = readdirSync(join(root, 'dist', 'test'), { recursive: true })
  .filter((file) => file.endsWith('.test.js'))
  .map((file) => join('dist', 'test', file))
  .filter((file) => existsSync(join(root, relative('dist', file).replace(/\.js$/, '.ts'))))
  .sort();
const has = (file, part) => file.replaceAll(sep, '/').includes(part);
const files = all.filter((file) => parts.length === 0 || parts.some((part) => has(file, part)));

// `node --test` without a file would search for tests itself, and an option's value after a space would count as a part.
const wrong =
  parts.find((part) => !part.includes('/')) ?? parts.find((part) => !all.some((file) => has(file, part)));
if (wrong !== undefined) {
  console.error(
    wrong.includes('/')
      ? `No test has '${wrong}' in its path`
      : `Expected a part of a path, with a '/', or an option, as in --test-name-pattern=add, but received '${wrong}'`,
  );
  process.exit(2);
}

// The time limit exists only so that a test that hangs is reported.
const patience = '--test-timeout=600000';
// One file more than cores, because many tests wait for processes, threads and timers. Node's default leaves a core free.
const atOnce = `--test-concurrency=${availableParallelism() + 1}`;
// This reporter names the failed tests once more at the end, where the log of thousands of tests is read first.
const reporter = options.some((option) => option.startsWith('--test-reporter'))
  ? []
  : ['--test-reporter=spec'];
const flags = ['--test', patience, atOnce, ...reporter, ...options];
const result = spawnSync(process.execPath, [...flags, ...files], {
  cwd: root,
  stdio: 'inherit',
  env: Object.assign({ ...process.env }, ...args.map((argument) => modes[argument] ?? {})),
});
process.exitCode = result.status ?? 1;
