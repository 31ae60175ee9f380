// Runs the compiled tests: node scripts/test.mjs [--copies] [--plain] [part of a path]… [--option of node --test]…
//
// --copies: as where external buffers are forbidden, in Electron for example, everything crosses by copy.
// --plain: without what only makes things faster: no run is on the JS thread, no thread looks for work before it sleeps.
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const args = process.argv.slice(2);
const modes = {
  '--copies': { TRITONTS_NO_EXTERNAL_BUFFERS: '1' },
  '--plain': { TRITONTS_INLINE: '0', TRITONTS_SPIN: '0' },
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
