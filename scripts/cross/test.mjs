// Builds the packages of other platforms and uses them there as a new user does, as far as this machine can:
//
//   npm test -- platforms [--only <platform>]… [--keep] [--debug]
//   npm test -- platforms --node-tests [--only <platform>]… [--minutes <n>] [--resume] [part/of/a/path]…
//
// With --debug the debug files are written, too, and an address of each binary is looked up in them.
//
// linux-arm64 runs under qemu, linux-x64-musl with Debian's musl, win32-x64 under wine. Where one of these is not
// installed, the platform is skipped, and what to install is said. Binaries that cannot be run here are built and read.
// With --node-tests the project's own Node tests run instead: left-tests.mjs says which, and which are left out and why. --minutes ends
// that after a time for each platform, and --resume goes on: files that have passed with the same addon and tests do not run again.
// The workflows in .github/ run all of them on real systems.
import { execFileSync } from 'node:child_process';
import { statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { parseArgs } from 'node:util';
import { root, staging } from '../package/paths.mjs';
import { whyNoDebugFiles } from '../package/debug-files.mjs';
import { resolveEntry } from '../package/resolve.mjs';
import { buildForTests } from './build.mjs';
import { runNodeTests } from './node-tests.mjs';
import { nodeFor, runnable } from './nodes.mjs';
import { targets } from './targets.mjs';
import { tarballsOf, use } from './use.mjs';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    'node-tests': { type: 'boolean', default: false },
    minutes: { type: 'string' },
    resume: { type: 'boolean', default: false },
    only: { type: 'string', multiple: true, default: [] },
    keep: { type: 'boolean', default: false },
    debug: { type: 'boolean', default: false },
  },
});
const unknown = values.only.find((name) => !Object.hasOwn(targets, name));
if (unknown !== undefined)
  throw new RangeError(`--only: expected one of ${Object.keys(targets).join(', ')} but received ${unknown}`);
if (positionals.length > 0 && !values['node-tests'])
  throw new RangeError(`parts of paths are for --node-tests: received ${positionals.join(' ')}`);
const wanted = values.only.length > 0 ? values.only : Object.keys(targets);

const counts = { passed: 0, failed: 0, skipped: 0 };

/** Counts a check: it returns a text why it is skipped, or nothing. */
function check(name, body) {
  try {
    const reason = body();
    counts[reason === undefined ? 'passed' : 'skipped']++;
    console.log(reason === undefined ? `passed: ${name}` : `skipped: ${name}: ${reason}`);
  } catch (error) {
    counts.failed++;
    console.error(`failed: ${name}: ${error.message}`);
  }
}

const minutes = values.minutes === undefined ? Infinity : Number(values.minutes);
if (!(minutes > 0))
  throw new RangeError(`--minutes: expected a number above 0 but received ${values.minutes}`);
if ((values.minutes !== undefined || values.resume) && !values['node-tests'])
  throw new RangeError('--minutes and --resume are for --node-tests');

if (values['node-tests']) {
  for (const target of runnable) if (wanted.includes(target)) await nodeTests(target);
  process.exit();
}

async function nodeTests(target) {
  const node = nodeFor(target);
  if (typeof node === 'string') {
    console.log(`skipped: Node tests of ${target}: ${node}`);
    return;
  }
  console.log(`Node tests of ${target}:`);
  const built = buildForTests(target);
  const { files, pass, skipped, failed, left, notRun } = await runNodeTests(target, node, built, {
    parts: positionals,
    resume: values.resume,
    minutes,
  });
  for (const [reason, names] of left)
    console.log(`left out, ${reason}: ${names.length} files: ${names.join(', ')}`);
  if (notRun.length > 0)
    console.log(`not run, for lack of time: ${notRun.length} files: ${notRun.join(', ')}`);
  for (const name of failed) console.error(`failed: ${name}`);
  console.log(`${target}, ${files} files: ${pass} passed, ${failed.length} failed, ${skipped} skipped`);
  if (failed.length > 0 || pass === 0) process.exitCode = 1;
}

const tarballs = execFileSync(
  process.execPath,
  [
    join(root, 'scripts', 'package', 'pack.mjs'),
    ...['--platform', wanted.join(',')],
    ...(values.debug ? ['--debug'] : []),
  ],
  { encoding: 'utf8', stdio: ['ignore', 'pipe', 2] },
)
  .trim()
  .split('\n');
check('no tarball is larger than 3 MB', () => {
  const sizes = tarballs.map((file) => [basename(file), statSync(file).size]);
  for (const [name, size] of sizes) console.log(`${name}: ${(size / 1e6).toFixed(2)} MB`);
  const large = sizes.filter(([, size]) => size > 3e6).map(([name]) => name);
  if (large.length > 0) throw new Error(large.join(', '));
});
for (const target of wanted) {
  check(target, () => {
    const others = tarballsOf(tarballs, target);
    if (!runnable.includes(target)) return 'built and read; nothing here runs it';
    const node = nodeFor(target);
    if (typeof node === 'string') return node;
    console.log(use(target, node, others, values).join('\n'));
  });
}
for (const target of values.debug ? wanted : [])
  check(`${target}, debug files`, () => {
    const why = whyNoDebugFiles(target);
    if (why !== undefined) return why;
    console.log(resolveEntry(target, join(staging, 'debug', target), join(staging, target)));
    return undefined;
  });
console.log(`${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped`);
process.exitCode = counts.failed === 0 ? 0 : 1;
