// Runs the compiled tests: node scripts/test.mjs [mode]… [part of a path]… [--option of node --test]…
//
// --copies     as where external buffers are forbidden, in Electron for example, everything crosses by copy
// --plain      without all that only makes things faster, and that is
// --no-inline    runs on the JS thread
// --no-spin      threads that look for work before they sleep
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

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
const options = args.filter((argument) => argument.startsWith('--') && !(argument in modes));
const parts = args.filter((argument) => !argument.startsWith('--'));

// A compiled file whose source is gone is no test any more.
const files = readdirSync(join(root, 'dist', 'test'), { recursive: true })
  .filter((file) => file.endsWith('.test.js'))
  .map((file) => join('dist', 'test', file))
  .filter((file) => existsSync(join(root, relative('dist', file).replace(/\.js$/, '.ts'))))
  .filter((file) => parts.length === 0 || parts.some((part) => file.includes(part)))
  .sort();

const result = spawnSync(process.execPath, ['--enable-source-maps', '--test', ...options, ...files], {
  cwd: root,
  stdio: 'inherit',
  env: Object.assign({ ...process.env }, ...args.map((argument) => modes[argument] ?? {})),
});
process.exitCode = result.status ?? 1;
