/** Repository agents that are plug-ins of Triton. */

// Long: it waits for limits of time.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { copyFile, mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { createServer, type InferenceServer, type ServerOptions } from '../../src/index.js';
import { floats, onnx, rejection, row, until, type Context } from '../support/harness.js';
import { addModel } from '../support/models.js';
import { agentFolder, cacheFolder, skip } from '../support/plugin-folders.js';
import { temporaryFolder, writeRepository, type RepositoryModel } from '../support/repository.js';

type Parameters = Readonly<Record<string, string>>;

/** A model y = x + 1 with an agent for each of these parameters. */
function add(agents: readonly Parameters[], name = 'journal', addend = 1): RepositoryModel {
  const list = agents.map((parameters) => {
    const pairs = Object.entries(parameters).map(
      ([key, value]) => `parameters { key: "${key}" value: "${value}" }`,
    );
    return `{ name: "${name}" ${pairs.join(' ')} }`;
  });
  return onnx(addModel({ addend }), { more: `model_repository_agents { agents [ ${list.join(', ')} ] }` });
}

interface Started {
  readonly server: InferenceServer;
  readonly lines: string[];
}

async function start(
  t: Context,
  models: Readonly<Record<string, RepositoryModel>>,
  options: Partial<ServerOptions> = {},
): Promise<Started> {
  const folder = await writeRepository(await temporaryFolder(t), models);
  const lines: string[] = [];
  const note = (line: string): unknown => lines.push(line);
  const server = await createServer(folder, {
    modelControlMode: 'explicit',
    repositoryAgentDirectory: agentFolder,
    logger: { warn: note, error: note },
    ...options,
  });
  t.after(() => server.close({ timeoutMs: 0 }));
  return { server, lines };
}

async function journalOf(t: Context): Promise<{ path: string; lines: () => Promise<string[]> }> {
  const path = join(await temporaryFolder(t), 'journal');
  return {
    path,
    lines: async () => (existsSync(path) ? (await readFile(path, 'utf8')).split('\n').slice(0, -1) : []),
  };
}

const sum = async (server: InferenceServer): Promise<number | undefined> =>
  floats(await server.infer('m', { x: row(0) }))[0];

test('a plug-in is called in the order of Triton', { skip }, async (t) => {
  const journal = await journalOf(t);
  const { server, lines } = await start(t, { m: add([{ journal: journal.path }]) });
  await server.loadModel('m');
  assert.equal(await sum(server), 1);
  assert.deepEqual(await journal.lines(), ['initialize 1', 'LOAD', 'LOAD_COMPLETE']);
  await server.unloadModel('m');
  await until(async () => (await journal.lines()).length === 6);
  assert.deepEqual((await journal.lines()).slice(3), ['UNLOAD', 'UNLOAD_COMPLETE', 'finalize']);
  // The agent has ended, and begins again.
  await server.loadModel('m');
  assert.deepEqual((await journal.lines()).slice(6), ['initialize 1', 'LOAD', 'LOAD_COMPLETE']);
  await server.close();
  await until(async () => (await journal.lines()).length === 12);
  assert.deepEqual(lines, []);
});

test('a reload has both models at a time', { skip }, async (t) => {
  const journal = await journalOf(t);
  const { server } = await start(t, { m: add([{ journal: journal.path }]) });
  await server.loadModel('m');
  await server.loadModel('m', { force: true });
  await until(async () => (await journal.lines()).length === 9);
  const later = (await journal.lines()).slice(3);
  assert.deepEqual(later.slice(0, 3), ['initialize 2', 'LOAD', 'UNLOAD']);
  // The end of the old model and the completion of the new one are told on threads of their own.
  assert.deepEqual(
    later.slice(3).filter((line) => line !== 'LOAD_COMPLETE'),
    ['UNLOAD_COMPLETE', 'finalize'],
  );
});

test('a plug-in moves the files to a folder of its own', { skip }, async (t) => {
  const journal = await journalOf(t);
  const moves = { journal: journal.path, move: 'yes', added: 'labels.txt' };
  const { server, lines } = await start(t, { m: add([moves, { journal: journal.path }]) });
  await server.loadModel('m');
  assert.equal(await sum(server), 1);
  await server.unloadModel('m');
  await until(async () => (await journal.lines()).filter((line) => line.startsWith('finalize')).length === 2);
  // The folder is removed after the model.
  assert.ok((await journal.lines()).includes('finalize with folder'));
  assert.deepEqual(lines, []);
});

test('a plug-in refuses a model', { skip }, async (t) => {
  for (const [fault, message, calls] of [
    ['initialize', /the agent has no key for this model/, []],
    ['LOAD', /the agent refuses LOAD/, ['initialize 1', 'LOAD', 'LOAD_FAIL', 'finalize']],
    [
      'nowhere',
      /'\/no\/such\/folder', which is not a folder/,
      ['initialize 1', 'LOAD', 'LOAD_FAIL', 'finalize'],
    ],
  ] as const) {
    const journal = await journalOf(t);
    const { server, lines } = await start(t, { m: add([{ journal: journal.path, fault }]) });
    const error = await rejection(server.loadModel('m'));
    assert.match(error.message, /failed to load 'm', failed to poll from model repository/);
    assert.match(lines.join('\n'), message);
    await until(async () => (await journal.lines()).length === calls.length);
    assert.deepEqual(await journal.lines(), calls);
  }
});

test('what a plug-in throws refuses the model, and so does a move to no place', { skip }, async (t) => {
  for (const [fault, message] of [
    ['throw', /failed at LOAD: the plug-in threw two\\nlines/],
    ['empty', /failed at LOAD: expected the path of a folder .* but received an empty text/],
  ] as const) {
    const { server, lines } = await start(t, { m: add([{ fault }]) });
    await rejection(server.loadModel('m'));
    assert.match(lines.join('\n'), message);
    assert.ok(lines.every((line) => !line.includes('\n')));
  }
});

test('a plug-in that returns after the close is called in order', { skip }, async (t) => {
  const journal = await journalOf(t);
  const { server, lines } = await start(
    t,
    { m: add([{ journal: journal.path, fault: 'slow', ms: '1500' }]) },
    { finalizeTimeoutMs: 50 },
  );
  const loading = rejection(server.loadModel('m'));
  await until(async () => (await journal.lines()).includes('LOAD'));
  await server.close();
  await loading;
  assert.ok(lines.some((line) => line.includes('failed at LOAD: it did not return within 50 ms')));
  await until(async () => (await journal.lines()).includes('finalize'));
  assert.deepEqual(await journal.lines(), ['initialize 1', 'LOAD', 'LOAD_FAIL', 'finalize']);
});

test('a plug-in that does not return keeps no process', { skip }, async (t) => {
  const journal = await journalOf(t);
  const models = { m: add([{ journal: journal.path, fault: 'slow', ms: '600000' }]) };
  const folder = await writeRepository(await temporaryFolder(t), models);
  const program = `
    import { existsSync, readFileSync } from 'node:fs';
    import { createServer } from ${JSON.stringify(new URL('../../src/index.js', import.meta.url).href)};
    const [folder, agents, journal] = process.argv.slice(1);
    const options = { modelControlMode: 'explicit', repositoryAgentDirectory: agents, finalizeTimeoutMs: 50, logger: { warn: console.log } };
    const server = await createServer(folder, options);
    const loading = server.loadModel('m').catch((error) => error.code);
    while (!existsSync(journal) || !readFileSync(journal, 'utf8').includes('LOAD')) await new Promise((resolve) => setTimeout(resolve, 5));
    await server.close();
    console.log(await loading);
  `;
  const args = ['--input-type=module', '-e', program, folder, agentFolder, journal.path];
  const { stdout } = await promisify(execFile)(process.execPath, args, { timeout: 120_000 });
  assert.match(stdout, /did not return within 50 ms after loading was cancelled/);
  assert.match(stdout, /CANCELLED\n$/);
});

test(
  'an agent that hangs after a load or at an unload holds up neither, nor other models',
  { skip },
  async (t) => {
    const journal = await journalOf(t);
    const hangs = (action: string): Parameters => ({
      journal: journal.path,
      fault: `hang ${action}`,
      ms: '3000',
    });
    const { server, lines } = await start(
      t,
      { m: add([hangs('LOAD_COMPLETE')]), n: add([hangs('UNLOAD')]), o: add([{ journal: journal.path }]) },
      { finalizeTimeoutMs: 50 },
    );
    await server.loadModel('m');
    assert.equal(await sum(server), 1);
    const late = (name: string, action: string): boolean =>
      lines.some((line) =>
        line.includes(
          `model '${name}': repository agent 'journal' failed at ${action}: it did not return within 50 ms`,
        ),
      );
    await until(() => late('m', 'LOAD_COMPLETE'));
    await server.loadModel('n');
    await server.unloadModel('n');
    await until(() => late('n', 'UNLOAD'));
    assert.equal((await rejection(server.infer('n', { x: row(0) }))).code, 'NOT_FOUND');
    await server.loadModel('o');
    assert.deepEqual(floats(await server.infer('o', { x: row(0) }))[0], 1);
    assert.ok(!lines.some((line) => line.includes("model 'o'")), lines.join('\n'));
    // The next tests need an agent that has none of these models.
    await server.close();
    await until(
      async () => (await journal.lines()).filter((line) => line.startsWith('finalize')).length === 3,
    );
  },
);

test('an agent that does not end refuses loads until it has', { skip }, async (t) => {
  const { server, lines } = await start(
    t,
    { m: add([{ fault: 'end', ms: '3000' }]), n: add([{}]) },
    { finalizeTimeoutMs: 50 },
  );
  await server.loadModel('m');
  await server.unloadModel('m');
  await until(() => lines.some((line) => /did not end the model within 50 ms/.test(line)));
  await rejection(server.loadModel('n'));
  assert.match(lines.join('\n'), /its function TRITONREPOAGENT_Finalize did not return within 50 ms/);
  await until(() =>
    server.loadModel('n').then(
      () => true,
      () => false,
    ),
  );
});

test('errors of other actions are logged', { skip }, async (t) => {
  const journal = await journalOf(t);
  const { server, lines } = await start(t, {
    m: add([{ journal: journal.path, fault: 'late_move' }]),
    n: add([{ journal: journal.path, fault: 'UNLOAD' }]),
  });
  await server.loadModel('m');
  assert.equal(await sum(server), 1);
  assert.match(
    lines.join('\n'),
    /failed at LOAD_COMPLETE: the model's files can be moved only during the action LOAD/,
  );
  await server.loadModel('n');
  await server.unloadModel('n');
  await until(() => lines.some((line) => line.includes('failed at UNLOAD: the agent refuses UNLOAD')));
});

test('a slow plug-in blocks neither the event loop nor other models', { skip }, async (t) => {
  const journal = await journalOf(t);
  const slow = { journal: journal.path, fault: 'slow', ms: '1500' };
  const { server } = await start(t, { m: add([slow]), n: add([{ journal: journal.path }]) });
  const order: string[] = [];
  const loading = server.loadModel('m').then(() => order.push('m'));
  await until(async () => (await journal.lines()).includes('LOAD'));
  await server.loadModel('n');
  order.push('n');
  await loading;
  assert.deepEqual(order, ['n', 'm']);
});

test('a file that is no agent is refused', { skip }, async (t) => {
  const folder = await temporaryFolder(t);
  await mkdir(join(folder, 'wrong'));
  await copyFile(
    join(cacheFolder, 'map', 'libtritoncache_map.so'),
    join(folder, 'wrong', 'libtritonrepoagent_wrong.so'),
  );
  const { server, lines } = await start(t, { m: add([{}], 'wrong') }, { repositoryAgentDirectory: folder });
  await rejection(server.loadModel('m'));
  assert.match(
    lines.join('\n'),
    /has no function TRITONREPOAGENT_ModelAction, which a repository agent needs/,
  );
});
