// Runs the compiled tests: node scripts/node-tests.mjs [mode]… [part/of/a/path]… [--option=value of node --test]…
//
// --copies       copies everything between JavaScript and the engine, as in Electron, where external buffers are forbidden
// --no-inline    without runs on the JS thread
// --no-spin      without threads that look for work before they sleep
// --plain        without optimizations: --no-inline and --no-spin
// --all          also those that take long, where no part of a path chooses tests
// --without=part leaves out the tests that have this part in their path
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { dirname, join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isLong, programsOf, programText } from './test-programs.mjs';

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
const without = '--without=';
const options = args.filter(
  (argument) =>
    argument.startsWith('--') &&
    !argument.startsWith(without) &&
    !(argument in modes) &&
    argument !== '--all',
);
const parts = args.filter((argument) => !argument.startsWith('--'));
const omitted = args
  .filter((argument) => argument.startsWith(without))
  .map((argument) => argument.slice(without.length));

// Ignore compiled files whose source was removed.
const all = readdirSync(join(root, 'dist', 'test'), { recursive: true })
  .filter((file) => file.endsWith('.test.js'))
  .map((file) => join('dist', 'test', file))
  .filter((file) => existsSync(join(root, relative('dist', file).replace(/\.js$/, '.ts'))))
  .sort();
const has = (file, part) => file.replaceAll(sep, '/').includes(part);
const chosen = all
  .filter((file) => parts.length === 0 || parts.some((part) => has(file, part)))
  .filter((file) => !omitted.some((part) => has(file, part)));
const isWhole = parts.length > 0 || args.includes('--all');
const files = chosen.filter((file) => isWhole || !isLong(root, file));
const left = chosen.length - files.length;

// `node --test` without a file would search for tests itself, and an option's value after a space would count as a part.
const named = [...parts, ...omitted];
const wrong =
  named.find((part) => !part.includes('/')) ?? named.find((part) => !all.some((file) => has(file, part)));
if (wrong !== undefined) {
  console.error(
    wrong.includes('/')
      ? `No test has '${wrong}' in its path`
      : `Expected a part of a path, with a '/', or an option, as in --test-name-pattern=add, but received '${wrong}'`,
  );
  process.exit(2);
}
if (files.length === 0) {
  console.error(`No test is left without ${omitted.join(' and ')}`);
  process.exit(2);
}

// Node starts a process for each program, in the order of their names.
mkdirSync(join(root, 'build'), { recursive: true });
const folder = mkdtempSync(join(root, 'build', 'tests-'));
const programs = programsOf(root, files).map((members, at) => {
  const [first] = members;
  const name = relative(join('dist', 'test'), first).replaceAll(sep, '.');
  const program = join(folder, `${String(at).padStart(3, '0')}.${name.replace(/\.js$/, '.mjs')}`);
  writeFileSync(program, programText(root, members));
  return program;
});

// The time limit exists only so that a test that hangs is reported.
const patience = '--test-timeout=600000';
// One file more than cores, because many tests wait for processes, threads and timers. Node's default leaves a core free.
const atOnce = `--test-concurrency=${availableParallelism() + 1}`;
// This reporter names the failed tests once more at the end, where the log of thousands of tests is read first.
const reporter = options.some((option) => option.startsWith('--test-reporter'))
  ? []
  : ['--test-reporter=spec'];
const flags = ['--test', patience, atOnce, ...reporter, ...options];
const result = spawnSync(process.execPath, [...flags, ...programs], {
  cwd: root,
  stdio: 'inherit',
  env: Object.assign({ ...process.env }, ...args.map((argument) => modes[argument] ?? {})),
});
rmSync(folder, { recursive: true });
if (left > 0) console.log(`left out: ${left} files whose tests take long; npm test -- all runs them, too`);
process.exitCode = result.status ?? 1;
