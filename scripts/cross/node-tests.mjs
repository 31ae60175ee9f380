// The project's own Node tests, run by the Node of another platform against the addon that was built for it.
//
// A file runs in one process, without node --test, which would start processes: an emulated program cannot start itself. So what is
// left out is what starts processes, what needs a library of this machine, and what takes minutes.
//
// The tests run in a copy of dist/, because the version of ONNX Runtime that is installed beside dist/ may not run in the emulator.
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, readdirSync, rmSync, symlinkSync } from 'node:fs';
import { join, posix, sep } from 'node:path';
import { root } from '../python-environment.mjs';
import { npmPackage } from './nodes.mjs';

const tests = join(root, 'dist', 'test');

/** Folders whose tests are of what a platform's processor, threads and C library can change. */
const folders = [
  'tensor/',
  'config/',
  'dispatch/',
  'scheduling/',
  'ensemble/',
  'javascript/',
  'streams/',
  'metrics/',
  'errors/',
  'endpoints/http/',
];

/** Parts of paths, and why these files are left out. */
const left = {
  'dispatch/cancellation': 'counts turns of the event loop, in which less gets done in an emulator',
  'config/fuzz': 'takes minutes in an emulator',
  'ensemble/random': 'takes minutes in an emulator',
  'javascript/storms': 'takes minutes in an emulator',
  'endpoints/http/fuzz': 'takes minutes in an emulator',
};

/** What a file, or a file of the tests that it imports, has in its text, and why it is left out. */
const signs = [
  [/fault-addon\.js/, 'needs the addon that has faults'],
  [/node:child_process|execPath/, 'starts processes'],
];

const textOf = (file) => readFileSync(join(tests, file), 'utf8');

/** The files of the tests that a file imports, with itself. */
function importsOf(file, seen = new Set()) {
  if (seen.has(file)) return seen;
  seen.add(file);
  for (const [, path] of textOf(file).matchAll(/(?:from|import) '(\.[^']+\.js)'/g)) {
    const imported = posix.join(posix.dirname(file), path);
    if (!imported.startsWith('..')) importsOf(imported, seen);
  }
  return seen;
}

const gone = Object.keys(left).find((part) => filesWith([part]).length === 0);
if (gone !== undefined) throw new Error(`no test has '${gone}' in its path`);

/** Why a file is left out; undefined: it runs. */
function whyLeft(file) {
  const part = Object.keys(left).find((one) => file.includes(one));
  if (part !== undefined) return left[part];
  const [own, ...others] = importsOf(file);
  for (const [sign, reason] of signs) {
    // The helpers know ONNX models and processes, but not every test uses these.
    const texts = reason === 'needs the addon that has faults' ? [own, ...others] : [own];
    if (texts.some((one) => sign.test(textOf(one)))) return reason;
  }
  return undefined;
}

function filesWith(parts) {
  return readdirSync(tests, { recursive: true })
    .map((file) => file.split(sep).join('/'))
    .filter((file) => file.endsWith('.test.js') && parts.some((part) => `test/${file}`.includes(part)))
    .sort();
}

/** A folder in which the project is as it is here, but for the version of onnxruntime-node. */
function copyWith(onnx) {
  const copy = join(root, 'build', 'cross', 'node-tests');
  rmSync(copy, { recursive: true, force: true });
  const packages = join(copy, 'node_modules');
  mkdirSync(packages, { recursive: true });
  const own = new Set(['.git', 'build', 'dist', 'node_modules']);
  for (const name of readdirSync(root)) if (!own.has(name)) symlinkSync(join(root, name), join(copy, name));
  cpSync(join(root, 'dist'), join(copy, 'dist'), { recursive: true });
  for (const name of readdirSync(join(root, 'node_modules')))
    if (name !== 'onnxruntime-node') symlinkSync(join(root, 'node_modules', name), join(packages, name));
  symlinkSync(npmPackage('onnxruntime-node', onnx), join(packages, 'onnxruntime-node'));
  return copy;
}

/**
 * Runs the tests. Returns the counts of files and tests, with the names of those that failed.
 *
 * @param node - The program that runs the platform's Node, and the version of onnxruntime-node that runs with it.
 * @param addon - The addon's file.
 * @param parts - Parts of paths, by default those of {@link folders}.
 */
export function runNodeTests(node, addon, parts) {
  const counts = { files: 0, pass: 0, fail: 0, skipped: 0, failed: [], left: new Map() };
  const files = filesWith(parts.length > 0 ? parts : folders.map((folder) => `test/${folder}`));
  if (files.length === 0) throw new RangeError(`No test has ${parts.join(' or ')} in its path`);
  const copy = copyWith(node.onnx);
  for (const file of files) {
    const reason = whyLeft(file);
    if (reason !== undefined) {
      counts.left.set(reason, [...(counts.left.get(reason) ?? []), file]);
      continue;
    }
    const began = performance.now();
    const { stdout, stderr, status, signal } = spawnSync(
      node.program,
      ['--test-reporter=tap', join(copy, 'dist', 'test', file)],
      {
        cwd: copy,
        encoding: 'utf8',
        timeout: 900_000,
        maxBuffer: 2 ** 28,
        env: { ...process.env, TRITONTS_ADDON: addon, NODE_OPTIONS: '' },
      },
    );
    const count = (name) => Number(new RegExp(`^# ${name} (\\d+)$`, 'm').exec(stdout)?.[1] ?? 0);
    const failed = [...stdout.matchAll(/^\s*not ok \d+ - (.*)$/gm)].map(([, name]) => name);
    // A process that crashed has no counts.
    if (status !== 0 && failed.length === 0)
      failed.push(`ended with ${signal ?? status}: ${stderr.slice(-500)}`);
    counts.files++;
    for (const name of ['pass', 'fail', 'skipped']) counts[name] += count(name);
    counts.failed.push(...failed.map((name) => `${file}: ${name}`));
    const seconds = Math.round((performance.now() - began) / 1000);
    console.log(
      `  ${file}: ${count('pass')} passed, ${failed.length} failed, ${count('skipped')} skipped, ${seconds} s`,
    );
  }
  return counts;
}
