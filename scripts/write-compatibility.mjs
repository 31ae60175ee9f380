// Writes docs/compatibility.md from the class table of the built package. With --check it only compares, and
// exits with 1 if the page differs.
import { readFile, writeFile } from 'node:fs/promises';
import { compatibilityPage } from '../dist/scripts/compatibility/page.js';

const file = new URL('../docs/compatibility.md', import.meta.url);
const page = compatibilityPage();
if (!process.argv.includes('--check')) {
  await writeFile(file, page);
} else if ((await readFile(file, 'utf8').catch(() => '')) !== page) {
  console.error('docs/compatibility.md is out of date: run node scripts/write-compatibility.mjs');
  process.exitCode = 1;
}
