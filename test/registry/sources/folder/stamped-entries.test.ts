/** What a stamp tells of a model's entries, and digests of files. */

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { appendFile, mkdir, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { digestOf } from '../../../../src/registry/sources/folder/digest-file.js';
import { entriesOf } from '../../../../src/registry/sources/folder/stamped-entries.js';
import { rejection } from '../../../support/harness.js';
import { temporaryFolder } from '../../../support/repository.js';

const never = new AbortController().signal;

test('entries have paths, sizes and the targets of links', async () => {
  const stamp = [
    ...[
      '1 2 3.0 4.0',
      '1',
      'd 5 6 7.0 8.0',
      '/a b',
      'f12 1 2 12 3.0 4.0',
      '/c',
      'd 1 9 3.0 4.0 link 1 8 3 3.0 4.0',
    ],
    ...['//x\ny', 'f0 1 2 0 3.0 4.0', '2', '-', 'config.pbtxt', 'f3 1 2 3 3.0 4.0', ''],
  ].join('\0');
  assert.deepEqual(await entriesOf(stamp), [
    { path: '1', size: undefined, stamp: 'd' },
    { path: '1/a b', size: 12, stamp: 'f12 1 2 12 3.0 4.0' },
    { path: '1/c', size: undefined, stamp: 'd', target: '1 9' },
    { path: '1/c/x\ny', size: 0, stamp: 'f0 1 2 0 3.0 4.0' },
    { path: '2', size: undefined, stamp: '-' },
    { path: 'config.pbtxt', size: 3, stamp: 'f3 1 2 3 3.0 4.0' },
  ]);
  assert.deepEqual(await entriesOf('1 2 3.0 4.0\0'), []);
  assert.deepEqual(await entriesOf(''), []);
});

test('what Python writes is left out, at any depth', async () => {
  const stamp = ['1 2', '1', 'd', '/__pycache__', 'd', '//m.pyc', 'f1 2', '/m.py', 'f1 2', ''].join('\0');
  assert.deepEqual(
    (await entriesOf(stamp)).map(({ path }) => path),
    ['1', '1/m.py'],
  );
});

test('equal files have equal digests, and a file of several parts differs by any byte', async (t) => {
  const path = await temporaryFolder(t);
  const model = { name: 'm', path };
  const bytes = Buffer.alloc(2 ** 21 + 5, 'abc');
  const digest = (name: string, size = bytes.length): Promise<string | undefined> =>
    digestOf(model, { path: name, size, stamp: '' }, never);
  await writeFile(join(path, 'a'), bytes);
  await writeFile(join(path, 'b'), bytes);
  assert.equal(await digest('a'), await digest('b'));
  for (const place of [0, 2 ** 20, bytes.length - 1]) {
    const other = Buffer.from(bytes);
    other[place] = 0;
    await writeFile(join(path, 'c'), other);
    assert.notEqual(await digest('c'), await digest('a'));
  }
  await writeFile(join(path, 'empty'), '');
  assert.match((await digest('empty', 0)) ?? '', /^47DEQpj8/);
});

test('what is no file of this size has no digest', async (t) => {
  const path = await temporaryFolder(t);
  const digest = (name: string, size: number | undefined): Promise<string | undefined> =>
    digestOf({ name: 'm', path }, { path: name, size, stamp: '' }, never);
  await writeFile(join(path, 'a'), 'abc');
  await mkdir(join(path, 'folder'));
  await symlink('nowhere', join(path, 'link'));
  execFileSync('mkfifo', [join(path, 'pipe')]);
  assert.notEqual(await digest('a', 3), undefined);
  for (const name of ['folder', 'link', 'pipe', 'none']) assert.equal(await digest(name, 3), undefined, name);
  assert.equal(await digest('folder', undefined), undefined);
  await appendFile(join(path, 'a'), 'd');
  assert.equal(await digest('a', 3), undefined);
  await rm(join(path, 'a'));
  assert.equal(await digest('a', 4), undefined);
});

test('a digest ends when the server closes', async (t) => {
  const path = await temporaryFolder(t);
  await writeFile(join(path, 'a'), 'abc');
  const error = await rejection(
    digestOf({ name: 'm', path }, { path: 'a', size: 3, stamp: '' }, AbortSignal.abort()),
  );
  assert.equal(error.code, 'CANCELLED');
});
