// The project's own Node tests, run by the Node of another platform against the addon that was built for it.
//
// A file runs in one process, without node --test. What is left out depends on the platform: Node in wine has no pipes, and musl has no
// ONNX Runtime. Files that were left out are named, with the reason.
//
// The tests run in a copy of dist/, because the version of ONNX Runtime that is installed beside dist/ may not run there.
import { execFileSync, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { availableParallelism } from 'node:os';
import { dirname, join, posix, sep } from 'node:path';
import { root } from '../python-environment.mjs';
import { isLong } from '../test-programs.mjs';
import { npmPackage } from './nodes.mjs';
import { leftOn } from './left-tests.mjs';

const tests = join(root, 'dist', 'test');

const textOf = (file) => readFileSync(join(tests, file), 'utf8');

/** The files of the tests that a file imports, with itself. */
function importsOf(file, seen = new Set()) {
  if (seen.has(file)) return seen;
  seen.add(file);
  for (const [, path] of textOf(file).matchAll(/(?:from|import) '(\.[^']+\.js)'/g)) {
    const imported = posix.join(posix.dirname(file), path);
    // A text of a program within a test may import files that are not here.
    if (!imported.startsWith('..') && existsSync(join(tests, imported))) importsOf(imported, seen);
  }
  return seen;
}

/** All files of tests, by their paths below those of all tests. */
const all = readdirSync(tests, { recursive: true })
  .map((file) => file.split(sep).join('/'))
  .filter((file) => file.endsWith('.test.js'))
  .sort();

/** Why a file is left out on a platform; undefined: it runs. */
function whyLeft(file, { parts, signs }) {
  const part = Object.keys(parts).find((one) => `test/${file}`.includes(one));
  if (part !== undefined) return parts[part];
  if (isLong(root, join('dist', 'test', file))) return 'its tests take long';
  // The helpers know ONNX models and processes, but not every test uses these.
  const own = textOf(file);
  const sign = signs.find(({ pattern, inImports }) =>
    inImports ? [...importsOf(file)].some((one) => pattern.test(textOf(one))) : pattern.test(own),
  );
  return sign?.reason;
}

/** A folder in which the project is as it is here, but for the addon and the version of onnxruntime-node. */
function copyWith(target, { onnx }, built) {
  const copy = join(root, 'build', 'cross', 'node-tests', target);
  rmSync(copy, { recursive: true, force: true });
  const packages = join(copy, 'node_modules');
  mkdirSync(packages, { recursive: true });
  const own = new Set(['.git', 'build', 'dist', 'node_modules']);
  for (const name of readdirSync(root)) if (!own.has(name)) symlinkSync(join(root, name), join(copy, name));
  cpSync(join(root, 'dist'), join(copy, 'dist'), { recursive: true });
  for (const name of readdirSync(join(root, 'node_modules')))
    if (name !== 'onnxruntime-node') symlinkSync(join(root, 'node_modules', name), join(packages, name));
  const runtime = 'onnxruntime-node';
  const found = onnx === undefined ? join(root, 'node_modules', runtime) : npmPackage(runtime, onnx);
  // Hard links: Node in wine takes a symbolic link for a folder, and the addon follows it, so that paths would differ.
  execFileSync('cp', ['-al', found, join(packages, runtime)]);
  mkdirSync(join(copy, 'build'));
  symlinkSync(built, join(copy, 'build', 'Release'));
  return copy;
}

/** What decides the results: the addon, the tests and what they test. */
function digestOf(built) {
  const hash = createHash('sha256');
  const add = (folder) => {
    for (const name of readdirSync(folder, { recursive: true }).sort())
      if (/\.(?:js|node|so)$/.test(name)) hash.update(name).update(readFileSync(join(folder, name)));
  };
  add(built);
  add(join(root, 'dist'));
  return hash.digest('hex');
}

/** The files that have passed, in a file beside the copies. They count as long as nothing was changed. */
class Results {
  #file;
  #digest;
  #passed = {};

  constructor(target, built) {
    this.#file = join(root, 'build', 'cross', `node-tests-${target}.json`);
    this.#digest = digestOf(built);
  }

  /** Takes those of an earlier call. */
  resume() {
    try {
      const { digest, passed } = JSON.parse(readFileSync(this.#file, 'utf8'));
      if (digest === this.#digest) this.#passed = passed;
    } catch (error) {
      if (error.code !== 'ENOENT') throw error;
    }
  }

  of(file) {
    return this.#passed[file];
  }

  note(file, result) {
    this.#passed[file] = result;
    writeFileSync(this.#file, JSON.stringify({ digest: this.#digest, passed: this.#passed }));
  }
}

/** Runs a file. Returns its counts, with the names of the tests that failed. */
async function runFile(file, node, copy, addon) {
  const began = performance.now();
  const child = spawn(
    node.forTests ?? node.program,
    ['--test-reporter=tap', join(copy, 'dist', 'test', file)],
    {
      cwd: copy,
      env: { ...process.env, TRITONTS_ADDON: addon, NODE_OPTIONS: '' },
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: 900_000,
      killSignal: 'SIGKILL',
    },
  );
  const text = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr']) {
    child[name].setEncoding('utf8').on('data', (part) => (text[name] += part));
  }
  const [code, signal] = await new Promise((resolve, reject) => {
    child.once('error', reject).once('close', (...end) => resolve(end));
  });
  const count = (name) => Number(new RegExp(`^# ${name} (\\d+)\\r?$`, 'm').exec(text.stdout)?.[1] ?? 0);
  const failed = [...text.stdout.matchAll(/^\s*not ok \d+ - (.*?)\r?$/gm)]
    .map(([, name]) => name)
    .filter((name) => !/# (?:SKIP|TODO)/.test(name));
  // A process that crashed has no counts.
  if (code !== 0 && failed.length === 0)
    failed.push(`ended with ${signal ?? code}: ${(text.stderr || text.stdout).slice(-500)}`);
  if (failed.length > 0) {
    const log = join(root, 'build', 'cross', 'node-tests', 'failed', `${file.replaceAll('/', '.')}.log`);
    mkdirSync(dirname(log), { recursive: true });
    writeFileSync(log, text.stdout + text.stderr);
  }
  const seconds = Math.round((performance.now() - began) / 1000);
  return { pass: count('pass'), skipped: count('skipped'), failed, seconds };
}

/**
 * Runs the tests of a platform. Returns the counts of files and tests, with the names of those that failed.
 *
 * @param node - The program that runs the platform's Node, and the version of onnxruntime-node that runs with it.
 * @param built - The folder with the addon, and with that of the tests.
 * @param parts - Parts of paths, by default those that the platform runs.
 * @param resume - Whether files that have passed with the same addon and the same tests are not run again.
 * @param minutes - After this time no other file begins.
 */
export async function runNodeTests(target, node, built, { parts, resume, minutes }) {
  const setting = leftOn[target];
  for (const part of Object.keys(setting.parts))
    if (!all.some((file) => `test/${file}`.includes(part)))
      throw new Error(`no test has '${part}' in its path`);
  const wanted = parts.length > 0 ? parts : setting.folders;
  const files = all.filter((file) => wanted.some((part) => `test/${file}`.includes(part)));
  if (files.length === 0) throw new RangeError(`No test has ${wanted.join(' or ')} in its path`);
  const counts = { files: 0, pass: 0, skipped: 0, failed: [], left: new Map(), notRun: [] };
  const leave = (reason, file) => counts.left.set(reason, [...(counts.left.get(reason) ?? []), file]);
  const results = new Results(target, built);
  if (resume) results.resume();
  const copy = copyWith(target, node, built);
  const end = performance.now() + minutes * 60_000;
  const waiting = files.filter((file) => {
    const reason = whyLeft(file, setting);
    if (reason !== undefined) leave(reason, file);
    return reason === undefined;
  });
  const add = (file, { pass, skipped, failed }) => {
    counts.files++;
    counts.pass += pass;
    counts.skipped += skipped;
    counts.failed.push(...failed.map((name) => `${file}: ${name}`));
  };
  const worker = async () => {
    for (let file; (file = waiting.shift()) !== undefined;) {
      const known = results.of(file);
      if (known) {
        add(file, known);
        continue;
      }
      if (performance.now() > end) {
        counts.notRun.push(file);
        continue;
      }
      const result = await runFile(file, node, copy, join(built, 'tritonts.node'));
      const { pass, failed, skipped, seconds } = result;
      add(file, result);
      if (failed.length === 0) results.note(file, result);
      console.log(`  ${file}: ${pass} passed, ${failed.length} failed, ${skipped} skipped, ${seconds} s`);
    }
  };
  const atOnce = setting.isNative ? availableParallelism() : 1;
  await Promise.all(Array.from({ length: atOnce }, worker));
  return counts;
}
