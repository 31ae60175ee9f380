// Before `npm pack`: builds, and puts the addon where a package carries it, prebuilds/<platform>-<arch>/.
import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const folder = join(root, 'prebuilds', `${process.platform}-${process.arch}`);
rmSync(join(root, 'prebuilds'), { recursive: true, force: true });
mkdirSync(folder, { recursive: true });
const target = join(folder, 'tritonts.node');
copyFileSync(join(root, 'build', 'Release', 'tritonts.node'), target);
if (process.platform === 'linux') execFileSync('strip', ['--strip-unneeded', target]);
