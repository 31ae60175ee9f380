/** Where plug-ins are looked for, and what is said where there is none, or where it must not be. */

import assert from 'node:assert/strict';
import { copyFile, mkdir, mkdtemp, realpath, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { createServer, type ServerOptions } from '../../../src/index.js';
import { floats, rejection, type Context } from '../../support/harness.js';
import { writeRepository, type RepositoryModel } from '../../support/repository.js';
import { pluginFolder, skip } from './own-plugins.js';

const library = join(pluginFolder, 'identity', 'libtriton_identity.so');

function model(backend: string, more = ''): RepositoryModel {
  return {
    config: `backend: "${backend}" max_batch_size: 4
input [ { name: "x" data_type: TYPE_FP32 dims: [ 2 ] } ]
output [ { name: "y" data_type: TYPE_FP32 dims: [ 2 ] } ]
instance_group [ { kind: KIND_CPU count: 1 } ] ${more}`,
    versions: { '1': {} },
  };
}

const asked = 'parameters { key: "plugin" value { string_value: "true" } }';

/** A repository with one model, in a folder of its own. */
async function repository(t: Context, one: RepositoryModel): Promise<string> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'tritonts-places-')));
  t.after(() => rm(folder, { recursive: true }));
  await writeRepository(folder, { m: one });
  return folder;
}

async function answers(
  t: Context,
  folder: string,
  options: Omit<ServerOptions, 'modelRepository'>,
): Promise<void> {
  const server = await createServer(folder, options);
  t.after(() => server.close());
  assert.deepEqual(floats(await server.infer('m', { x: [[3, 4]] })), [3, 4]);
}

test(
  'a plug-in is found in the backend directory, also in place of a backend of this package',
  { skip },
  async (t) => {
    await answers(t, await repository(t, model('identity', asked)), { backendDirectory: pluginFolder });
  },
);

test(
  'a library in the folder of the version or the model counts if the folder is trusted',
  { skip },
  async (t) => {
    for (const place of ['m', 'm/1']) {
      const folder = await repository(t, model('mirror'));
      await copyFile(library, join(folder, place, 'libtriton_mirror.so'));
      const error = await rejection(createServer(folder));
      assert.equal(error.code, 'INVALID_ARG');
      assert.match(error.message, /libtriton_mirror\.so.*trustedFolders of createServer names more/);
      await answers(t, folder, { trustedFolders: [folder] });
    }
  },
);

test('runtime names another file, which must not lead out', { skip }, async (t) => {
  const folder = await repository(t, model('mirror', 'runtime: "mine.so"'));
  const backends = join(folder, 'backends');
  await mkdir(join(backends, 'mirror'), { recursive: true });
  await copyFile(library, join(backends, 'mirror', 'mine.so'));
  await answers(t, folder, { backendDirectory: backends, loadModels: ['m'], modelControlMode: 'explicit' });
  const out = await repository(t, model('mirror', 'runtime: "../../mine.so"'));
  assert.equal((await rejection(createServer(out, { backendDirectory: backends }))).code, 'INVALID_ARG');
});

test('a link to a library elsewhere is refused', { skip }, async (t) => {
  const folder = await repository(t, model('mirror'));
  await symlink(library, join(folder, 'm', 'libtriton_mirror.so'));
  const error = await rejection(createServer(folder, { trustedFolders: [folder], outsideLinks: true }));
  assert.match(error.message, /leads to '.*libtriton_identity\.so'/);
});

test(
  "without a library the error says so in Triton's words, and where it was looked for",
  { skip },
  async (t) => {
    for (const one of [model('mirror'), model('identity', asked), model('mirror', 'runtime: "mine.so"')]) {
      const folder = await repository(t, one);
      const error = await rejection(createServer(folder, { backendDirectory: folder }));
      assert.equal(error.code, 'INVALID_ARG');
      assert.match(
        error.message,
        /unable to find backend library for backend '\w+', try specifying runtime on the model configuration\./,
      );
      assert.ok(error.message.includes(join(folder, 'm', '1')), error.message);
    }
  },
);

test('a value of the parameter plugin that means nothing is refused', { skip }, async (t) => {
  const folder = await repository(t, model('identity', asked.replace('"true"', '"yes"')));
  const error = await rejection(createServer(folder));
  assert.match(error.message, /expected 'true' or 'false' but received 'yes'/);
});

test('a library that is no plug-in of Triton is refused by its name', { skip }, async (t) => {
  const folder = await repository(t, model('mirror'));
  await copyFile(join(pluginFolder, '..', 'libfakeonnxruntime.so'), join(folder, 'm', 'libtriton_mirror.so'));
  const error = await rejection(createServer(folder, { trustedFolders: [folder] }));
  assert.equal(error.code, 'INVALID_ARG');
  assert.match(error.message, /has no function TRITONBACKEND_ModelInstanceExecute/);
});
