/** The files of traces, as systems differ in: the letters of their paths, and a name that is taken. */

import assert from 'node:assert/strict';
import { readFile, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { identity, row, serve } from '../../support/harness.js';
import { temporaryFolder } from '../../support/repository.js';

const models = { m: identity() };

/** The number of traces in a file. */
async function traces(file: string): Promise<number> {
  const all: unknown = JSON.parse(await readFile(file, 'utf8'));
  assert.ok(Array.isArray(all));
  return all.length;
}

test('a trace file may have any letters in its path', async (t) => {
  const file = join(await temporaryFolder(t), 'Spüren-痕跡.json');
  const server = await serve(t, models, { traceConfig: { level: 'TIMESTAMPS', rate: 1, file } });
  await server.infer('m', { x: row() });
  await server.close();
  assert.ok((await traces(file)) > 0);
});

test('a file whose count is exhausted takes the place of one from an earlier process', async (t) => {
  const folder = await temporaryFolder(t);
  const file = join(folder, 'traces.json');
  await writeFile(`${file}.0`, 'old');
  const server = await serve(t, models, { traceConfig: { level: 'TIMESTAMPS', rate: 1, count: 1, file } });
  await server.infer('m', { x: row() });
  await server.close();
  assert.deepEqual(await readdir(folder), ['traces.json.0']);
  assert.ok((await traces(`${file}.0`)) > 0);
});
