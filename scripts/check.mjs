// Runs all checks other than tests, or the named ones, concurrently, and prints the output of those that fail:
// npm run check [-- types | format | lint]… Exits with 1 if a check fails.
import { spawn } from 'node:child_process';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));

/** The checks. Each is a list of commands that run in sequence. */
const checks = {
  // The documents are compared with the build's output.
  types: [
    'node scripts/backend-tables.mjs --check',
    'node scripts/ui-page.mjs --check',
    'node scripts/build.mjs ts',
    'node scripts/write-compatibility.mjs --check',
  ],
  format: ['prettier --check .', 'node scripts/clang-format.mjs'],
  lint: [
    'oxlint --type-aware --deny-warnings',
    'depcruise src',
    'node scripts/engine-arrows.mjs',
    'node scripts/python-arrows.mjs',
    'node scripts/references/main.mjs',
  ],
};

function run(command) {
  return new Promise((resolve) => {
    const output = [];
    const child = spawn(command, {
      cwd: root,
      stdio: ['ignore', 'pipe', 'pipe'],
      shell: true,
      env: { ...process.env, PATH: [join(root, 'node_modules', '.bin'), process.env.PATH].join(delimiter) },
    });
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => output.push(chunk));
    child.once('error', (error) => output.push(Buffer.from(`${String(error)}\n`)));
    child.once('close', (code) => {
      console.log(`${code === 0 ? 'ok    ' : 'FAILED'} ${command}`);
      if (code !== 0) {
        process.stderr.write(Buffer.concat(output));
        process.exitCode = 1;
      }
      resolve(code === 0);
    });
  });
}

const names = process.argv.slice(2);
const unknown = names.find((name) => !Object.hasOwn(checks, name));
if (unknown !== undefined)
  throw new RangeError(`Expected ${Object.keys(checks).join(', ')} but received ${unknown}`);
await Promise.all(
  (names.length > 0 ? names : Object.keys(checks)).map(async (name) => {
    for (const command of checks[name]) if (!(await run(command))) return;
  }),
);
