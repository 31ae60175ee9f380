import assert from 'node:assert/strict';
import test from 'node:test';
import { compatibilityPage } from '../../scripts/compatibility/page.js';
import { differences } from '../../scripts/compatibility/differences.js';
import { allFieldPaths } from '../../src/config/schema/fields.js';

const page = compatibilityPage();

test('the page has a row for every field', () => {
  for (const { path } of allFieldPaths()) assert.ok(page.includes(`| \`${path}\` | `), path);
});

test('the page has every difference', () => {
  for (const { triton, here } of differences) assert.ok(page.includes(`| ${triton} | ${here} |`), triton);
});

test('every row of the page has the cells of its table', () => {
  const tables = page.split('\n\n').map((part) => part.split('\n').filter((line) => line.startsWith('|')));
  for (const [head, ...rows] of tables) {
    if (head === undefined) continue;
    const cells = (line: string): number => line.replaceAll('\\|', '').split('|').length;
    for (const row of rows) assert.equal(cells(row), cells(head), row);
  }
});

test('a field inside of a refused one points to it, and values have rows', () => {
  assert.match(
    page,
    /\| `instance_group\.secondary_devices\.device_id` \| int64 \| \*\*refused\*\* \| as `instance_group\.secondary_devices` \|/,
  );
  assert.match(page, /\| `instance_group\.kind`: `KIND_MODEL` \| {2}\| \*\*refused\*\* \|/);
});

test('what is a hint without a GPU has a row for that', () => {
  for (const what of ['`cc_model_filenames`', '`gpu_mem_limit`', '`gpu_execution_accelerator` `cuda`']) {
    assert.match(page, new RegExp(`\\| ${what} without a GPU instance \\| .*hint \\|`));
  }
});
