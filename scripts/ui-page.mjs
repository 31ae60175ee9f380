// Writes the files of the web page into a module: node scripts/ui-page.mjs [--check]
//
// A program or a bundle then has the page without a file beside it. The page has modules of the package, too. The build writes the module; --check only says whether
// it is current.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import typescript from 'typescript';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const folder = join(root, 'src', 'endpoints', 'ui');

/** A module of the package, which the page has, too. */
function shared(file) {
  const { ES2022: target, ESNext: module } = { ...typescript.ScriptTarget, ...typescript.ModuleKind };
  const text = readFileSync(join(root, 'src', file), 'utf8');
  return typescript.transpileModule(text, { compilerOptions: { target, module } }).outputText;
}

const texts = new Map(
  readdirSync(join(folder, 'page'), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name))
    .map((path) => [
      path.slice(join(folder, 'page').length + 1).replaceAll('\\', '/'),
      readFileSync(path, 'utf8'),
    ]),
);
texts.set('half.js', shared('tensor/half.ts'));

/** A text as TypeScript, a line for each of its lines. */
function linesOf(text) {
  return ['[', ...text.split('\n').map((line) => `    ${JSON.stringify(line)},`), "  ].join('\\n'),"];
}

const text = [
  '/** The files of the web page, from the folder page. scripts/ui-page.mjs writes this file. */',
  '',
  '// The text of a script has placeholders that are not of this file.',
  '/* oxlint-disable no-template-curly-in-string */',
  '',
  '/** Their texts by path. */',
  'export const pageFiles: Readonly<Record<string, string>> = {',
  ...[...texts]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .flatMap(([path, file]) => {
      const [first, ...lines] = linesOf(file);
      return [`  ${JSON.stringify(path)}: ${first}`, ...lines];
    }),
  '};',
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
