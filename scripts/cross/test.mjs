// Builds the packages of other platforms and uses them there as a new user does, as far as this machine can:
//
//   npm test -- platforms [--only <platform>]… [--keep] [--twice]
//
// With --twice each is built again, from a copy of the sources in another folder, and the files must be the same bytes.
//
// linux-arm64 runs under qemu, linux-x64-musl with Debian's musl, win32-x64 under wine. Where one of these is not
// installed, the platform is skipped, and what to install is said. Binaries that cannot be run here are built and read.
// The workflows in .github/ run all of them on real systems, and are checked here by actionlint.
import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { target as targetOf } from '../../dist/src/addon/platform.js';
import { root } from '../package/paths.mjs';
import { buildFor } from './build.mjs';
import { nodeFor, runnable } from './nodes.mjs';
import { filesOf, targets } from './targets.mjs';
import { tarballsOf, use } from './use.mjs';

const { values } = parseArgs({
  options: {
    only: { type: 'string', multiple: true, default: [] },
    keep: { type: 'boolean', default: false },
    twice: { type: 'boolean', default: false },
  },
});
const unknown = values.only.find((name) => !Object.hasOwn(targets, name));
if (unknown !== undefined)
  throw new RangeError(`--only: expected one of ${Object.keys(targets).join(', ')} but received ${unknown}`);
const wanted = values.only.length > 0 ? values.only : Object.keys(targets);

const counts = { passed: 0, failed: 0, skipped: 0 };

/** A copy of what the addon is built from, in a folder with another path. */
function copyOfSources() {
  const copy = realpathSync(mkdtempSync(join(tmpdir(), 'tritonts-again-')));
  for (const name of ['native', 'package.json'])
    cpSync(join(root, name), join(copy, name), { recursive: true });
  symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'));
  return copy;
}

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

check('workflows', () => {
  if (spawnSync('go', ['version']).status !== 0) return 'actionlint needs go';
  const bin = join(root, 'build', 'cross', 'bin');
  mkdirSync(bin, { recursive: true });
  const env = { ...process.env, GOBIN: bin, CGO_ENABLED: '0', GOTOOLCHAIN: 'local' };
  execFileSync('go', ['install', 'github.com/rhysd/actionlint/cmd/actionlint@v1.7.12'], {
    env,
    stdio: ['ignore', 2, 2],
  });
  const files = ['test.yml', 'release.yml'].map((name) => join(root, '.github', 'workflows', name));
  execFileSync(join(bin, 'actionlint'), files, { stdio: ['ignore', 2, 2] });
});

const tarballs = execFileSync(
  process.execPath,
  [join(root, 'scripts', 'package', 'pack.mjs'), '--platform', wanted.join(',')],
  { encoding: 'utf8', stdio: ['ignore', 'pipe', 2] },
)
  .trim()
  .split('\n');
for (const target of wanted) {
  check(target, () => {
    const others = tarballsOf(tarballs, target);
    if (!runnable.includes(target)) return 'built and read; nothing here runs it';
    const node = nodeFor(target);
    if (typeof node === 'string') return node;
    console.log(use(target, node, others, values).join('\n'));
  });
}
for (const target of values.twice ? wanted : []) {
  check(`${target}, built twice`, () => {
    if (target === targetOf()) return 'it is built by the compiler of this machine';
    const copy = copyOfSources();
    try {
      const again = buildFor(target, copy);
      for (const file of filesOf(target)) {
        const [first, second] = [buildFor(target), again].map((folder) => readFileSync(join(folder, file)));
        if (!first.equals(second)) throw new Error(`${file} has other bytes when it is built again`);
      }
    } finally {
      rmSync(copy, { recursive: true });
    }
  });
}
console.log(`${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped`);
process.exitCode = counts.failed === 0 ? 0 : 1;
