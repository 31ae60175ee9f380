// Writes the packages as npm would install them into a folder: the published package, and that with this platform's binary.
//
//   npm run build && node scripts/package/installed.mjs <folder>
//
// What these depend on is found above the folder, if that is in the repository.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { target } from '../../dist/src/addon/platform.js';
import { writeBinaryPackage } from './binary.mjs';
import { manifest } from './paths.mjs';
import { writePublished } from './published.mjs';

const [folder] = process.argv.slice(2);
if (folder === undefined) throw new RangeError('Expected a folder');
mkdirSync(folder, { recursive: true });
// Otherwise a program in the repository that imports tritonts gets the repository.
writeFileSync(join(folder, 'package.json'), '{ "private": true }\n');
const installed = join(folder, 'node_modules');
const name = `@tritonts/${target()}`;
writeBinaryPackage(target(), join(installed, name));
await writePublished(join(installed, 'tritonts'), { [name]: manifest.version });
