import assert from 'node:assert/strict';
import { test } from 'node:test';
import { unifiedDiff } from '../../src/analyze/report/diff.js';
import { frontOf } from '../../src/analyze/report/picture.js';

const lines = (...list: readonly string[]): string => list.map((line) => `${line}\n`).join('');
const numbered = (count: number): string[] => Array.from({ length: count }, (_, i) => `line ${i + 1}`);

test('equal texts have no difference', () => {
  assert.equal(unifiedDiff('a', lines('x'), lines('x')), '');
});

test('a changed line has three lines around it', () => {
  const after = numbered(20).with(9, 'new');
  assert.equal(
    unifiedDiff('config.pbtxt', lines(...numbered(20)), lines(...after)),
    `--- config.pbtxt
+++ config.pbtxt
@@ -7,7 +7,7 @@
 line 7
 line 8
 line 9
-line 10
+new
 line 11
 line 12
 line 13`,
  );
});

test('changes that are far apart are hunks of their own, and near ones share one', () => {
  const hunks = (...places: readonly number[]): number => {
    const after = numbered(40).map((line, i) => (places.includes(i) ? 'new' : line));
    return unifiedDiff('c', lines(...numbered(40)), lines(...after)).match(/^@@ /gm)?.length ?? 0;
  };
  assert.deepEqual(
    [hunks(5, 30), hunks(5, 11), hunks(5, 12), hunks(0, 39), hunks(2, 20, 38)],
    [2, 1, 1, 2, 3],
  );
});

test('a new file, an added end, and a last line without an end', () => {
  assert.equal(unifiedDiff('c', undefined, lines('a', 'b')), '--- /dev/null\n+++ c\n@@ -0,0 +1,2 @@\n+a\n+b');
  assert.equal(unifiedDiff('c', lines('a'), lines('a', 'b')), '--- c\n+++ c\n@@ -1 +1,2 @@\n a\n+b');
  assert.equal(
    unifiedDiff('c', 'a', lines('a', 'b')),
    '--- c\n+++ c\n@@ -1 +1,2 @@\n-a\n\\ No newline at end of file\n+a\n+b',
  );
});

test('the front has the points that none is better than in both', () => {
  const point = (x: number, y: number) => ({ x, y });
  assert.deepEqual(frontOf([point(1, 5), point(2, 3), point(2, 4), point(3, 3), point(4, 9), point(1, 1)]), [
    point(1, 1),
    point(3, 3),
    point(4, 9),
  ]);
  assert.deepEqual(frontOf([]), []);
});
