/** Keys of objects as the folder of a model. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  entriesOfTree,
  filesOfVersions,
  foldersOfVersions,
  layoutOf,
  treeOf,
  type ModelTree,
} from '../../../src/registry/sources/store/model-tree.js';
import { unchangedVersions } from '../../../src/registry/polling/changes.js';
import { rejection } from '../../support/harness.js';

const tree = (keys: readonly string[], size = 3): Promise<ModelTree> =>
  treeOf(
    'm',
    'a/m/',
    keys.map((key) => ({
      key: `a/m/${key}`,
      size: key === '' || key.endsWith('/') ? 0 : size,
      stamp: `"${key}"`,
    })),
  );

test('keys make the folders, versions and files that a folder would have', async () => {
  const found = await tree([
    '',
    '10/model.onnx',
    '2/',
    '2/deep/x',
    '2/model.onnx',
    '03/x',
    'config.txt',
    'labels.txt',
  ]);
  const layout = layoutOf(found);
  assert.deepEqual(layout.versions, [2, 10]);
  assert.deepEqual(layout.firstVersionEntries, [{ name: 'model.onnx', isDirectory: false }]);
  assert.equal(layout.misnamedConfig, 'config.txt');
  assert.deepEqual(
    (await filesOfVersions(found, [2])).map(([path]) => path),
    ['2/deep/x', '2/model.onnx', '03/x', 'config.txt', 'labels.txt'],
  );
  assert.deepEqual(foldersOfVersions(found, [2]), ['2', '2/deep', '03']);
  const entries = await entriesOfTree(found.stamp);
  assert.deepEqual(
    entries
      .filter(({ size }) => size === undefined)
      .map(({ path }) => path)
      .sort(),
    ['03', '10', '2', '2/deep'],
  );
  assert.deepEqual(
    entries.find(({ path }) => path === '2/model.onnx'),
    {
      path: '2/model.onnx',
      size: 3,
      stamp: '"2/model.onnx"',
    },
  );
});

test('another size, etag or name makes another stamp', async () => {
  const trees = [tree(['1/a']), tree(['1/a'], 4), tree(['1/b']), tree(['1/a', '2/']), tree([])];
  const stamps = (await Promise.all(trees)).map(({ stamp }) => stamp);
  assert.equal(new Set(stamps).size, stamps.length);
  assert.deepEqual(await entriesOfTree(''), []);
});

test('keys that are no paths are refused', async () => {
  for (const key of [
    '../x',
    '1/./x',
    '1//x',
    '/x',
    '1/a\\b',
    '1/a\0b',
    `1/${'ü'.repeat(128)}`,
    `${'a/'.repeat(1100)}x`,
  ]) {
    assert.match(
      (await rejection(tree([key]))).message,
      /^model 'm': the key 'a\/m\/.*' (has a part|is longer)/,
    );
  }
  assert.match(
    (await rejection(tree(['1', '1/x']))).message,
    /is an object, and other keys have it as their folder/,
  );
  const filled = [{ key: 'a/m/1/', size: 1, stamp: '' }];
  assert.match((await rejection(treeOf('m', 'a/m/', filled))).message, /ends with a slash.* and has content/);
});

test('folders count, and are not too deep', async () => {
  const deep = `${'a/'.repeat(33)}x`;
  assert.match((await rejection(tree([deep]))).message, /a\/x' has more than 32 folders inside each other$/);
  assert.match((await rejection(tree([`${'a/'.repeat(32)}b/`]))).message, /more than 32 folders/);
  assert.equal((await tree([deep.slice(2), 'b/'.repeat(32)])).folders.size, 64);
  const objects = Array.from({ length: 4 }, (_, i) => ({ key: `a/m/${i}/x/y/z`, size: 1, stamp: '' }));
  assert.equal((await treeOf('m', 'a/m/', objects, 16)).folders.size, 12);
  const refused = await rejection(treeOf('m', 'a/m/', objects, 15));
  assert.equal(
    refused.message,
    "model 'm': the key 'a/m/3/x/y/z' is of a model with more than 15 files and folders",
  );
  const long = [{ key: 'a/m/x', size: 1, stamp: 'e'.repeat(2 ** 28) }];
  assert.match((await rejection(treeOf('m', 'a/m/', long))).message, /'a\/m\/x' is too much/);
});

test('a hundred thousand keys take a moment, in many turns of the event loop', async () => {
  const keys = Array.from({ length: 100_000 }, (_, i) => `1/part-${i % 100}/file-${i}.bin`);
  const since = performance.now();
  let turns = 0;
  const state = { isDone: false };
  const count = (): void => {
    turns++;
    if (!state.isDone) setImmediate(count);
  };
  setImmediate(count);
  const { stamp } = await tree(keys);
  const ofTree = turns;
  assert.ok(ofTree >= 20, `${ofTree} turns`);
  const entries = await entriesOfTree(stamp);
  assert.equal(entries.length, 100_101);
  const found = await unchangedVersions(entries, await entriesOfTree(stamp), () =>
    assert.fail('nothing is to be read'),
  );
  assert.deepEqual(found, { kept: new Set(['1']), all: true });
  assert.ok(turns >= ofTree + 20, `${turns - ofTree} turns`);
  state.isDone = true;
  assert.ok(performance.now() - since < 30_000);
});
