import assert from 'node:assert/strict';
import { copyFile, mkdir, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import type { InferenceServer, ServerOptions, TritonError } from '../../src/index.js';
import { findOnnxRuntimeLibrary } from '../../src/backends/onnxruntime/library.js';
import { configText, floats, onnx, rejection, row, start } from '../support/harness.js';
import { buildCustomOps, tripleModel } from '../support/custom-ops.js';
import { temporaryFolder, writeRepository } from '../support/repository.js';

const operatorsField = 'model_operations.op_library_filename[0]';
const profileField = 'parameters["profile_file_prefix"]';

function naming(library: string): string {
  return configText({
    inputs: [{ name: 'x', dims: [4] }],
    outputs: [{ name: 'y', dims: [4] }],
    more: `model_operations { op_library_filename: ${JSON.stringify(library)} }`,
  });
}

void suite('a library of operators', () => {
  let built: Awaited<ReturnType<typeof buildCustomOps>> = { reason: 'not built yet' };
  let repository = '';
  let outside = '';
  /** Removed at the end of the suite. */
  const releases: (() => Promise<void>)[] = [];
  const context = { after: (release: () => Promise<void>) => void releases.push(release) };

  before(async () => {
    repository = await temporaryFolder(context);
    outside = await temporaryFolder(context);
    built = await buildCustomOps(outside);
  });
  after(async () => {
    for (const release of releases) await release();
  });

  /** A model whose configuration names a library. */
  async function write(library: string): Promise<string> {
    const folder = join(repository, 'm');
    await rm(folder, { recursive: true, force: true });
    await writeRepository(repository, { m: { config: naming(library), versions: { '1': tripleModel() } } });
    return folder;
  }

  type Options = Omit<ServerOptions, 'modelRepository'>;

  async function refused(library: string, options: Options = {}): Promise<TritonError> {
    const error = await rejection(start(context, repository, options));
    assert.deepEqual([error.code, error.model, error.location?.field], ['INVALID_ARG', 'm', operatorsField]);
    assert.ok(error.message.includes(library), error.message);
    assert.match(error.message, /the model's folder '.*the folder of the ONNX Runtime library '/);
    assert.match(error.message, /trustedFolders of createServer/);
    return error;
  }

  async function answers(server: InferenceServer): Promise<void> {
    assert.deepEqual(floats(await server.infer('m', { x: [[1, 2, 3, 4]] })), [3, 6, 9, 12]);
    await server.close();
  }

  test('is refused outside of the model, by a relative and by an absolute path', async (t) => {
    if (!('path' in built)) {
      t.skip(built.reason);
      return;
    }
    await copyFile(built.path, join(repository, 'beside.so'));
    for (const library of ['../beside.so', '1/../../beside.so', built.path]) {
      await write(library);
      const error = await refused(library);
      assert.ok(error.message.includes(`'${library}' leads to '`), error.message);
    }
  });

  test('is refused where a link leads to it, be it of the file, of a folder, or to nothing', async (t) => {
    if (!('path' in built)) {
      t.skip(built.reason);
      return;
    }
    const folder = await write('link.so');
    await symlink(built.path, join(folder, 'link.so'));
    await refused('link.so', { outsideLinks: true });
    await write('lib/libtest_ops.so');
    await symlink(outside, join(folder, 'lib'));
    await refused('lib/libtest_ops.so', { outsideLinks: true });
    await write('nothing.so');
    await symlink(join(outside, 'nothing.so'), join(folder, 'nothing.so'));
    const error = await refused('nothing.so', { outsideLinks: true });
    assert.match(error.message, /cannot be resolved as a path/);
  });

  test('is refused where its path has a line of another', async (t) => {
    if (!('path' in built)) {
      t.skip(built.reason);
      return;
    }
    const library = `own.so\n${built.path}`;
    const folder = await write(library);
    await copyFile(built.path, join(folder, 'own.so'));
    await refused(library);
  });

  test('is taken from the folder of the model, also where a link leads there', async (t) => {
    if (!('path' in built)) {
      t.skip(built.reason);
      return;
    }
    const folder = await write('link.so');
    await mkdir(join(folder, 'lib'));
    await copyFile(built.path, join(folder, 'lib', 'own.so'));
    await symlink('lib/own.so', join(folder, 'link.so'));
    await answers(await start(context, repository));
    // The model's folder may itself be a link.
    const other = await temporaryFolder(context);
    await symlink(folder, join(other, 'm'));
    await answers(await start(context, other, { outsideLinks: true }));
  });

  test('is taken from a trusted folder and what is below', async (t) => {
    if (!('path' in built)) {
      t.skip(built.reason);
      return;
    }
    await write(built.path);
    await answers(await start(context, repository, { trustedFolders: [outside] }));
    await answers(
      await start(context, repository, { trustedFolders: ['/nowhere', pathToFileURL(dirname(outside))] }),
    );
    // A folder whose name only has the trusted name as a prefix is not trusted.
    await mkdir(`${outside}-other`, { recursive: true });
    await symlink(built.path, join(`${outside}-other`, 'link.so'));
    context.after(() => rm(`${outside}-other`, { recursive: true }));
    await refused(built.path, { trustedFolders: [`${outside}-other`] });
  });

  test('is taken from the folder of the runtime, where it is missing', async () => {
    await write(join(dirname(findOnnxRuntimeLibrary()), 'no-such-library.so'));
    const error = await rejection(start(context, repository));
    assert.deepEqual([error.code, error.location?.field], ['INTERNAL', operatorsField]);
    assert.match(error.message, /no-such-library\.so/);
  });

  test('of a model that is given as bytes has an absolute path', async (t) => {
    if (!('path' in built)) {
      t.skip(built.reason);
      return;
    }
    const server = await start(context, await temporaryFolder(context), {
      modelControlMode: 'explicit',
      trustedFolders: [outside],
    });
    const load = (library: string): Promise<unknown> =>
      server.loadModel('m', {
        config: {
          backend: 'onnxruntime',
          model_operations: { op_library_filename: [library] },
        },
        files: { '1/model.onnx': tripleModel() },
      });
    const error = await rejection(load('libtest_ops.so'));
    assert.equal(error.code, 'INVALID_ARG');
    assert.match(error.message, /'libtest_ops\.so' is relative, but a model given as bytes has no folder/);
    await load(built.path);
    await answers(server);
  });
});

void suite('a profile', () => {
  const withProfile = (prefix: string): ReturnType<typeof onnx> =>
    onnx(undefined, { parameters: { profile_file_prefix: prefix } });

  test('that a configuration asks for outside of the model is refused, and nothing is written', async (t) => {
    const repository = await temporaryFolder(t);
    const outside = await temporaryFolder(t);
    for (const prefix of ['../profile', join(outside, 'profile'), 'lib/profile', 'lib/../../profile']) {
      await rm(join(repository, 'm'), { recursive: true, force: true });
      await writeRepository(repository, { m: withProfile(prefix) });
      await symlink(outside, join(repository, 'm', 'lib'));
      const error = await rejection(start(t, repository, { outsideLinks: true }));
      assert.deepEqual([error.code, error.model, error.location?.field], ['INVALID_ARG', 'm', profileField]);
      assert.ok(error.message.includes(`'${prefix}' leads to '`), error.message);
      assert.match(error.message, /the model's folder '.*trustedFolders of createServer/);
      assert.doesNotMatch(error.message, /ONNX Runtime/);
    }
    assert.deepEqual(await readdir(outside), []);
    assert.deepEqual(await readdir(repository), ['m']);
  });

  test("is written into the model's folder, or a trusted one, by a relative or an absolute path", async (t) => {
    const outside = await temporaryFolder(t);
    const repository = await writeRepository(await temporaryFolder(t), {
      own: withProfile('run'),
      other: withProfile(join(outside, 'run')),
      // The name of the written file begins with two dots.
      dots: withProfile('..'),
    });
    const server = await start(t, repository, { trustedFolders: [outside] });
    await server.infer('own', { x: row() });
    await server.close();
    for (const [folder, beginning] of [
      [join(repository, 'own'), 'run_'],
      [outside, 'run_'],
      [join(repository, 'dots'), '.._'],
    ] as const) {
      const profiles = (await readdir(folder)).filter((name) => name.endsWith('.json'));
      assert.equal(profiles.length, 1, folder);
      assert.ok(profiles[0]?.startsWith(beginning));
    }
  });

  test('is not written where links begin like it: they would be followed', async (t) => {
    const repository = await writeRepository(await temporaryFolder(t), { m: withProfile('run') });
    const victim = join(await temporaryFolder(t), 'victim');
    await writeFile(victim, 'precious');
    await symlink(victim, join(repository, 'm', 'run_2030-01-01_00-00-00.json'));
    const error = await rejection(start(t, repository, { outsideLinks: true }));
    assert.deepEqual([error.code, error.location?.field], ['INVALID_ARG', profileField]);
    assert.match(error.message, /'run_2030-01-01_00-00-00\.json' in '.*' is a link or folder/);
  });

  test("that the server's options ask for is written wherever they say", async (t) => {
    const folder = await temporaryFolder(t);
    const repository = await writeRepository(await temporaryFolder(t), { m: onnx() });
    const server = await start(t, repository, {
      backendConfig: { onnxruntime: { profile_file_prefix: join(folder, 'run') } },
    });
    await server.close();
    assert.equal((await readdir(folder)).length, 1);
  });
});
