// Prints the oldest glibc (and libstdc++) that the built addon runs with: the newest symbol versions it asks for.
//
//   node scripts/glibc-floor.mjs [file]
import { execFileSync } from 'node:child_process';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));

/**
 * The newest version of each library that a file needs, with the symbols that need it. Libraries that it does
 * not need are absent.
 */
export function floors(file) {
  const symbols = execFileSync('objdump', ['-T', file], { encoding: 'utf8', maxBuffer: 2 ** 26 });
  const newest = {};
  for (const library of ['GLIBC', 'GLIBCXX', 'CXXABI']) {
    const versions = [...symbols.matchAll(new RegExp(`\\b${library}_(\\d+(?:\\.\\d+)*)\\)?\\s+(\\S+)`, 'g'))];
    versions.sort((a, b) => a[1].localeCompare(b[1], 'en', { numeric: true }));
    const version = versions.at(-1)?.[1];
    if (version === undefined) continue;
    const because = versions.filter((match) => match[1] === version).map((match) => match[2]);
    newest[library] = { version, because: [...new Set(because)].slice(0, 6).join(', ') };
  }
  return newest;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const file = process.argv[2] ?? join(root, 'build', 'Release', 'tritonts.node');
  for (const [library, { version, because }] of Object.entries(floors(file)))
    console.log(`${library}_${version}  (${because})`);
}
