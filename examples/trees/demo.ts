/**
 * Scores a table with boosted trees: `node dist/examples/trees/demo.js [<table.csv> [<scores.csv>]]`. Without a table it writes one of
 * 20,000 rows. It exits with 1 unless at least 90 % of the rows of that table are right.
 */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createServer } from '../../src/index.js';
import { modelRepository } from './folder.js';
import { scoreTable } from './score.js';
import { writeTable } from './table.js';

const wanted = 0.9;
const made = 20_000;

const folder = await mkdtemp(join(tmpdir(), 'tritonts-'));
try {
  const [given, scores = given === undefined ? join(folder, 'scores.csv') : `${given}.scores.csv`] =
    process.argv.slice(2);
  const table = given ?? join(folder, 'table.csv');
  if (given === undefined) {
    console.log(`Writing a table of ${made.toLocaleString('en')} rows …`);
    await writeTable(table, made);
  }
  console.log('Loading examples/trees/models …');
  await using server = await createServer(modelRepository);
  const begin = performance.now();
  let shown = begin;
  const { rows, right } = await scoreTable(server.model('digits_trees'), table, scores, (done) => {
    if (performance.now() < shown + 250) return;
    shown = performance.now();
    console.log(`${done.toLocaleString('en')} rows …`);
  });
  const seconds = (performance.now() - begin) / 1000;
  const share = (100 * right) / rows;
  console.log(
    `${rows.toLocaleString('en')} rows in ${seconds.toFixed(2)} s, ${share.toFixed(1)} % of the labels right` +
      (given === undefined ? '' : `; the answers are in ${scores}`),
  );
  if (given === undefined && share < 100 * wanted) {
    console.error(`at least ${100 * wanted} % should be right`);
    process.exitCode = 1;
  }
} finally {
  await rm(folder, { recursive: true, force: true });
}
