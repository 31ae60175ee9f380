// Builds the addon and the TypeScript: npm run build [-- addon | ts]
//
// Output goes to stderr: stdout belongs to the program that runs next, such as a benchmark that prints JSON.
import { spawnSync } from 'node:child_process';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));

/** The parts, each a list of programs for Node. */
const parts = {
  addon: [['scripts/build-addon.mjs', '--define', 'TRITONTS_FAULTS=ON']],
  ts: [
    ['scripts/backend-tables.mjs'],
    ['scripts/ui-page.mjs'],
    ['node_modules/typescript/bin/tsc', '-p', 'tsconfig.json'],
    ['scripts/roll-types.mjs'],
    ['scripts/package/commonjs.mjs'],
    ['scripts/bundle-command.mjs'],
  ],
};

/** Builds the named parts, or all parts. Returns whether the build succeeded. */
export function build(names = Object.keys(parts)) {
  return names
    .flatMap((name) => parts[name])
    .every(([file, ...args]) => {
      const command = [join(root, file), ...args];
      const { status, error } = spawnSync(process.execPath, command, { cwd: root, stdio: ['inherit', 2, 2] });
      if (error) throw error;
      return status === 0;
    });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const names = process.argv.slice(2);
  const unknown = names.find((name) => !Object.hasOwn(parts, name));
  if (unknown !== undefined) {
    console.error(`Expected ${Object.keys(parts).join(' or ')} but received ${unknown}`);
    process.exitCode = 2;
  } else process.exitCode = build(names.length > 0 ? names : undefined) ? 0 : 1;
}
