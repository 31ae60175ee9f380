/** The package is loaded several times in one process, as test runners do that reload modules. */
// Own process: it changes where the addon is looked for.
// Long: it starts many processes.

import assert from 'node:assert/strict';
import { cp, mkdir, symlink } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { after, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { addon as loadAddon } from '../../src/addon/load.js';
import * as original from '../../src/index.js';
import { floats, identity, onnx, rejection, row, serve } from '../support/harness.js';
import { runChild } from '../support/child.js';
import { copyCode, root } from '../support/project.js';
import { temporaryFolder, writeRepository } from '../support/repository.js';

type Package = typeof original;

const chosen = process.env['TRITONTS_ADDON'] ?? '';
/**
 * The addon under test. The copies, which look only in their own folder, are made after the original has
 * loaded it.
 */
const file = chosen === '' ? join(root, 'build/Release/tritonts.node') : resolve(chosen);
loadAddon();
delete process.env['TRITONTS_ADDON'];

/** How the copies get their addon: a file of their own, or a link to the same. */
const addons = ['copied', 'shared'] as const;
type Addon = (typeof addons)[number];

/** Copies the built package, and loads the copy. */
async function copyOf(addon: Addon): Promise<Package> {
  const folder = await temporaryFolder({ after });
  await copyCode(folder);
  await symlink(join(root, 'node_modules'), join(folder, 'node_modules'));
  await mkdir(join(folder, 'build/Release'), { recursive: true });
  const target = join(folder, 'build/Release/tritonts.node');
  if (addon === 'copied') await cp(file, target);
  else await symlink(file, target);
  return (await import(pathToFileURL(join(folder, 'dist/src/index.js')).href)) as Package;
}

/** Two copies with each addon. Loading one takes longer than any test. */
const copies: Readonly<Record<Addon, readonly [Package, Package]>> = {
  copied: [await copyOf('copied'), await copyOf('copied')],
  shared: [await copyOf('shared'), await copyOf('shared')],
};

for (const addon of addons) {
  test(`copies of the package work side by side: the addon is ${addon}`, async (t) => {
    const all = [original, ...copies[addon]];
    const repository = await writeRepository(await temporaryFolder(t), { add: onnx(), echo: identity() });
    const servers = await Promise.all(all.map(({ createServer }) => createServer(repository)));
    const results = await Promise.all(
      servers.flatMap((server) =>
        Array.from({ length: 50 }, (_, i) =>
          server.infer(i % 2 === 0 ? 'add' : 'echo', { x: row(i) }).then((result) => floats(result)[0]),
        ),
      ),
    );
    const expected = Array.from({ length: 50 }, (_, i) => (i % 2 === 0 ? i + 1 : i));
    assert.deepEqual(results, [...expected, ...expected, ...expected]);
    await Promise.all(servers.map((server) => server.close()));
  });

  test(`errors of one copy are errors of another: the addon is ${addon}`, async () => {
    const { createServer, TritonError } = copies[addon][0];
    const error = await rejection(createServer('/no/such/folder'));
    assert.ok(error instanceof TritonError);
    assert.ok(error instanceof original.TritonError);
  });

  test(`a result of one copy is an input for another: the addon is ${addon}`, async (t) => {
    const { createServer } = copies[addon][0];
    const repository = await writeRepository(await temporaryFolder(t), { add: onnx() });
    const server = await createServer(repository);
    const mine = await serve(t, { add: onnx() });
    const { outputs } = await server.infer('add', { x: row(1) });
    const { y } = outputs;
    assert.ok(y);
    assert.equal(floats(await mine.infer('add', { x: y }))[0], 3);
    await server.close();
  });
}

test('copies that share the addon attach to each other’s servers', async (t) => {
  const { attachServer } = copies.shared[0];
  const server = await serve(t, { echo: identity() });
  const attached = await attachServer(server.handle);
  assert.deepEqual(floats(await attached.infer('echo', { x: row(5) })), [...row(5)]);
  await attached.close();
});

test('copies with an addon of their own say why they do not', async (t) => {
  const { attachServer } = copies.copied[0];
  const server = await serve(t, { echo: identity() });
  const error = await rejection(attachServer(server.handle));
  assert.equal(error.code, 'INVALID_ARG');
  assert.match(error.message, /belongs to another copy of the package in this process/);
});

test('a process that loads the package ten times ends in silence', async (t) => {
  const program = new URL('children/reloads.js', import.meta.url);
  const repository = await writeRepository(await temporaryFolder(t), { echo: identity() });
  const { code, stdout, stderr } = await runChild(program, [repository, await temporaryFolder(t)], {
    env: { TRITONTS_ADDON: chosen },
  });
  assert.deepEqual([code, stdout, stderr], [0, 'ready\n', '']);
});
