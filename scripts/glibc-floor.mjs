// Prints the oldest glibc (and libstdc++) that the built addon runs with: the newest symbol versions it asks for.
//
//   node scripts/glibc-floor.mjs [file]
import { execFileSync } from 'node:child_process';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const file = process.argv[2] ?? join(root, 'build', 'Release', 'tritonts.node');
const symbols = execFileSync('objdump', ['-T', file], { encoding: 'utf8', maxBuffer: 2 ** 26 });

for (const library of ['GLIBC', 'GLIBCXX', 'CXXABI']) {
  const versions = [...symbols.matchAll(new RegExp(`\\b${library}_(\\d+(?:\\.\\d+)*)\\)?\\s+(\\S+)`, 'g'))];
  versions.sort((a, b) => a[1].localeCompare(b[1], 'en', { numeric: true }));
  const newest = versions.at(-1)?.[1];
  const because = [
    ...new Set(versions.filter((version) => version[1] === newest).map((version) => version[2])),
  ];
  console.log(`${library}_${newest}${because.length > 0 ? `  (${because.slice(0, 6).join(', ')})` : ''}`);
}
