/** Links in a repository's folder: inside of it they lead anywhere, and out of it only if the program says so. */

import assert from 'node:assert/strict';
import { mkdir, realpath, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { test } from 'node:test';
import { createServer } from '../../src/index.js';
import { command } from '../cli/run.js';
import { configText, onnx, rejection, start, type Context } from '../support/harness.js';
import { addModel } from '../support/models.js';
import { temporaryFolder, writeRepository } from '../support/repository.js';
import { addend, polled, reasonOf, settle, short, states } from './polling/harness.js';

const onPosix = { skip: process.platform === 'win32' && 'links need rights there' };
const add = onnx();

/** A folder elsewhere with the files of a model, y = x + 5. */
async function elsewhere(t: Context): Promise<string> {
  // Messages have paths without links.
  const place = await realpath(await temporaryFolder(t));
  const folder = await writeRepository(place, { add: onnx(addModel({ addend: 5 })) });
  await writeFile(join(folder, 'add', 'labels.txt'), 'a');
  return join(folder, 'add');
}

/** Makes a link in place of what is there. */
async function link(target: string, path: string): Promise<void> {
  await rm(path, { recursive: true, force: true });
  await mkdir(dirname(path), { recursive: true });
  await symlink(target, path);
}

/** Links of a model that lead out, by their paths in the model's folder, and what they lead to in the other one. */
const links: Readonly<Record<string, string>> = {
  '': '',
  'config.pbtxt': 'config.pbtxt',
  'labels.txt': 'labels.txt',
  '1': '1',
  '1/model.onnx': '1/model.onnx',
  '1/deep/er/weights': '1/model.onnx',
  'more/folder': '.',
};

for (const [path, to] of Object.entries(links)) {
  test(`a link that leads out is refused: '${path}'`, onPosix, async (t) => {
    const outside = await elsewhere(t);
    const target = join(outside, to);
    const folder = await writeRepository(await temporaryFolder(t), { add, good: onnx() });
    await link(target, join(folder, 'add', path));
    const server = await start(t, folder, { exitOnError: false });
    const named = path === '' ? `its folder '${join(folder, 'add')}'` : `'${path}'`;
    const expected =
      `model 'add': ${named} is a link to '${target}', outside of the model repository '${folder}': ` +
      'set outsideLinks: true (--outside-links) if links may leave the repository, as those of a Hugging Face cache do, ' +
      'or name the folder of the target in trustedFolders (--trusted-folder)';
    assert.equal(reasonOf(server, 'add'), expected);
    assert.deepEqual(states(server), ['add  UNAVAILABLE', 'good 1 READY']);
    const explicit = await start(t, folder, { modelControlMode: 'explicit' });
    const error = await rejection(explicit.loadModel('add'));
    assert.deepEqual([error.code, error.model, error.message], ['INVALID_ARG', 'add', expected]);
    for (const options of [{ outsideLinks: true }, { trustedFolders: ['/no/such', outside] }]) {
      assert.equal((await start(t, folder, options)).model('add').ready, true);
    }
  });
}

test('a relative link, and one of several steps, are judged by where they end', onPosix, async (t) => {
  const outside = await elsewhere(t);
  const folder = await writeRepository(await temporaryFolder(t), { add, other: onnx(), around: onnx() });
  const file = join(folder, 'add', '1', 'model.onnx');
  await link(relative(dirname(file), join(outside, '1', 'model.onnx')), file);
  await link(join(folder, 'add', '1', 'model.onnx'), join(folder, 'other', '1', 'model.onnx'));
  // A link elsewhere that leads back.
  await link(join(folder, 'around', 'weights'), join(outside, 'back'));
  await writeFile(join(folder, 'around', 'weights'), addModel({ addend: 7 }));
  await link(join(outside, 'back'), join(folder, 'around', '1', 'model.onnx'));
  const server = await start(t, folder, { exitOnError: false });
  for (const name of ['add', 'other'])
    assert.match(reasonOf(server, name) ?? '', /'1\/model.onnx' is a link/);
  assert.equal(await addend(server, 'around'), 7);
});

test('a folder whose name only begins like that of the repository is outside', onPosix, async (t) => {
  const folder = await temporaryFolder(t);
  await writeRepository(folder, { 'models-other': onnx() });
  await writeRepository(join(folder, 'models'), { add });
  const file = join(folder, 'models', 'add', '1', 'model.onnx');
  await link(join(folder, 'models-other', '1', 'model.onnx'), file);
  const error = await rejection(start(t, join(folder, 'models')));
  assert.match(error.message, /outside of the model repository/);
});

test('the repository may be a link, and links inside lead anywhere inside', onPosix, async (t) => {
  const real = await writeRepository(await temporaryFolder(t), {
    add: onnx(addModel({ addend: 3 })),
    file: { config: configText(), versions: { '1': {} } },
    version: { config: configText() },
  });
  const folder = join(await temporaryFolder(t), 'models');
  await symlink(real, folder);
  await symlink(join(folder, 'add', '1', 'model.onnx'), join(real, 'file', '1', 'model.onnx'));
  await symlink('../add/1', join(real, 'version', '1'));
  await symlink('add', join(real, 'same'));
  const server = await start(t, folder, { modelControlMode: 'explicit' });
  for (const name of ['add', 'file', 'version', 'same']) {
    await server.loadModel(name);
    assert.equal(await addend(server, name), 3, name);
  }
});

test('a link that leads nowhere is not one that leads out', onPosix, async (t) => {
  const folder = await writeRepository(await temporaryFolder(t), { add });
  await symlink('/no/such/file', join(folder, 'add', 'notes.txt'));
  assert.equal(await addend(await start(t, folder)), 1);
});

test("a ConfigMap's links are inside, and a new state of it is served", onPosix, async (t) => {
  const { server, folder } = await polled(t, {});
  // As the kubelet writes it: each name leads through ..data to the folder of one state.
  const write = async (state: string, n: number): Promise<void> => {
    await mkdir(join(folder, state));
    await writeRepository(join(folder, state), { add: onnx(addModel({ addend: n })) });
    await symlink(state, join(folder, '..data_tmp'));
    await rename(join(folder, '..data_tmp'), join(folder, '..data'));
  };
  await write('..2026_11_29', 1);
  await symlink('..data/add', join(folder, 'add'));
  assert.equal(await settle(server), '+add:1');
  assert.equal(await addend(server), 1);
  assert.equal(await settle(server), '');
  await write('..2026_11_30', 2);
  assert.equal(await settle(server), '~add:1-1');
  assert.equal(await addend(server), 2);
});

test(
  'a link that comes to lead out while the model is served changes nothing but the index',
  onPosix,
  async (t) => {
    const outside = await elsewhere(t);
    const { server, folder } = await polled(t, { add });
    const [file, data] = [join(folder, 'add', '1', 'model.onnx'), join(folder, 'data.onnx')];
    await writeFile(data, addModel({ addend: 2 }));
    await link(data, file);
    assert.equal(await settle(server), '~add:1-1');
    assert.equal(await addend(server), 2);
    // The model's own link is as it was; what it leads to is a link now.
    await link(join(outside, '1', 'model.onnx'), data);
    assert.deepEqual([short(await server.rescan()), short(await server.rescan())], ['?add', '!add']);
    assert.equal(await addend(server), 2);
    assert.match(
      reasonOf(server, 'add') ?? '',
      /'1\/model.onnx' is a link to '.*outside of the model repository/,
    );
    assert.equal(short(await server.rescan()), '!add');
    await rm(data);
    await writeFile(data, addModel({ addend: 4 }));
    assert.equal(await settle(server), '~add:1-1');
    assert.equal(reasonOf(server, 'add'), undefined);
    assert.equal(await addend(server), 4);
  },
);

test(
  'a model that comes with a link out is told of, and loaded once the link is gone',
  onPosix,
  async (t) => {
    const outside = await elsewhere(t);
    const { server, folder } = await polled(t, { add });
    await symlink(outside, join(folder, 'linked'));
    assert.equal(await settle(server), '!linked');
    assert.match(reasonOf(server, 'linked') ?? '', /its folder '.*linked' is a link to/);
    await rm(join(folder, 'linked'));
    await writeRepository(folder, { linked: onnx() });
    assert.equal(await settle(server), '+linked:1');
  },
);

test('a repository that is registered later has the same rule', onPosix, async (t) => {
  const outside = await elsewhere(t);
  const first = await writeRepository(await temporaryFolder(t), {});
  const second = await writeRepository(await temporaryFolder(t), { add });
  await link(join(outside, '1', 'model.onnx'), join(second, 'add', '1', 'model.onnx'));
  for (const outsideLinks of [false, true]) {
    const server = await createServer(first, { modelControlMode: 'explicit', outsideLinks });
    t.after(() => server.close());
    await server.registerRepository(second);
    if (outsideLinks) await server.loadModel('add');
    else assert.match((await rejection(server.loadModel('add'))).message, /outside of the model repository/);
  }
});

test(
  'a load resolves links again, though the stamp of the files is that of the last check',
  onPosix,
  async (t) => {
    const outside = await realpath(await temporaryFolder(t));
    const folder = await writeRepository(await temporaryFolder(t), { add });
    const [file, data] = [join(folder, 'add', '1', 'model.onnx'), join(folder, 'data')];
    await mkdir(data);
    await rename(file, join(data, 'model.onnx'));
    await symlink(join(data, 'model.onnx'), file);
    const server = await start(t, folder, { modelControlMode: 'explicit' });
    await server.loadModel('add');
    await server.unloadModel('add');
    // The same file and the same link, with another folder between them.
    await rename(data, join(outside, 'data'));
    await symlink(join(outside, 'data'), data);
    const { code, message } = await rejection(server.loadModel('add'));
    assert.equal(code, 'INVALID_ARG');
    assert.match(message, /'1\/model\.onnx' is a link to '.*outside of the model repository/);
  },
);

for (const [tool, args] of [
  ['perf', ['-m', 'add', '--request-count=1']],
  ['analyze', ['-m', 'add', '--budget=1']],
] as const) {
  test(`\`${tool}\` has the options`, onPosix, async (t) => {
    const folder = await writeRepository(await temporaryFolder(t), { add });
    const outside = await elsewhere(t);
    await link(join(outside, '1', 'model.onnx'), join(folder, 'add', '1', 'model.onnx'));
    const run = (...flags: readonly string[]) => command(t, tool, folder, ...args, ...flags);
    assert.match((await run()).stderr, /INVALID_ARG: model 'add': '1\/model\.onnx' is a link to '/);
    for (const flag of ['--outside-links', `--trusted-folder=${outside}`])
      assert.doesNotMatch((await run(flag)).stderr, /is a link to|unknown/);
  });
}

test('`check` has the option', onPosix, async (t) => {
  const folder = await writeRepository(await temporaryFolder(t), { add });
  await link(join(await elsewhere(t), '1', 'model.onnx'), join(folder, 'add', '1', 'model.onnx'));
  const { code, stdout } = await command(t, 'check', folder);
  assert.equal(code, 1);
  assert.match(stdout, /INVALID_ARG: model 'add': '1\/model\.onnx' is a link to '.*\(--outside-links\)/);
  const allowed = await command(t, 'check', folder, '--outside-links');
  assert.equal(allowed.code, 0, allowed.stdout);
});
