// Finds what comments and pages name and the repository does not have: files, folders, types, members, functions.
//
//   node scripts/references/main.mjs
//
// Needs nothing but Node and git.
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { staleReferences } from './stale.mjs';

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const files = new Map(
  execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], {
    cwd: root,
    encoding: 'utf8',
  })
    .split('\n')
    .filter((file) => file !== '' && existsSync(join(root, file)))
    .map((file) => [file, () => readFileSync(join(root, file), 'utf8')]),
);

const faults = staleReferences(files);
for (const fault of faults) console.error(fault);
if (faults.length > 0) process.exitCode = 1;
else console.log(`${files.size} files: no comment or page names what does not exist`);
