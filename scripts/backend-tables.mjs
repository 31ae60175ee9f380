// Writes the tables of backends in TypeScript: node scripts/backend-tables.mjs [--check]
//
// A backend is a folder with an index.ts that exports `backend`. A bundler needs the imports written out, so the table is
// a file in the repository. The build writes it; --check only says whether it is current.
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const contract = join('src', 'backends', 'backend.js');

/** The folders of backends: those of the package, and those of the tests' build of the addon. */
const folders = [join('src', 'backends'), join('test', 'support', 'backends')];

function tableOf(folder) {
  const names = readdirSync(join(root, folder), { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && existsSync(join(root, folder, entry.name, 'index.ts')))
    .map(({ name }) => name)
    .sort();
  const toContract = relative(folder, contract).replaceAll('\\', '/');
  return [
    '/** The backends of this folder. scripts/backend-tables.mjs writes this file. */',
    '',
    `import type { Backend } from '${toContract.startsWith('.') ? '' : './'}${toContract}';`,
    ...names.map((name) => `import { backend as ${name} } from './${name}/index.js';`),
    '',
    '/** The backends, by the order of their names. */',
    ...declaration(names),
    '',
  ].join('\n');
}

/** The lines of the table, as the formatter writes them: in one line if it is not too long. */
function declaration(names) {
  const start = 'export const table: readonly Backend[] = [';
  const line = `${start}${names.join(', ')}];`;
  return line.length <= 110 ? [line] : [start, ...names.map((name) => `  ${name},`), '];'];
}

for (const folder of folders) {
  const file = join(root, folder, 'table.generated.ts');
  const table = tableOf(folder);
  if (existsSync(file) && readFileSync(file, 'utf8').replaceAll('\r\n', '\n') === table) continue;
  if (process.argv.includes('--check')) {
    console.error(`${relative(root, file)} is not current: node scripts/backend-tables.mjs`);
    process.exitCode = 1;
  } else writeFileSync(file, table);
}
