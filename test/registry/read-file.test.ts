import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { readAtMost, readBeginning, TooLargeError } from '../../src/registry/files/read-file.js';
import { temporaryFolder } from '../support/repository.js';

test('a file of as many bytes as are allowed is read, one of more is not', async (t) => {
  const file = join(await temporaryFolder(t), 'file');
  for (const content of ['', 'a', 'four']) {
    await writeFile(file, content);
    assert.equal((await readAtMost(file, 4)).toString(), content);
  }
  await writeFile(file, 'fives');
  await assert.rejects(readAtMost(file, 4), (error) => error instanceof TooLargeError && error.size === 5);
});

test('only the first bytes of a file are read, or all if there are fewer', async (t) => {
  const file = join(await temporaryFolder(t), 'file');
  for (const [content, read] of [
    ['', ''],
    ['abc', 'abc'],
    ['four', 'four'],
    ['x'.repeat(1 << 20), 'xxxx'],
  ] as const) {
    await writeFile(file, content);
    assert.equal((await readBeginning(file, 4)).toString(), read);
  }
  await assert.rejects(readBeginning(join(file, '..'), 4), /it is a folder/);
});

test(
  'a file that tells no size is not read beyond the limit',
  { skip: process.platform !== 'linux' },
  async () => {
    assert.ok((await readAtMost('/proc/self/status', 1 << 20)).length > 100);
    await assert.rejects(readAtMost('/proc/self/status', 100), TooLargeError);
  },
);

test(
  'a pipe is refused at once, where a reader would wait for a writer',
  { skip: process.platform === 'win32' },
  async (t) => {
    const file = join(await temporaryFolder(t), 'pipe');
    execFileSync('mkfifo', [file]);
    await assert.rejects(readAtMost(file, 4), /it is not a regular file/);
  },
);
