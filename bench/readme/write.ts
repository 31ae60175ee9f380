/** Puts the tables between their markers, and writes the picture. */
import { readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { format, resolveConfig } from 'prettier';
import type { Results } from '../reports/results.js';
import { picture } from './picture.js';
import { storedFrom, storedFromText, storedText, type Stored } from './stored.js';
import { performanceTable, readmeTable } from './tables.js';

/** Compiled, this file lies in `dist/bench/readme`. */
const root = new URL('../../../', import.meta.url);
const storedFile = new URL('bench/readme/results.json', root);

/** The pages with a table, and the functions that make the tables. */
const pages: Readonly<Record<string, (stored: Stored) => string>> = {
  'README.md': readmeTable,
  'docs/performance.md': performanceTable,
};

/** Path of the picture. */
const pictureFile = 'docs/benchmark.svg';

const begin = '<!-- benchmark: written by npm run bench -- --readme -->';
const end = '<!-- /benchmark -->';

/** The stored results of the last run. */
export async function stored(): Promise<Stored> {
  return storedFromText(await readFile(storedFile, 'utf8'));
}

/** Stores results in the repository. */
export async function store(results: Results): Promise<Stored> {
  const kept = storedFrom(results, new Date(), {
    tritonts: await versionOf(new URL('package.json', root)),
    piscina: await versionOf(new URL('node_modules/piscina/package.json', root)),
  });
  await writeFile(storedFile, storedText(kept));
  return kept;
}

async function versionOf(manifest: URL): Promise<string> {
  const { version } = JSON.parse(await readFile(manifest, 'utf8')) as { version: string };
  return version;
}

/** Texts of all files that show the results, by path in the repository. */
export async function rendered(results: Stored): Promise<ReadonlyMap<string, string>> {
  const files = new Map<string, string>([[pictureFile, picture(results)]]);
  for (const [path, table] of Object.entries(pages)) {
    const url = new URL(path, root);
    const text = replaced(await readFile(url, 'utf8'), table(results), path);
    const options = await resolveConfig(fileURLToPath(url));
    files.set(path, await format(text, { ...options, parser: 'markdown' }));
  }
  return files;
}

/** Writes all files that show the results. */
export async function writeReadme(results: Stored): Promise<void> {
  for (const [path, text] of await rendered(results)) await writeFile(new URL(path, root), text);
}

/**
 * Replaces the text between a page's markers.
 *
 * @throws An Error if the page has no markers.
 */
export function replaced(page: string, text: string, path: string): string {
  const from = page.indexOf(begin);
  const to = page.indexOf(end, from);
  if (from < 0 || to < 0) throw new Error(`${path} has no lines ${begin} and ${end}`);
  return `${page.slice(0, from)}${begin}\n\n${text}\n\n${page.slice(to)}`;
}
