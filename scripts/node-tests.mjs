// Runs the compiled tests: node scripts/node-tests.mjs [mode]… [part/of/a/path]… [--option=value of node --test]…
//
// --copies       copies everything between JavaScript and the engine, as in Electron, where external buffers are forbidden
// --no-inline    without runs on the JS thread
// --no-spin      without threads that look for work before they sleep
// --plain        without optimizations: --no-inline and --no-spin
// --without=part leaves out the tests that have this part in their path
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { dirname, join, relative, sep } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

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
  (argument) => argument.startsWith('--') && !argument.startsWith(without) && !(argument in modes),
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
const files = all
  .filter((file) => parts.length === 0 || parts.some((part) => has(file, part)))
  .filter((file) => !omitted.some((part) => has(file, part)));

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

// Node starts a process for each file. Its start and its imports take longer than many tests, so that files whose tests change
// nothing that others see share one: a line here is a process, with a folder and its files, or all of them. The files of a
// process load the same addon, and leave alone its environment, its folder, its listeners and its memory.
const shared = [
  ['config'],
  ['tensor'],
  ['backends/fil'],
  [
    'bench',
    'figures histogram limits measure options report rounds statistics compare/options scale/options',
  ],
  ['dispatch', 'bursts flush groups late-listeners many-cancelled slabs'],
  ['docs', 'api architecture compatibility references'],
  ['endpoints/grpc', 'call-list compression infer serve'],
  ['endpoints/http', 'calls fuzz-binary infer json-output known-forms own-server serve'],
  ['ensemble', 'branches infer rules'],
  ['metrics', 'custom exposition machine metrics-config serve'],
  ['registry', 'check-repository versions sources/model-source sources/folder/folder-source'],
  ['scheduling', 'inline-budget policy'],
  [
    'server',
    'across-shapes batch-errors channels halves identity-options infer infer-datatypes infer-errors infer-pages',
  ],
  [
    'server',
    'infer-results labels max-bytes model-table optional own-outputs rank-zero reshape rows statistics',
  ],
  ['server', 'completion create create-failures into many-models map model-file progress reload'],
  ['server', 'unfit-files unknown-rank unseen-changes'],
  // With the addon that has faults.
  ['server', 'attach close explain explicit infer-batches limit map-stop'],
  ['server', 'queue-delay queue-policy queue-policy-options queue-policy-order'],
  ['support', 'models repository onnx/graph onnx/random onnx/tensor'],
];
// In front of 'dist' by its name, so that Node starts the longest programs first.
mkdirSync(join(root, 'build'), { recursive: true });
const folder = mkdtempSync(join(root, 'build', 'tests-'));
const programs = shared.reduce((rest, [place, names], number) => {
  const members = names?.split(' ').map((name) => `/${place}/${name}.test.js`) ?? [`/${place}/`];
  const chosen = rest.filter((file) => members.some((member) => has(file, `dist/test${member}`)));
  if (chosen.length < 2) return rest;
  const program = join(folder, `${number}.test.mjs`);
  const imports = chosen.map((file) => `import '${pathToFileURL(join(root, file)).href}';\n`);
  writeFileSync(program, imports.join(''));
  return [program, ...rest.filter((file) => !chosen.includes(file))];
}, files);
// A name that has gone would silently put its file into a process of its own.
const gone = shared.flatMap(([place, names = '']) =>
  names
    .split(' ')
    .filter((name) => name !== '' && !all.some((file) => has(file, `/${place}/${name}.test.js`))),
);
if (gone.length > 0) throw new Error(`shared programs name tests that do not exist: ${gone.join(', ')}`);

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
process.exitCode = result.status ?? 1;
