import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { readFile, readdir } from 'node:fs/promises';
import { join, sep } from 'node:path';
import { suite, test } from 'node:test';
import { temporaryFolder, writeRepository } from './repository.js';

test('writeRepository lays out configs, versions and further files', async (t) => {
  const folder = await writeRepository(await temporaryFolder(t), {
    a: {
      config: 'name: "a"',
      versions: {
        '1': Uint8Array.of(1),
        '3': { 'other.onnx': Uint8Array.of(3), 'sub/data.bin': Uint8Array.of(4) },
      },
      files: { 'labels.txt': 'zero\n' },
    },
    b: {},
  });
  const found = await readdir(folder, { recursive: true });
  assert.deepEqual(found.map((path) => path.replaceAll(sep, '/')).toSorted(), [
    'a',
    'a/1',
    'a/1/model.onnx',
    'a/3',
    'a/3/other.onnx',
    'a/3/sub',
    'a/3/sub/data.bin',
    'a/config.pbtxt',
    'a/labels.txt',
    'b',
  ]);
  assert.equal(await readFile(join(folder, 'a/config.pbtxt'), 'utf8'), 'name: "a"');
  assert.deepEqual([...(await readFile(join(folder, 'a/1/model.onnx')))], [1]);
});

test('writeRepository adds a version to a model that is there', async (t) => {
  const folder = await temporaryFolder(t);
  await writeRepository(folder, { a: { versions: { '1': Uint8Array.of(1) } } });
  await writeRepository(folder, { a: { versions: { '2': Uint8Array.of(2) } } });
  assert.deepEqual((await readdir(join(folder, 'a'))).toSorted(), ['1', '2']);
});

void suite('temporaryFolder', async () => {
  let folder = '';
  await test('gives an empty folder', async (t) => {
    folder = await temporaryFolder(t);
    assert.deepEqual(await readdir(folder), []);
    await writeRepository(folder, { a: { config: '' } });
  });
  await test('removes it after the test', () => {
    assert.notEqual(folder, '');
    assert.equal(existsSync(folder), false);
  });
});
