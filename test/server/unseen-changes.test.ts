/** Changes of a model's files that keep size, time or name: a load notices each, and reports if there was none. */

import assert from 'node:assert/strict';
import { cp, mkdir, rename, rm, stat, symlink, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { createServer, type InferenceServer } from '../../src/index.js';
import { addModel } from '../support/models.js';
import { temporaryFolder, writeRepository } from '../support/repository.js';
import { floats, onnx, rejection, row, start } from '../support/harness.js';
import { noLinks } from '../support/links.js';

const addend = async (server: InferenceServer): Promise<number | undefined> =>
  floats(await server.infer('add', { x: row(0) }))[0];

/** The modification time of all files, so that only their contents differ. */
const time = new Date(2020, 1, 1);

async function writeModel(file: string, addend: number): Promise<void> {
  await writeFile(file, addModel({ addend }));
  await utimes(file, time, time);
}

/** Replaces a link atomically, as deployments do. */
async function switchLink(link: string, target: string): Promise<void> {
  await symlink(target, `${link}.new`);
  await rename(`${link}.new`, link);
}

/** Ways to change a model's file from y = x + 1 to y = x + 2. `model` is its folder, `other` a folder elsewhere. */
const changes: Readonly<
  Record<
    string,
    {
      before?: (model: string, other: string) => Promise<void>;
      change: (model: string, other: string) => Promise<void>;
    }
  >
> = {
  'a file that is written in place, with its time put back': {
    change: (model) => writeModel(join(model, '1', 'model.onnx'), 2),
  },
  'a file that takes the place of another with the same size and time, as rsync -a does': {
    change: async (model) => {
      await writeModel(join(model, '1', 'new'), 2);
      await rename(join(model, '1', 'new'), join(model, '1', 'model.onnx'));
    },
  },
  'the target of a link to a file, written in place': {
    before: async (model, other) => {
      await rm(join(model, '1', 'model.onnx'));
      await symlink(join(other, '1', 'model.onnx'), join(model, '1', 'model.onnx'));
      await writeModel(join(other, '1', 'model.onnx'), 1);
    },
    change: (_, other) => writeModel(join(other, '1', 'model.onnx'), 2),
  },
  'a link to a file that leads elsewhere': {
    before: async (model, other) => {
      await writeModel(join(other, 'one.onnx'), 1);
      await writeModel(join(other, 'two.onnx'), 2);
      await rm(join(model, '1', 'model.onnx'));
      await symlink(join(other, 'one.onnx'), join(model, '1', 'model.onnx'));
    },
    change: (model, other) => switchLink(join(model, '1', 'model.onnx'), join(other, 'two.onnx')),
  },
  'a link to a version that leads elsewhere': {
    before: async (model, other) => {
      await cp(join(model, '1'), join(other, 'old'), { recursive: true, preserveTimestamps: true });
      await rm(join(model, '1'), { recursive: true });
      await symlink(join(other, 'old'), join(model, '1'));
    },
    change: (model, other) => switchLink(join(model, '1'), join(other, '1')),
  },
  'a link to a model that leads elsewhere': {
    before: async (model, other) => {
      await rename(model, `${other}-old`);
      await symlink(`${other}-old`, model);
    },
    change: switchLink,
  },
  'a folder of a model that takes the place of another': {
    change: async (model, other) => {
      await rm(model, { recursive: true });
      await rename(other, model);
    },
  },
};

for (const [what, { before, change }] of Object.entries(changes)) {
  test(
    `a load sees ${what}, and says where nothing changed`,
    { skip: what.includes('link') && noLinks },
    async (t) => {
      const folder = await writeRepository(await temporaryFolder(t), { add: onnx() });
      const model = join(folder, 'add');
      const outside = await temporaryFolder(t);
      await writeRepository(outside, { other: onnx() });
      const other = join(outside, 'other');
      await writeModel(join(model, '1', 'model.onnx'), 1);
      await writeModel(join(other, '1', 'model.onnx'), 2);
      for (const one of [model, other]) {
        await utimes(join(one, 'config.pbtxt'), time, time);
        await utimes(join(one, '1'), time, time);
      }
      await before?.(model, other);
      const server = await start(t, folder, {
        modelControlMode: 'explicit',
        loadModels: ['add'],
        outsideLinks: true,
      });
      assert.equal(await addend(server), 1);
      assert.deepEqual(await server.loadModel('add'), { changed: false });
      const { mtimeMs } = await stat(join(model, '1', 'model.onnx'));
      await change(model, other);
      assert.equal((await stat(join(model, '1', 'model.onnx'))).mtimeMs, mtimeMs, 'the time is as before');
      assert.deepEqual(await server.loadModel('add'), { changed: true });
      assert.equal(await addend(server), 2);
      assert.deepEqual(await server.loadModel('add'), { changed: false });
    },
  );
}

test('a load by force begins anew although nothing changed, and the log says when nothing did', async (t) => {
  const folder = await temporaryFolder(t);
  const imported = join(folder, 'imported.json');
  await mkdir(join(folder, 'models'));
  await writeFile(imported, '1');
  const models = await writeRepository(join(folder, 'models'), {
    m: {
      config: `backend: "javascript" input [ { name: "x" data_type: TYPE_FP32 dims: [ 1 ] } ]
        output [ { name: "y" data_type: TYPE_FP32 dims: [ 1 ] } ]`,
      versions: {
        '1': {
          'model.mjs': `import { readFileSync } from 'node:fs';
            const y = Number(readFileSync(${JSON.stringify(imported)}, 'utf8'));
            export default { execute: (requests) => requests.map(() => ({ y: [y] })) };`,
        },
      },
    },
  });
  const lines: string[] = [];
  const info = (text: string): void => void lines.push(text);
  const server = await createServer(models, {
    modelControlMode: 'explicit',
    loadModels: ['m'],
    logger: { info, warn: info, error: info },
  });
  t.after(() => server.close({ timeoutMs: 0 }));
  const y = async (): Promise<unknown> => (await server.infer('m', { x: [1] })).outputs['y']?.data[0];
  assert.equal(await y(), 1);
  await writeFile(imported, '2');
  assert.deepEqual(await server.loadModel('m'), { changed: false });
  assert.equal(await y(), 1);
  assert.match(
    lines.at(-1) ?? '',
    /model 'm': none of its files has changed, so it is served as before: version 1 \(force: true/,
  );
  assert.deepEqual(await server.loadModel('m', { force: true }), { changed: true });
  assert.equal(await y(), 2);
  const wrong = { force: 'yes' } as unknown as { force: boolean };
  assert.match(
    (await rejection(server.loadModel('m', wrong))).message,
    /expected true or false for load options\.force/,
  );
});
