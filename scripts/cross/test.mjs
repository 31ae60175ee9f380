// Builds the packages of other platforms and uses them there as a new user does, as far as this machine can:
//
//   npm test -- platforms [--only <platform>]… [--keep] [--debug]
//   npm test -- platforms --node-tests [part/of/a/path]…
//
// With --debug the debug files are written, too, and an address of each binary is looked up in them.
//
// linux-arm64 runs under qemu, linux-x64-musl with Debian's musl, win32-x64 under wine. Where one of these is not
// installed, the platform is skipped, and what to install is said. Binaries that cannot be run here are built and read.
// With --node-tests the project's own Node tests run instead, under qemu: node-tests.mjs says which. That takes some minutes.
// The workflows in .github/ run all of them on real systems.
import { execFileSync } from 'node:child_process';
import { statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { parseArgs } from 'node:util';
import { root, staging } from '../package/paths.mjs';
import { whyNoDebugFiles } from '../package/debug-files.mjs';
import { resolveEntry } from '../package/resolve.mjs';
import { buildFor } from './build.mjs';
import { runNodeTests } from './node-tests.mjs';
import { nodeFor, runnable } from './nodes.mjs';
import { targets } from './targets.mjs';
import { tarballsOf, use } from './use.mjs';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    'node-tests': { type: 'boolean', default: false },
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

if (values['node-tests']) {
  nodeTests();
  process.exit();
}

function nodeTests() {
  const target = 'linux-arm64';
  const node = nodeFor(target);
  if (typeof node === 'string') {
    console.log(`skipped: Node tests of ${target}: ${node}`);
    return;
  }
  const addon = join(buildFor(target), 'tritonts.node');
  const { files, pass, fail, skipped, failed, left } = runNodeTests(node, addon, positionals);
  for (const [reason, names] of left) console.log(`left out, ${reason}: ${names.join(', ')}`);
  for (const name of failed) console.error(`failed: ${name}`);
  console.log(`${files} files: ${pass} passed, ${fail} failed, ${skipped} skipped`);
  process.exitCode = failed.length === 0 && pass > 0 ? 0 : 1;
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
