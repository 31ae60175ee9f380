/** What a poll does where it cannot list, read or load: what is served stays, and it tries again. */

import assert from 'node:assert/strict';
import { mkdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import type { Logger } from '../../../src/index.js';
import { PollRecords } from '../../../src/registry/polling/record.js';
import { script } from '../../javascript/harness.js';
import { chain, configText, ensemble, onnx, rejection, row, start, until } from '../../support/harness.js';
import { addModel, unsupportedOperatorModel } from '../../support/models.js';
import { temporaryFolder, writeRepository, type RepositoryModel } from '../../support/repository.js';
import { addend, polled, reasonOf, settle, short, states } from './harness.js';
import { noLinks } from '../../support/links.js';

const add = onnx(addModel());

/** A logger that keeps `level message`. */
function recorder(): { readonly lines: string[]; readonly logger: Logger } {
  const lines: string[] = [];
  const at =
    (level: string) =>
    (message: string): void => {
      lines.push(`${level} ${message}`);
    };
  return { lines, logger: { error: at('error'), warn: at('warn') } };
}

void suite('a repository that cannot be listed changes nothing:', () => {
  const ways: Readonly<Record<string, (folder: string) => Promise<void>>> = {
    'its folder is gone': () => Promise.resolve(),
    'it is a link that leads nowhere': (folder) => symlink('/no/such/folder', folder),
    'it is a link to itself': (folder) => symlink(folder, folder),
    'it is a file': (folder) => writeFile(folder, ''),
    "it holds a model's own files": async (folder) => {
      await mkdir(join(folder, '1'), { recursive: true });
      await writeFile(join(folder, '1', 'model.onnx'), '');
    },
  };
  for (const [way, make] of Object.entries(ways)) {
    test(way, { skip: way.includes('link') && noLinks }, async (t) => {
      const { lines, logger } = recorder();
      const { server, folder } = await polled(t, { add }, { logger });
      await rename(folder, `${folder}.away`);
      t.after(() => rm(`${folder}.away`, { recursive: true, force: true }));
      await make(folder);
      for (let look = 0; look < 3; look++) {
        const result = await server.rescan();
        assert.equal(short(result), '');
        assert.deepEqual(
          result.unlisted.map(({ repository }) => repository),
          [folder],
        );
        assert.match(result.unlisted[0]?.error.message ?? '', /tritonts-/);
        // What lies beside it changes what the message suggests.
        const beside = `${folder}${look}`;
        await mkdir(beside);
        t.after(() => rm(beside, { recursive: true }));
      }
      assert.equal(await addend(server), 1);
      assert.equal(lines.length, 1, 'it is said once');
      assert.match(lines[0] ?? '', /^warn .*its models are served as before/);
      await rm(folder, { recursive: true, force: true });
      await rename(`${folder}.away`, folder);
      const after = await server.rescan();
      assert.deepEqual([short(after), after.unlisted], ['', []]);
    });
  }

  test('the others are looked at', async (t) => {
    const other = await temporaryFolder(t);
    const folder = await writeRepository(await temporaryFolder(t), { add });
    const { createServer } = await import('../../../src/index.js');
    await using server = await createServer([other, folder], {
      modelControlMode: 'poll',
      repositoryPollMs: 0,
      logger: recorder().logger,
    });
    await rm(other, { recursive: true });
    await writeRepository(folder, { more: add });
    await server.rescan();
    const result = await server.rescan();
    assert.deepEqual([short(result), result.unlisted.length], ['+more:1', 1]);
  });
});

const onPosix = { skip: process.platform === 'win32' && 'there are no such files' };

test('a model that has a pipe in its folder is served as before', onPosix, async (t) => {
  const { lines, logger } = recorder();
  const { server, folder } = await polled(t, { add }, { logger });
  const { execFileSync } = await import('node:child_process');
  execFileSync('mkfifo', [join(folder, 'add', 'pipe')]);
  assert.equal(short(await server.rescan()), '?add');
  assert.equal(short(await server.rescan()), '!add');
  assert.equal(short(await server.rescan()), '!add');
  assert.match(reasonOf(server, 'add') ?? '', /'pipe' is a pipe/);
  assert.equal(lines.length, 1);
  assert.equal(await addend(server), 1);
  await rm(join(folder, 'add', 'pipe'));
  await settle(server);
  assert.equal(reasonOf(server, 'add'), undefined);
});

test('a model in two repositories is served as before', async (t) => {
  const [first, second] = [await temporaryFolder(t), await temporaryFolder(t)];
  await writeRepository(first, { add });
  const { createServer } = await import('../../../src/index.js');
  await using server = await createServer([first, second], {
    modelControlMode: 'poll',
    repositoryPollMs: 0,
    logger: recorder().logger,
  });
  await writeRepository(second, { add: onnx(addModel({ addend: 2 })) });
  assert.equal(await settle(server), '!add');
  assert.match(reasonOf(server, 'add') ?? '', /appears in two or more repositories/);
  assert.equal(await addend(server), 1);
  // The other one takes over without a gap.
  await rm(join(first, 'add'), { recursive: true });
  assert.equal(await settle(server), '~add:1-1');
  assert.equal(await addend(server), 2);
});

void suite('links whose targets cannot be reached change nothing:', { skip: noLinks }, () => {
  test('a model', async (t) => {
    const { lines, logger } = recorder();
    const away = await writeRepository(await temporaryFolder(t), { linked: add });
    const { server, folder } = await polled(t, { add }, { logger, outsideLinks: true });
    await symlink(join(away, 'linked'), join(folder, 'linked'));
    assert.equal(await settle(server), '+linked:1');
    await rename(join(away, 'linked'), join(away, 'other'));
    const looks = [];
    for (let look = 0; look < 4; look++) looks.push(short(await server.rescan()));
    assert.deepEqual(looks, ['?linked', '!linked', '!linked', '!linked']);
    assert.equal(await addend(server, 'linked'), 1);
    assert.match(reasonOf(server, 'linked') ?? '', /cannot be followed to a folder/);
    assert.equal(lines.length, 1);
    await rename(join(away, 'other'), join(away, 'linked'));
    assert.equal(await settle(server), '');
    assert.equal(reasonOf(server, 'linked'), undefined);
    await rm(join(folder, 'linked'));
    assert.equal(await settle(server), '-linked');
  });

  test('a version', async (t) => {
    const away = await writeRepository(await temporaryFolder(t), { linked: onnx(addModel({ addend: 2 })) });
    const { server, folder } = await polled(t, { add }, { logger: recorder().logger, outsideLinks: true });
    await symlink(join(away, 'linked', '1'), join(folder, 'add', '2'));
    assert.equal(await settle(server), '~add:2-1');
    await rename(join(away, 'linked'), join(away, 'other'));
    assert.equal(await settle(server), '!add');
    assert.match(reasonOf(server, 'add') ?? '', /version 2 is a link whose target cannot be reached/);
    assert.equal(await addend(server), 2);
    await rename(join(away, 'other'), join(away, 'linked'));
    assert.equal(await settle(server), '');
    await rename(join(away, 'linked'), join(away, 'other'));
    await rm(join(folder, 'add', '2'));
    assert.equal(await settle(server), '~add:1-2');
  });
});

test('a load that failed is tried by each call, and by polls after pauses', async (t) => {
  const tries = join(await temporaryFolder(t), 'tries');
  const text = `import { appendFileSync, existsSync } from 'node:fs';
    export default class {
      initialize() {
        appendFileSync(${JSON.stringify(tries)}, '.');
        if (!existsSync(${JSON.stringify(`${tries}.works`)})) throw new Error('not yet');
      }
      execute(requests) { return requests.map(({ inputs }) => ({ y: inputs.x.data })); }
    }`;
  const { logger } = recorder();
  const called = await polled(t, { add }, { logger });
  await writeRepository(called.folder, { late: script(text) });
  assert.equal(short(await called.server.rescan()), '?late');
  for (let poll = 0; poll < 4; poll++) assert.equal(short(await called.server.rescan()), '!late');
  assert.equal(await readFile(tries, 'utf8'), '....');
  assert.match(reasonOf(called.server, 'late') ?? '', /not yet/);
  const { server, folder } = await polled(t, { add }, { logger, repositoryPollMs: 1 });
  await writeRepository(folder, { late: script(text) });
  await until(async () => (await readFile(tries, 'utf8')).length > 6);
  await writeFile(`${tries}.works`, '');
  assert.equal(short(await called.server.rescan()), '+late:1');
  await until(() => states(server).includes('late 1 READY'));
  await server.infer('late', { x: row() });
});

test('the pauses between tries double, and have an end', () => {
  const pauses = (periodMs: number): readonly number[] => {
    const records = new PollRecords(periodMs);
    const record = records.of({});
    return Array.from({ length: 9 }, () => {
      records.failed(record, 'files');
      return record.pause;
    });
  };
  assert.deepEqual(pauses(1000), [1, 2, 4, 8, 16, 32, 64, 64, 64]);
  assert.deepEqual(pauses(5 * 60_000), [1, 2, 3, 3, 3, 3, 3, 3, 3]);
  const records = new PollRecords(1000);
  const record = records.of({});
  for (const files of ['one', 'one', 'two']) records.failed(record, files);
  assert.equal(record.pause, 1, 'other files begin anew');
});

test('a load that failed is tried at once when its files change', async (t) => {
  const { logger } = recorder();
  const { server, folder } = await polled(t, { add }, { logger });
  await writeRepository(folder, { late: onnx(unsupportedOperatorModel()) });
  assert.equal(await settle(server), '!late');
  // Three failures: the pause is four polls by now.
  for (let poll = 0; poll < 5; poll++) await server.rescan();
  await writeRepository(folder, { late: add });
  assert.equal(await settle(server), '+late:1');
});

test('a model that failed at the start is loaded when its files are mended', async (t) => {
  const { logger } = recorder();
  const models = { add, late: onnx(unsupportedOperatorModel()) };
  const { server, folder } = await polled(t, models, { logger, exitOnError: false });
  assert.equal(server.ready, false);
  await writeRepository(folder, { late: add });
  assert.equal(await settle(server), '+late:1');
  assert.equal(server.ready, true);
});

test('a model that failed and is removed is forgotten', async (t) => {
  const { logger } = recorder();
  const { server, folder } = await polled(t, { add }, { logger });
  await writeRepository(folder, { late: onnx(unsupportedOperatorModel()) });
  await settle(server);
  assert.equal(server.ready, false);
  await rm(join(folder, 'late'), { recursive: true });
  await server.rescan();
  assert.deepEqual(states(server), ['add 1 READY']);
  assert.equal(server.ready, true);
});

void suite('ensembles:', () => {
  const models = { a: add, b: onnx(addModel({ addend: 2 })), e: ensemble(chain(['a', 'b'])) };

  test('come with their models, in any order, and leave with them', async (t) => {
    const { server, folder } = await polled(t, { add });
    await writeRepository(folder, models);
    assert.equal(await settle(server), '+a:1 +b:1 +e:1');
    assert.equal(await addend(server, 'e'), 3);
    for (const name of Object.keys(models)) await rm(join(folder, name), { recursive: true });
    assert.equal(await settle(server), '-a -b -e');
    // They leave when their last requests have ended.
    await until(() => states(server).length === 1);
    assert.deepEqual(states(server), ['add 1 READY']);
  });

  test('are bound to a model that was loaded again', async (t) => {
    const { server, folder } = await polled(t, models);
    await writeRepository(folder, { a: onnx(addModel({ addend: 10 })) });
    assert.equal(await settle(server), '~a:1-1');
    assert.equal(await addend(server, 'e'), 12);
  });

  test('end when one of their models is gone, and come back with it', async (t) => {
    const { server, folder } = await polled(t, models, { logger: recorder().logger });
    await rename(join(folder, 'a'), `${folder}.a`);
    assert.equal(short(await server.rescan()), '?a');
    assert.equal(await addend(server, 'e'), 3);
    assert.equal(short(await server.rescan()), '-a !e');
    assert.match((await rejection(server.infer('e', { x: row() }))).message, /removed from its repository/);
    // It is tried again without its model, and fails.
    for (let look = 0; look < 4; look++) await server.rescan();
    await rename(`${folder}.a`, join(folder, 'a'));
    let done = '';
    while (!done.includes('+a:1')) done = short(await server.rescan());
    assert.equal(done, '+a:1 +e:1', 'in the same poll, whatever pause it has');
    assert.equal(await addend(server, 'e'), 3);
  });

  test('a change of a step from one model to another, which goes, is no gap', async (t) => {
    const { server, folder } = await polled(t, models);
    await writeRepository(folder, { e: ensemble(chain(['b', 'b'])) });
    await rm(join(folder, 'a'), { recursive: true });
    assert.equal(short(await server.rescan()), '?a ?e');
    assert.equal(short(await server.rescan()), '~e:1-1 -a');
    assert.equal(await addend(server, 'e'), 4);
  });

  test('do not load a model whose files are still being written', async (t) => {
    const { server, folder } = await polled(t, { b: models.b }, { logger: recorder().logger });
    await writeRepository(folder, { e: models.e });
    await server.rescan();
    await writeRepository(folder, { a: models.a });
    assert.equal(short(await server.rescan()), '!e ?a');
    assert.match(reasonOf(server, 'e') ?? '', /model 'a': its files are being written/);
    assert.equal(short(await server.rescan()), '+a:1 +e:1');
  });

  const versioned = configText({ more: 'version_policy { all {} }' });
  const step = (version: number): RepositoryModel =>
    ensemble([{ model: 'z', version, from: { x: 'x' }, to: { y: 'y' } }]);

  test('that change with their models come with them, in the same poll', async (t) => {
    const models = { z: { config: versioned, versions: { '1': addModel() } }, e: step(1) };
    const { server, folder } = await polled(t, models, { logger: recorder().logger });
    // A version is added, and the step names it; then another one takes the place of both.
    await writeRepository(folder, { z: { versions: { '3': addModel({ addend: 3 }) } }, e: step(3) });
    assert.equal(await settle(server), '~e:1-1 ~z:3-');
    assert.equal(await addend(server, 'e'), 3);
    await writeRepository(folder, { z: { versions: { '2': addModel({ addend: 2 }) } }, e: step(2) });
    for (const version of ['1', '3']) await rm(join(folder, 'z', version), { recursive: true });
    assert.equal(short(await server.rescan()), '?e ?z');
    assert.equal(short(await server.rescan()), '~e:1- ~z:2-1,3');
    assert.equal(await addend(server, 'e'), 2);
  });

  test('that need a model which comes later in the same poll are tried again', async (t) => {
    const models = { a: add, z: add, e: ensemble(chain(['a'])) };
    const { server, folder } = await polled(t, models, { logger: recorder().logger });
    // Nobody knows yet that it needs the other one, too.
    await writeRepository(folder, { z: { config: versioned, versions: { '5': addModel({ addend: 5 }) } } });
    await writeRepository(folder, {
      e: ensemble([{ model: 'z', version: 5, from: { x: 'x' }, to: { y: 'y' } }]),
    });
    assert.equal(await settle(server), '~e:1-1 ~z:1,5-1');
    assert.equal(await addend(server, 'e'), 5);
  });

  test('that fit their models no more are told of, and return, also in mode explicit', async (t) => {
    const { lines, logger } = recorder();
    const models = { a: add, e: ensemble(chain(['a', 'a'])) };
    const options = { logger, modelControlMode: 'explicit', loadModels: ['e'] } as const;
    const folder = await writeRepository(await temporaryFolder(t), models);
    const server = await start(t, folder, options);
    await writeFile(join(folder, 'a', 'config.pbtxt'), configText({ maxBatchSize: 4 }));
    assert.equal(await settle(server), '~a:1-1 !e');
    assert.match(lines.join('\n'), /^warn model 'e' is served no more: model 'a' was loaded again[^]*$/);
    await writeFile(join(folder, 'a', 'config.pbtxt'), configText());
    let done = '';
    while (!done.includes('+e:1')) done = short(await server.rescan());
    assert.equal(await addend(server, 'e'), 2);
    // The model is still a part, though a poll has loaded it again.
    await server.unloadModel('e', { unloadDependents: true });
    assert.deepEqual(server.index({ ready: true }), []);
    assert.equal(await settle(server), '');
    assert.deepEqual(server.index({ ready: true }), []);
  });
});
