import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { mkdir, rm, symlink, truncate, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { createEngine } from '../../../../src/addon/engine.js';
import { FolderSource } from '../../../../src/registry/sources/folder/folder-source.js';
import { listModels } from '../../../../src/registry/sources/folder/list-models.js';
import { anywhere } from '../../../../src/registry/sources/folder/link-roots.js';
import type { ListedModel, StampedFiles } from '../../../../src/registry/sources/model-source.js';
import { rejection } from '../../../support/harness.js';
import { temporaryFolder, writeRepository } from '../../../support/repository.js';
import { noLinks } from '../../../support/links.js';

const onPosix = { skip: process.platform === 'win32' && 'there are no such files' };

const engine = createEngine({
  modelLoadConcurrency: 1,
  maxInFlightBytes: 1024,
  spinCores: 0,
  rateLimit: undefined,
  cache: undefined,
});
after(async () => {
  await new Promise<void>((resolve) => {
    engine.close(0, () => {
      resolve();
    });
  });
  engine.join();
});

/** Models are read by where they are, whatever the repository. */
const source = new FolderSource(engine, '.', anywhere);
const { signal } = new AbortController();

function readModel(model: ListedModel): Promise<StampedFiles> {
  return source.read(model, signal);
}

function stampModel(model: ListedModel): Promise<string> {
  return source.stamp(model, signal);
}

/** Folder of the model `m` in a repository. */
function model(repository: string): ListedModel {
  return { name: 'm', path: join(repository, 'm') };
}

test('every sub-folder is a model, by name, with its path', async (t) => {
  const repository = await writeRepository(await temporaryFolder(t), { b: {}, a: {} });
  await writeFile(join(repository, 'readme.txt'), '');
  await mkdir(join(repository, '.git'));
  assert.deepEqual(await listModels(repository), [
    { name: 'a', path: join(repository, 'a') },
    { name: 'b', path: join(repository, 'b') },
  ]);
});

test('a link to a folder is a model, a dangling one is not', { skip: noLinks }, async (t) => {
  const repository = await temporaryFolder(t);
  await symlink(await temporaryFolder(t), join(repository, 'linked'));
  await symlink(join(repository, 'nowhere'), join(repository, 'dangling'));
  assert.deepEqual(
    (await listModels(repository)).map(({ name }) => name),
    ['linked'],
  );
});

test('a repository that is not there is NOT_FOUND', async () => {
  const error = await rejection(listModels('/no/such/folder'));
  assert.equal(error.code, 'NOT_FOUND');
  assert.match(error.message, /model repository '\/no\/such\/folder': there is no such folder/);
  assert.ok(error.cause instanceof Error);
});

test('a repository that is a file is INVALID_ARG', async (t) => {
  const file = join(await temporaryFolder(t), 'models');
  await writeFile(file, '');
  assert.equal((await rejection(listModels(file))).code, 'INVALID_ARG');
});

test('versions are the folders with a number as their name, ascending', async (t) => {
  const repository = await temporaryFolder(t);
  for (const name of ['10', '9', '01', '1a', 'labels', '-1', '1.5', '99999999999999999']) {
    await mkdir(join(repository, 'm', name), { recursive: true });
  }
  await writeFile(join(repository, 'm', '7'), 'a file');
  assert.deepEqual((await readModel(model(repository))).versions, [9, 10]);
});

test('a version may be a link to a folder', { skip: noLinks }, async (t) => {
  const repository = await writeRepository(await temporaryFolder(t), { m: {} });
  await symlink(await temporaryFolder(t), join(repository, 'm', '3'));
  assert.deepEqual((await readModel(model(repository))).versions, [3]);
});

test('the config comes as the bytes of the file', async (t) => {
  const repository = await writeRepository(await temporaryFolder(t), { m: { config: 'name: "m"' } });
  const { config } = await readModel(model(repository));
  assert.equal(config?.file, join(repository, 'm', 'config.pbtxt'));
  assert.equal(Buffer.from(config.bytes).toString(), 'name: "m"');
});

test('a model may have no config', async (t) => {
  const repository = await writeRepository(await temporaryFolder(t), { m: { versions: { '1': {} } } });
  assert.equal((await readModel(model(repository))).config, undefined);
});

test('of the versions the lexically first with any content is listed; other folders are not', async (t) => {
  const versions = { '10': { 'b.onnx': '' }, '9': { 'a.onnx': '' } };
  const repository = await writeRepository(await temporaryFolder(t), { m: { versions } });
  assert.deepEqual((await readModel(model(repository))).firstVersionEntries, [
    { name: 'b.onnx', isDirectory: false },
  ]);
  const other = { versions: { '.cache': { x: '' }, '0': {}, '00': { y: '' }, '3': { 'c.onnx': '' } } };
  await writeRepository(repository, { other });
  assert.deepEqual(
    (await readModel({ name: 'other', path: join(repository, 'other') })).firstVersionEntries,
    [{ name: 'c.onnx', isDirectory: false }],
  );
});

test('a file that was probably meant to be config.pbtxt is named, where there is none', async (t) => {
  for (const name of ['Config.pbtxt', 'config.pbtxt.txt', 'config.json', 'CONFIG.PBTXT']) {
    const repository = await writeRepository(await temporaryFolder(t), { m: { files: { [name]: '' } } });
    assert.equal((await readModel(model(repository))).misnamedConfig, name);
    const file = join(repository, 'm', 'config.pbtxt');
    // Where case does not matter, the names may be those of one file, which keeps its own when it is written.
    if (existsSync(file)) await rm(file);
    await writeFile(file, '');
    assert.equal((await readModel(model(repository))).misnamedConfig, undefined);
  }
});

test('a config that is a folder is INTERNAL', async (t) => {
  const repository = await writeRepository(await temporaryFolder(t), { m: {} });
  const file = join(repository, 'm', 'config.pbtxt');
  await mkdir(file);
  const error = await rejection(readModel(model(repository)));
  assert.deepEqual([error.code, error.model], ['INTERNAL', 'm']);
  assert.equal(error.message, `model 'm': ${file} cannot be read: it is a folder`);
});

test('a device in the folder of a model is INVALID_ARG, wherever a link leads to it', onPosix, async (t) => {
  const repository = await writeRepository(await temporaryFolder(t), { m: { versions: { '1': {} } } });
  for (const place of ['config.pbtxt', '1/model.onnx']) {
    const file = join(repository, 'm', place);
    await symlink('/dev/zero', file);
    const error = await rejection(readModel(model(repository)));
    assert.deepEqual([error.code, error.model], ['INVALID_ARG', 'm']);
    assert.equal(
      error.message,
      `model 'm': '${place}' is a device; its folder '${join(repository, 'm')}' must hold only the model's files`,
    );
    await rm(file);
  }
});

test('a repository is listed only up to the limit, and only until it is cancelled', async (t) => {
  const repository = await writeRepository(await temporaryFolder(t), { a: {}, b: {}, c: {} });
  assert.equal((await listModels(repository, () => false, 3)).length, 3);
  const error = await rejection(listModels(repository, () => false, 2));
  assert.equal(error.code, 'INVALID_ARG');
  assert.equal(error.message, `model repository '${repository}' has more than 2 files and folders`);
  let asked = 0;
  const given = await rejection(listModels(repository, () => ++asked === 2));
  assert.deepEqual([given.code, asked], ['CANCELLED', 2]);
});

test('a config that is too large is refused by its size, unread', async (t) => {
  const repository = await writeRepository(await temporaryFolder(t), { m: { config: '' } });
  const file = join(repository, 'm', 'config.pbtxt');
  // No buffer can hold this much.
  await truncate(file, 2 ** 40);
  const error = await rejection(readModel(model(repository)));
  assert.deepEqual([error.code, error.model], ['INVALID_ARG', 'm']);
  assert.deepEqual(error.location, { file, line: 0, field: '' });
  assert.match(
    error.message,
    /the file has 1099511627776 bytes; the size limit of a configuration is 1048576/,
  );
});

test('a stamp alone is that of a read, and does not depend on whether the config can be read', async (t) => {
  const repository = await writeRepository(await temporaryFolder(t), { m: { config: 'name: "m"' } });
  const { stamp } = await readModel(model(repository));
  assert.equal(await stampModel(model(repository)), stamp);
  const file = join(repository, 'm', 'config.pbtxt');
  await truncate(file, 2 ** 40);
  const large = await stampModel(model(repository));
  assert.notEqual(large, stamp);
  assert.ok(large.includes('config.pbtxt'));
});

test('the files of a folder are opened where they are, and nothing is to be removed', async () => {
  assert.deepEqual(await source.materialise({ name: 'm', path: '/x/m' }), {
    directory: '/x/m',
    file: undefined,
  });
});

test('a config that is a dangling link is INTERNAL', { skip: noLinks }, async (t) => {
  const repository = await writeRepository(await temporaryFolder(t), { m: {} });
  const file = join(repository, 'm', 'config.pbtxt');
  await symlink(join(repository, 'nowhere'), file);
  const error = await rejection(readModel(model(repository)));
  assert.deepEqual([error.code, error.model], ['INTERNAL', 'm']);
  assert.equal(error.message, `model 'm': ${file} cannot be read: it leads nowhere`);
});

test('a folder that is gone is INTERNAL', async (t) => {
  const repository = await temporaryFolder(t);
  const gone = await rejection(readModel(model(repository)));
  assert.deepEqual([gone.code, gone.model], ['INTERNAL', 'm']);
  assert.match(
    gone.message,
    // The words are the system's.
    process.platform === 'win32'
      ? /model 'm': its folder cannot be read: .+: '.*m'/
      : /model 'm': its folder cannot be read: No such file or directory: '.*m'/,
  );
});

void test('stamps', async (t) => {
  const files = { config: 'name: "m"', versions: { '1': { 'model.onnx': 'abc', 'sub/data.bin': 'x' } } };
  const repository = await writeRepository(await temporaryFolder(t), { m: files });
  const inside = (...path: string[]): string => join(repository, 'm', ...path);
  const old = new Date(2020, 1, 1);
  const before = async (): Promise<string> => {
    await utimes(inside('1', 'model.onnx'), old, old);
    return stampModel(model(repository));
  };

  await t.test('are the same where nothing changed', async () => {
    const stamp = await before();
    assert.equal(await stampModel(model(repository)), stamp);
  });
  await t.test('change although size and time of a file were put back', async () => {
    const stamp = await before();
    await writeFile(inside('1', 'model.onnx'), 'xyz');
    await utimes(inside('1', 'model.onnx'), old, old);
    assert.notEqual(await stampModel(model(repository)), stamp);
  });
  await t.test('change with the time of a file', async () => {
    const stamp = await before();
    await utimes(inside('1', 'model.onnx'), old, new Date(2021, 1, 1));
    assert.notEqual(await stampModel(model(repository)), stamp);
  });
  await t.test('change with the size of a file in a sub-folder', async () => {
    const stamp = await before();
    await writeFile(inside('1', 'sub', 'data.bin'), 'xy');
    await utimes(inside('1', 'sub', 'data.bin'), old, old);
    assert.notEqual(await stampModel(model(repository)), stamp);
  });
  await t.test('change with a new version', async () => {
    const stamp = await before();
    await mkdir(inside('2'));
    assert.notEqual(await stampModel(model(repository)), stamp);
  });
  await t.test('change with a file that is gone', async () => {
    const stamp = await before();
    await rm(inside('1', 'model.onnx'));
    assert.notEqual(await stampModel(model(repository)), stamp);
    await writeFile(inside('1', 'model.onnx'), 'abc');
  });
  await t.test('do not fail for a dangling link', { skip: noLinks }, async () => {
    await symlink(inside('nowhere'), inside('dangling'));
    const stamp = await before();
    assert.ok(stamp.includes('dangling'));
    await rm(inside('dangling'));
  });
  await t.test('end where a link leads in a circle', { skip: noLinks }, async () => {
    await symlink(inside('1'), inside('1', 'again'));
    assert.ok((await before()).includes('again'));
    await rm(inside('1', 'again'));
  });
  await t.test('follow links to files', { skip: noLinks }, async () => {
    const target = join(await temporaryFolder(t), 'weights.bin');
    await writeFile(target, '1');
    await symlink(target, inside('weights.bin'));
    const stamp = await before();
    await writeFile(target, '12');
    assert.notEqual(await stampModel(model(repository)), stamp);
  });
});
