// Makes docs/test-servers.svg: a run of the tests in examples/testing-node: node scripts/test-server-picture.mjs
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { drawScreen, screenOf } from './terminal-picture.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const [rows, columns] = [20, 90];
// The example has a package of its own, which needs this one.
const folder = mkdtempSync(join(tmpdir(), 'tritonts-tests-'));
for (const name of ['testing-node', 'digits'])
  cpSync(join(root, 'examples', name), join(folder, name), { recursive: true });
mkdirSync(join(folder, 'node_modules'));
symlinkSync(root, join(folder, 'node_modules', 'tritonts'), 'dir');
const command = [process.execPath, '--test', '--test-reporter=spec'];
const cwd = join(folder, 'testing-node');
const screen = await screenOf(command, rows, columns, {
  shown: 'npm test',
  cwd,
  // Node 20 warns of its own mock timers.
  env: { NODE_NO_WARNINGS: '1' },
});
rmSync(folder, { recursive: true });
drawScreen(
  join(root, 'docs/test-servers.svg'),
  screen,
  rows,
  columns,
  'A terminal with the tests of the example testing-node: four tests pass, without a model file.',
);
