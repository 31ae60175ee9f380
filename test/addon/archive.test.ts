import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileOutsideOfArchive, outsideOfArchive } from '../../src/addon/archive.js';
import { thrown } from '../support/harness.js';
import { temporaryFolder, writeRepository } from '../support/repository.js';

test('a file that Electron shows inside of app.asar is opened where it was unpacked', async (t) => {
  const folder = await temporaryFolder(t);
  await writeRepository(folder, { 'app.asar.unpacked': { files: { 'node_modules/lib.so': '' } } });
  const unpacked = join(folder, 'app.asar.unpacked', 'node_modules', 'lib.so');
  const shown = join(folder, 'app.asar', 'node_modules', 'lib.so');
  assert.equal(outsideOfArchive(shown), unpacked);
  assert.equal(fileOutsideOfArchive(shown, 'which a test needs', 'node_modules/**', true), unpacked);
  for (const file of [unpacked, join(folder, 'app.asar', 'none.so'), join(folder, 'app.asar.txt')]) {
    assert.equal(outsideOfArchive(file), file);
  }
});

test('a file that is only in the archive is refused to other programs, with what to unpack', async (t) => {
  const folder = await temporaryFolder(t);
  const packed = join(folder, 'app.asar', 'node_modules', 'tritonts', 'python', 'stub.py');
  const find = (inElectron: boolean): string =>
    fileOutsideOfArchive(packed, 'which Python models need', 'node_modules/tritonts/python/**', inElectron);
  const { code, reason, message } = thrown(() => find(true));
  assert.deepEqual([code, reason], ['UNAVAILABLE', 'MISSING']);
  assert.ok(message.startsWith(`'${packed}', which Python models need, is in an archive, `), message);
  assert.ok(message.includes(' asarUnpack: node_modules/tritonts/python/** '), message);
  // Without Electron no path leads into an archive.
  assert.equal(find(false), packed);
  const plain = join(folder, 'node_modules', 'stub.py');
  assert.equal(fileOutsideOfArchive(plain, '', '', true), plain);
});
