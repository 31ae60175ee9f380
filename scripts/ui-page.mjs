// Writes the files of the web page into a module: node scripts/ui-page.mjs [--check]
//
// A program or a bundle then has the page without a file beside it. The build writes the module; --check only says whether
// it is current.
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const folder = join(root, 'src', 'endpoints', 'ui');
const files = [
  ['page.html', 'html'],
  ['page.js', 'script'],
  ['page.css', 'style'],
  ['icon.svg', 'icon'],
];
/** A text as TypeScript, a line for each of its lines. */
function linesOf(file) {
  const lines = readFileSync(join(folder, 'page', file), 'utf8').split('\n');
  return ['[', ...lines.map((line) => `  ${JSON.stringify(line)},`), "].join('\\n');"];
}

const text = [
  '/** The files of the web page, from the folder page. scripts/ui-page.mjs writes this file. */',
  '',
  '// The text of a script has placeholders that are not of this file.',
  '/* oxlint-disable no-template-curly-in-string */',
  ...files.flatMap(([file, name]) => {
    const [first, ...lines] = linesOf(file);
    return ['', `/** ${file} */`, `export const ${name}: string = ${first}`, ...lines];
  }),
  '',
].join('\n');
const target = join(folder, 'page-files.ts');
let current;
try {
  current = readFileSync(target, 'utf8');
} catch {
  // It is written for the first time.
}
if (current !== text) {
  if (process.argv.includes('--check')) {
    console.error(`${target} is not current: node scripts/ui-page.mjs`);
    process.exitCode = 1;
  } else writeFileSync(target, text);
}
