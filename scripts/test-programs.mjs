// Which compiled tests share a process. Node's start and the package's imports take longer than many tests.
//
// Files that follow each other by their paths share processes, a few files in each. A file that measures or changes what belongs to the whole process
// says so in a line of its source, and has a process of its own:
//
//   // Own process: <reason>
//
// A file whose tests take long, such as those that measure for seconds, says so likewise. It runs if it is chosen by its path, and with `all`:
//
//   // Long: <reason>
//
// A process loads one addon. So files that select the addon with faults share processes only with each other.
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { pathToFileURL } from 'node:url';

/** The most files of a process. More would save little, and let other cores idle at the end. */
const most = 8;
const ownMark = /^\/\/ Own process: /m;
const longMark = /^\/\/ Long: /m;

/** The source of a compiled file of the tests. */
const sourceOf = (root, file) =>
  readFileSync(join(root, relative('dist', file).replace(/\.js$/, '.ts')), 'utf8');

/** Whether a compiled file's tests take long. */
export function isLong(root, file) {
  return longMark.test(sourceOf(root, file));
}

/** Whether a compiled file of the tests selects the addon with faults, itself or by its imports. */
function selectsFaults(file, tests, known) {
  // A text of a program within a test may import files that are not here.
  if (relative(tests, file).startsWith('..') || !existsSync(file)) return false;
  const found = known.get(file);
  if (found !== undefined) return found;
  known.set(file, false);
  const imports = [...readFileSync(file, 'utf8').matchAll(/(?:from|import) '(\.[^']+\.js)'/g)];
  const selects =
    file === join(tests, 'support', 'fault-addon.js') ||
    imports.some(([, path]) => selectsFaults(join(dirname(file), path), tests, known));
  known.set(file, selects);
  return selects;
}

/**
 * Divides test files among processes.
 *
 * @param root - The checkout.
 * @param files - Paths of compiled tests from there, sorted.
 * @returns Lists of files that share a process.
 */
export function programsOf(root, files) {
  const tests = join(root, 'dist', 'test');
  const known = new Map();
  const alone = [];
  const shared = { faults: [], users: [] };
  for (const file of files) {
    if (ownMark.test(sourceOf(root, file))) alone.push([file]);
    else shared[selectsFaults(join(root, file), tests, known) ? 'faults' : 'users'].push(file);
  }
  // Equal parts: a part of one file would start a process for little.
  const parts = Object.values(shared).flatMap((all) => {
    const count = Math.ceil(all.length / most);
    const from = (part) => Math.round((part * all.length) / count);
    return Array.from({ length: count }, (_, part) => all.slice(from(part), from(part + 1)));
  });
  return [...alone, ...parts];
}

/**
 * The text of a program that runs test files in one process.
 *
 * The first test ends when all files are read: without it, a root hook of a file would run as soon as no test is left, although another
 * file that awaits something has not declared its tests yet. The last test fails if the others have changed what all share.
 * A file that ends the process does not hide the failures of the others.
 */
export function programText(root, files) {
  const imports = files.map((file) => `await import('${pathToFileURL(join(root, file)).href}');\n`);
  if (imports.length === 1) return imports[0];
  return `import assert from 'node:assert/strict';
import { after, test } from 'node:test';

let whole = false;
// With --test-name-pattern the last test may be left out.
after(() => { whole = true; });
process.on('exit', () => { if (!whole) process.exitCode = 1; });
let read;
test('the files of this process are read', () => new Promise((resolve) => (read = resolve)));
try {
${imports.join('')}} finally {
  read();
}
const env = { ...process.env };
const folder = process.cwd();
test('the tests have left the environment and the folder of the process as they were', () => {
  whole = true;
  // The package sets these once in a process, before it opens ONNX Runtime and TensorFlow.
  for (const name of ['ORT_DISABLE_TELEMETRY', 'TF_CPP_MIN_LOG_LEVEL']) {
    delete env[name];
    delete process.env[name];
  }
  const names = new Set([...Object.keys(env), ...Object.keys(process.env)]);
  assert.deepEqual([...names].filter((name) => env[name] !== process.env[name]), []);
  assert.equal(process.cwd(), folder);
});
`;
}
