// Checks the types of examples/electron against those of the packages electron and @electron/packager. They are installed from
// npm into build/electron, without Electron's program. Needs `npm run build`.
import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const example = join(root, 'examples', 'electron');
const folder = join(root, 'build', 'electron');
mkdirSync(folder, { recursive: true });
const { electron } = JSON.parse(readFileSync(join(example, 'package.json'), 'utf8')).devDependencies;
const packager = '^18.4.4';
writeFileSync(
  join(folder, 'package.json'),
  JSON.stringify({ private: true, devDependencies: { electron, '@electron/packager': packager } }),
);
// Electron's install script downloads the program, which types do not need.
execFileSync('npm', ['install', '--ignore-scripts', '--no-audit', '--no-fund'], {
  cwd: folder,
  stdio: 'inherit',
});
cpSync(example, folder, { recursive: true });
const link = join(folder, 'node_modules', 'tritonts');
if (!existsSync(link)) symlinkSync(root, link, 'dir');
const files = ['main.js', 'models.js', 'preload.cjs', 'renderer.js', 'packager.js', 'packager-options.js'];
const options =
  '--ignoreConfig --noEmit --strict --noUncheckedIndexedAccess --skipLibCheck --allowJs --checkJs --target es2022 --module nodenext ' +
  '--lib es2023,esnext.disposable,dom,dom.iterable --types node,electron';
execFileSync(
  process.execPath,
  [join(root, 'node_modules', 'typescript', 'bin', 'tsc'), ...options.split(' '), ...files],
  { cwd: folder, stdio: 'inherit' },
);
const { version } = JSON.parse(
  readFileSync(join(folder, 'node_modules', 'electron', 'package.json'), 'utf8'),
);
console.log(`ok: examples/electron has the types of electron ${version}`);
