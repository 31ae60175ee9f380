/**
 * What a user sees who may not read parts of a repository. The superuser may read all, so that this gives its rights away first.
 * The argument is a folder in which anybody may write.
 */

import assert from 'node:assert/strict';
import { chmod, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { createServer, type InferenceServer } from '../../../src/index.js';
import { checkRepository } from '../../../src/registry/check-repository.js';
import { configText, onnx, rejection } from '../../support/harness.js';
import { addModel, externalDataModel } from '../../support/models.js';
import { writeRepository } from '../../support/repository.js';
import { addend, reasonOf, settle, short, states } from '../polling/harness.js';

/** The user `nobody` of most systems. It need not exist. */
const nobody = 65_534;

const labelled = {
  config: configText().replace(/output \[\s*\{/, '$& label_filename: "labels.txt"'),
  versions: { '1': addModel() },
  files: { 'labels.txt': 'a\nb' },
};

/** What of a model may not be read, the rights that it has, and what the error says. */
const cases: Readonly<Record<string, readonly [path: string, rights: number, message: RegExp]>> = {
  folder: ['', 0, /^model 'folder': its folder cannot be read: Permission denied: '.*folder'$/],
  listed: [
    '',
    0o400,
    /^model 'listed': its folder cannot be read: Permission denied: '.*listed\/(1|config\.pbtxt)'$/,
  ],
  config: ['config.pbtxt', 0, /^model 'config': .*config\/config\.pbtxt cannot be read: Permission denied$/],
  version: ['1', 0, /^model 'version': its folder cannot be read: Permission denied: '.*version\/1'$/],
  deep: ['1/more', 0, /^model 'deep': its folder cannot be read: Permission denied: '.*deep\/1\/more'$/],
  file: [
    '1/model.onnx',
    0,
    /^model 'file', version 1: '.*file\/1\/model\.onnx' cannot be read: permission denied; allow/,
  ],
  weights: [
    '1/weights.bin',
    0,
    /^model 'weights', version 1: '.*weights\/1\/weights\.bin' cannot be read: permission denied; allow/,
  ],
  labels: [
    'labels.txt',
    0,
    /labels\/config\.pbtxt:4: .*labels\.txt cannot be read: EACCES: permission denied/,
  ],
};

function begin(folder: string, mode: 'poll' | 'explicit'): Promise<InferenceServer> {
  return createServer(folder, {
    modelControlMode: mode,
    ...(mode === 'poll' && { repositoryPollMs: 0 }),
    exitOnError: false,
    logger: {},
  });
}

/** Loads, an index and a check of models of which something may not be read. */
async function loads(folder: string): Promise<void> {
  const { model, data } = externalDataModel('weights.bin');
  const whole = { versions: { '1': { 'model.onnx': model, 'weights.bin': data } } };
  const plain = Object.keys(cases).map((name) => [name, onnx()] as const);
  const models = { ...Object.fromEntries(plain), labels: labelled, weights: whole, good: onnx() };
  await writeRepository(folder, models);
  await mkdir(join(folder, 'deep', '1', 'more'));
  for (const [name, [path, rights]] of Object.entries(cases)) await chmod(join(folder, name, path), rights);
  const all = await begin(folder, 'poll');
  assert.deepEqual(
    states(all).filter((line) => line.endsWith('READY')),
    ['good 1 READY'],
  );
  const explicit = await begin(folder, 'explicit');
  const checked = await checkRepository({ modelRepository: folder });
  for (const [name, [, , message]] of Object.entries(cases)) {
    assert.match(reasonOf(all, name) ?? '', message);
    const error = await rejection(explicit.loadModel(name));
    assert.match(error.message, message);
    assert.equal(error.model, name);
    const [problem] = checked.find((model) => model.name === name)?.problems ?? [];
    assert.match(problem?.message ?? '', message);
  }
  assert.equal(checked.find(({ name }) => name === 'good')?.ok, true);
  await all.close();
  await explicit.close();
  for (const [name, [path]] of Object.entries(cases)) await chmod(join(folder, name, path), 0o755);
}

/** Polls while rights are taken away and given back. */
async function polls(folder: string): Promise<void> {
  await writeRepository(folder, { add: onnx() });
  const server = await begin(folder, 'poll');
  for (const path of ['add', join('add', '1')]) {
    await chmod(join(folder, path), 0);
    assert.deepEqual([short(await server.rescan()), short(await server.rescan())], ['?add', '!add'], path);
    assert.match(reasonOf(server, 'add') ?? '', /Permission denied/);
    assert.equal(await addend(server), 1);
    await chmod(join(folder, path), 0o755);
    assert.equal(await settle(server), '');
    assert.equal(reasonOf(server, 'add'), undefined);
  }
  await chmod(folder, 0);
  const { unlisted } = await server.rescan();
  assert.deepEqual(
    unlisted.map(({ error }) => [error.code, /cannot be read: EACCES/.test(error.message)]),
    [['NOT_FOUND', true]],
  );
  assert.equal(await addend(server), 1);
  const refused = await rejection(createServer(folder));
  assert.match(refused.message, /model repository '.*' cannot be read: EACCES/);
  const unchecked = await rejection(checkRepository({ modelRepository: folder }));
  assert.match(unchecked.message, /model repository '.*' cannot be read: EACCES/);
  await chmod(folder, 0o755);
  assert.equal(await settle(server), '');
  await server.close();
}

if (process.getuid?.() === 0) {
  process.setgroups?.([]);
  process.setgid?.(nobody);
  process.setuid?.(nobody);
}
const [, , place = ''] = process.argv;
for (const [name, part] of Object.entries({ loads, polls })) {
  const folder = join(place, name);
  await mkdir(folder);
  await part(folder);
  console.log(name);
}
