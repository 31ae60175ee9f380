// Uses the tarballs as a new user does, in an empty project outside of the repository.
//
//   npm test -- package              the quick part: npm, ES modules, CommonJS, types, content of the tarballs
//   npm test -- package --all     also other package managers, bundlers, test runners, runtimes and compilers, from npm
//   npm test -- package --only <part of a name> [--keep]
//
// Cases that are left out are printed with the reason.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import * as bundlers from './cases/bundlers.mjs';
import * as contents from './cases/contents.mjs';
import * as managers from './cases/managers.mjs';
import * as runners from './cases/runners.mjs';
import * as runtimes from './cases/runtimes.mjs';
import * as types from './cases/types.mjs';
import { root } from './paths.mjs';
import { run, write, writePrograms } from './project.mjs';

const { values } = parseArgs({
  options: { all: { type: 'boolean' }, only: { type: 'string' }, keep: { type: 'boolean' } },
});
const tarballs = execFileSync(process.execPath, [join(root, 'scripts', 'package', 'pack.mjs')], {
  encoding: 'utf8',
})
  .trim()
  .split('\n');
const [binary, main] = tarballs;
const base = mkdtempSync(join(tmpdir(), 'tritonts-package-'));
const app = join(base, 'app');
const failures = [];
const skipped = [];

try {
  write(app, { 'package.json': { private: true } });
  writePrograms(app);
  // Install scripts are on; neither package has any.
  const install = ['install', '--no-audit', '--no-fund', main, binary, 'onnxruntime-node@1.30.0'];
  await run(app, 'npm', install);
  console.log('ok: npm installs both tarballs into an empty project');

  const context = { app, base, binary, main };
  for (const { cases } of [contents, types, runtimes, runners, bundlers, managers]) {
    for (const one of cases) {
      const { name, quick } = one;
      if (values.only === undefined ? !quick && !values.all : !name.includes(values.only)) {
        skipped.push(name);
        continue;
      }
      try {
        const note = await one.run(context);
        console.log(note === undefined ? `ok: ${name}` : `skipped: ${name}: ${note}`);
      } catch (error) {
        failures.push(name);
        console.log(`FAILED: ${name}\n${error.message}`);
      }
    }
  }
} finally {
  if (values.keep) console.log(`kept: ${base}`);
  else rmSync(base, { recursive: true, force: true });
}
if (skipped.length > 0)
  console.log(`left out (--all has them; they install what they need from npm): ${skipped.join('; ')}`);
console.log(failures.length === 0 ? 'passed' : `failed: ${failures.join('; ')}`);
process.exitCode = failures.length === 0 ? 0 : 1;
