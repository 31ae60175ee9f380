import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { modelRepository } from '../../examples/trees/folder.js';
import { scoreTable } from '../../examples/trees/score.js';
import { writeTable } from '../../examples/trees/table.js';
import { createServer } from '../../src/index.js';
import { temporaryFolder } from '../support/repository.js';

test('a table is scored, row by row and in order, with progress', async (t) => {
  const folder = await temporaryFolder(t);
  const [table, scores] = [join(folder, 'table.csv'), join(folder, 'scores.csv')];
  await writeTable(table, 1234);
  const server = await createServer(modelRepository);
  t.after(() => server.close());
  const progress: number[] = [];
  const { rows, right } = await scoreTable(server.model('digits_trees'), table, scores, (done) => {
    progress.push(done);
  });
  assert.equal(rows, 1234);
  assert.deepEqual(progress, [500, 1000, 1234]);
  assert.ok(right >= 0.9 * rows, `${right} right`);
  const labels = async (file: string): Promise<string[]> =>
    (await readFile(file, 'utf8'))
      .trimEnd()
      .split('\n')
      .map((line) => line.split(',')[0] ?? '');
  assert.deepEqual(await labels(scores), await labels(table));
  for (const line of (await readFile(scores, 'utf8')).trimEnd().split('\n').slice(1))
    assert.match(line, /^\d,\d,[01]\.\d{4}$/);
});
