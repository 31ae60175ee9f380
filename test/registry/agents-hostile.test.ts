/** Repository agents that hang, return what is no folder, call the server that waits for them, or outlive it. */

// Long: it waits for limits of time.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { test } from 'node:test';
import {
  createServer,
  registerRepositoryAgent,
  type AgentContext,
  type InferenceServer,
  type RepositoryAgent,
  type ServerOptions,
} from '../../src/index.js';
import { floats, onnx, rejection, row, thrown, until, type Context } from '../support/harness.js';
import { addModel } from '../support/models.js';
import { temporaryFolder, writeRepository } from '../support/repository.js';

let agentsSoFar = 0;

/** A repository with a model m of an agent, and a model n of none. */
async function repositoryOf(t: Context, agent: RepositoryAgent): Promise<string> {
  const name = `hostile-${agentsSoFar++}`;
  registerRepositoryAgent(name, agent);
  const more = `model_repository_agents { agents [ { name: "${name}" } ] }`;
  const models = { m: onnx(addModel(), { more }), n: onnx(addModel({ addend: 2 })) };
  return writeRepository(await temporaryFolder(t), models);
}

/** A server in explicit mode that has loaded nothing. What it logs is in `logged`. */
async function start(
  t: Context,
  agent: RepositoryAgent,
  options: Omit<ServerOptions, 'modelRepository'> = {},
): Promise<{ readonly server: InferenceServer; readonly logged: string[]; readonly folder: string }> {
  const logged: string[] = [];
  const log = (message: string): void => void logged.push(message);
  const folder = await repositoryOf(t, agent);
  const server = await createServer(folder, {
    modelControlMode: 'explicit',
    logger: { error: log, warn: log },
    ...options,
  });
  t.after(() => server.close({ timeoutMs: 0 }));
  return { server, logged, folder };
}

const sum = async (server: InferenceServer, model: string): Promise<number | undefined> =>
  floats(await server.infer(model, { x: row(0) }))[0];

/** Some turns of the event loop, in which a load gets as far as it can. */
async function turnsLater(): Promise<void> {
  for (let turn = 0; turn < 50; turn++) await new Promise((resolve) => setImmediate(resolve));
}

/** Never settles. */
const never = (): Promise<never> => new Promise(() => undefined);

test('a name or an agent that is none is refused', () => {
  const agent: RepositoryAgent = { load: () => undefined };
  registerRepositoryAgent('taken', agent);
  const unreadable = Object.defineProperty({}, 'load', {
    get: () => {
      throw new Error('not to be read');
    },
  });
  for (const [name, given, code] of [
    ['taken', agent, 'ALREADY_EXISTS'],
    ['checksum', agent, 'INVALID_ARG'],
    ['', agent, 'INVALID_ARG'],
    ['..', agent, 'INVALID_ARG'],
    ['a/b', agent, 'INVALID_ARG'],
    [3, agent, 'INVALID_ARG'],
    ['new', {}, 'INVALID_ARG'],
    ['new', { load: 3 }, 'INVALID_ARG'],
    ['new', { load: () => undefined, fail: null }, 'INVALID_ARG'],
    ['new', null, 'INVALID_ARG'],
    ['new', () => undefined, 'INVALID_ARG'],
    ['new', unreadable, 'INVALID_ARG'],
  ] as const) {
    // A JavaScript program may pass anything.
    const error = thrown(() => {
      registerRepositoryAgent(name as string, given as RepositoryAgent);
    });
    assert.equal(error.code, code, error.message);
  }
});

test('a load that returns no folder is refused', async (t) => {
  let returned: unknown;
  const { server, logged } = await start(t, {
    // The types forbid the rest.
    load: () => returned as string,
  });
  for (const one of [
    '/no/such/folder',
    'relative',
    '',
    3,
    {},
    new URL('http://host/models'),
    fileURLToPath(import.meta.url),
  ]) {
    returned = one;
    const error = await rejection(server.loadModel('m'));
    assert.equal(error.code, 'INTERNAL');
  }
  assert.equal(logged.length, 7);
  assert.match(logged[0] ?? '', /load returned '\/no\/such\/folder', which is not a folder/);
  assert.match(logged[1] ?? '', /expected the absolute path or file: URL of a folder/);
  returned = undefined;
  await server.loadModel('m');
  assert.equal(await sum(server, 'm'), 1);
});

test('a folder without versions or with a folder for a model file fails the load with its own reason', async (t) => {
  const empty = await temporaryFolder(t);
  const failed: string[] = [];
  const { server } = await start(t, {
    load: () => empty,
    fail: ({ model }) => void failed.push(model),
  });
  const error = await rejection(server.loadModel('m'));
  assert.equal(error.model, 'm');
  assert.ok(error.message.includes(empty), error.message);
  assert.deepEqual(failed, ['m']);
});

test('a hanging load holds nobody else up, and a server closes', async (t) => {
  let aborted = false;
  let begun = false;
  const { server, logged } = await start(
    t,
    {
      load: ({ signal }) => {
        begun = true;
        signal.addEventListener('abort', () => (aborted = true));
        return never();
      },
    },
    { finalizeTimeoutMs: 20 },
  );
  const load = server.loadModel('m');
  await until(() => begun);
  await server.loadModel('n');
  assert.equal(await sum(server, 'n'), 2);
  const failure = rejection(load);
  await server.close({ timeoutMs: 0 });
  assert.equal((await failure).code, 'CANCELLED');
  assert.ok(aborted);
  // It may be said before the server has closed.
  for (const line of logged) assert.match(line, /did not return within 20 ms after loading was cancelled$/);
});

test('many models may load with agents at once', async (t) => {
  const warnings: Error[] = [];
  const note = (warning: Error): void => void warnings.push(warning);
  process.on('warning', note);
  t.after(() => void process.off('warning', note));
  let waiting = 0;
  let go = (): void => undefined;
  const all = new Promise<void>((resolve) => (go = resolve));
  registerRepositoryAgent('together', {
    load: async () => {
      if (++waiting === 12) go();
      await all;
    },
  });
  const more = 'model_repository_agents { agents [ { name: "together" } ] }';
  const names = Array.from({ length: 12 }, (_, i) => `m${i}`);
  const models = Object.fromEntries(names.map((name) => [name, onnx(addModel(), { more })]));
  const folder = await writeRepository(await temporaryFolder(t), models);
  const server = await createServer(folder, { modelControlMode: 'explicit' });
  t.after(() => server.close({ timeoutMs: 0 }));
  await Promise.all(names.map((name) => server.loadModel(name)));
  // Warnings come in a later turn.
  await turnsLater();
  assert.deepEqual(warnings, []);
});

test('a start that is aborted ends a load, and the agent hears that it has failed', async (t) => {
  const calls: string[] = [];
  const stop = new AbortController();
  const folder = await repositoryOf(t, {
    load: ({ signal }) =>
      new Promise((_, reject) => {
        calls.push('load');
        signal.addEventListener('abort', () => {
          reject(new Error('stopped'));
        });
        stop.abort();
      }),
    fail: () => calls.push('fail'),
  });
  assert.equal((await rejection(createServer(folder, { signal: stop.signal }))).code, 'CANCELLED');
  await until(() => calls.length === 2);
  assert.deepEqual(calls, ['load', 'fail']);
});

test('another call that hangs is waited for as long as the option says', async (t) => {
  const { server, logged } = await start(
    t,
    { complete: never, unload: never, unloadComplete: never },
    { finalizeTimeoutMs: 10 },
  );
  await server.loadModel('m');
  assert.equal(await sum(server, 'm'), 1);
  await server.loadModel('m', { force: true });
  await server.unloadModel('m');
  await server.loadModel('m');
  await server.close();
  assert.match(logged[0] ?? '', /failed at LOAD_COMPLETE: it did not return within 10 ms/);
});

test('an agent that loads the model that waits for it is refused', async (t) => {
  const circles: string[] = [];
  const made: { server?: InferenceServer } = {};
  const ask = async (): Promise<void> => {
    await new Promise((resolve) => setTimeout(resolve, 1));
    for (const call of [made.server?.loadModel('m'), made.server?.unloadModel('m')]) {
      if (call) circles.push((await rejection(call)).reason ?? '');
    }
    // Others may be loaded, and models may be called.
    await made.server?.loadModel('n');
    if (made.server) assert.equal(await sum(made.server, 'n'), 2);
  };
  const { server } = await start(t, { load: ask, complete: ask, unload: ask, unloadComplete: ask });
  made.server = server;
  await server.loadModel('m');
  assert.deepEqual(
    circles.splice(0),
    Array.from({ length: 4 }, () => 'CIRCULAR_CALL'),
  );
  await server.unloadModel('m');
  assert.deepEqual(
    circles,
    Array.from({ length: 4 }, () => 'CIRCULAR_CALL'),
  );
});

test('an agent that polls while a poll waits for it is refused', async (t) => {
  const reasons: string[] = [];
  const made: { server?: InferenceServer } = {};
  const agent: RepositoryAgent = {
    load: async () => {
      if (made.server) reasons.push((await rejection(made.server.rescan())).reason ?? '');
    },
  };
  const { server, folder } = await start(t, agent, { modelControlMode: 'poll', repositoryPollMs: 0 });
  made.server = server;
  await writeRepository(folder, { m: { versions: { '2': addModel({ addend: 3 }) } } });
  await server.rescan();
  const { reloaded } = await server.rescan();
  assert.deepEqual(
    reloaded.map(({ name }) => name),
    ['m'],
  );
  assert.deepEqual(reasons, ['CIRCULAR_CALL']);
});

test('a module that never ends is not waited for when the server closes', async (t) => {
  const agents = await temporaryFolder(t);
  await writeRepository(agents, {
    endless: { files: { 'agent.mjs': 'await new Promise(() => undefined); export default { load() {} };' } },
  });
  const more = 'model_repository_agents { agents [ { name: "endless" } ] }';
  const folder = await writeRepository(await temporaryFolder(t), { m: onnx(addModel(), { more }) });
  const server = await createServer(folder, {
    ...{ modelControlMode: 'explicit', repositoryAgentDirectory: agents, finalizeTimeoutMs: 20 },
  });
  const failure = rejection(server.loadModel('m'));
  await turnsLater();
  await server.close({ timeoutMs: 0 });
  assert.equal((await failure).code, 'CANCELLED');
});

test('an agent may close the server that waits for it', async (t) => {
  const made: { server?: InferenceServer } = {};
  const { server } = await start(
    t,
    { load: () => made.server?.close({ timeoutMs: 0 }) },
    { finalizeTimeoutMs: 20 },
  );
  made.server = server;
  assert.equal((await rejection(server.loadModel('m'))).code, 'CANCELLED');
  await server.close();
});

test('an agent cannot change the configuration, or which agents follow', async (t) => {
  const faults: unknown[] = [];
  let loads = 0;
  const { server } = await start(t, {
    load({ config, parameters }) {
      loads++;
      for (const change of [
        () => Object.assign(config, { max_batch_size: 7 }),
        () => Object.assign(parameters, { more: 'x' }),
        // The types say that it is not to be changed.
        () =>
          (config as { model_repository_agents: { agents: unknown[] } }).model_repository_agents.agents.push(
            {},
          ),
      ]) {
        try {
          change();
        } catch (error) {
          faults.push(error instanceof TypeError);
        }
      }
    },
  });
  await server.loadModel('m');
  assert.deepEqual([loads, faults], [1, [true, true, true]]);
  assert.equal(server.model('m').config.max_batch_size, 64);
});

test('there is no temporary folder after the last call for a load', async (t) => {
  const contexts: AgentContext[] = [];
  const { server } = await start(t, { load: (context) => void contexts.push(context) });
  await server.loadModel('m');
  await server.unloadModel('m');
  const [context] = contexts;
  assert.ok(context);
  const error = await rejection(context.temporaryFolder());
  assert.deepEqual([error.code, error.model], ['INVALID_ARG', 'm']);
});

test('folders in which nothing may be removed are removed', async (t) => {
  const made: string[] = [];
  const { server, logged } = await start(t, {
    async load({ temporaryFolder: make }) {
      const folder = await make();
      made.push(folder);
      await mkdir(join(folder, 'a', 'b'), { recursive: true });
      await writeFile(join(folder, 'a', 'b', 'secret'), 'x');
      await chmod(join(folder, 'a', 'b'), 0o500);
      await chmod(join(folder, 'a'), 0o500);
    },
  });
  await server.loadModel('m');
  await server.unloadModel('m');
  assert.deepEqual(
    made.map((folder) => existsSync(folder)),
    [false],
  );
  assert.deepEqual(logged, []);
});

test('a process does not end while a load waits for an agent', async (t) => {
  const folder = await writeRepository(await temporaryFolder(t), {
    m: onnx(addModel(), { more: 'model_repository_agents { agents [ { name: "slow" } ] }' }),
  });
  const index = new URL('../../src/index.js', import.meta.url).href;
  const program = `import { createServer, registerRepositoryAgent } from '${index}';
    registerRepositoryAgent('slow', { load: () => new Promise((resolve) => setTimeout(resolve, 100).unref()) });
    const server = await createServer(process.argv[1]);
    await server.close();
    console.log('served');`;
  const args = ['--input-type=module', '-e', program, folder];
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' });
  assert.deepEqual([status, stdout.trim()], [0, 'served'], stderr);
});

test('the folders of a process that was killed are removed by the next one', async (t) => {
  const folder = await writeRepository(await temporaryFolder(t), {
    m: onnx(addModel(), { more: 'model_repository_agents { agents [ { name: "copies" } ] }' }),
  });
  const notes = await temporaryFolder(t);
  const program = fileURLToPath(new URL('agent-program.js', import.meta.url));
  const places = ['SIGKILL', ''].map((signal, i) => {
    const note = join(notes, String(i));
    const { stderr } = spawnSync(process.execPath, [program, folder, note, signal], { encoding: 'utf8' });
    assert.ok(existsSync(note), stderr);
    const place = readFileSync(note, 'utf8');
    assert.equal(existsSync(place), signal !== '');
    return place;
  });
  assert.deepEqual(
    places.map((place) => existsSync(place)),
    [false, false],
  );
});

test('a process that ends without close() leaves no folder of an agent', async (t) => {
  const folder = await writeRepository(await temporaryFolder(t), {
    m: onnx(addModel(), { more: 'model_repository_agents { agents [ { name: "copies" } ] }' }),
  });
  const note = join(await temporaryFolder(t), 'note');
  const program = fileURLToPath(new URL('agent-program.js', import.meta.url));
  const { status, stderr } = spawnSync(process.execPath, [program, folder, note], { encoding: 'utf8' });
  assert.equal(status, 0, stderr);
  const made = readFileSync(note, 'utf8');
  assert.match(made, /tritonts-agent-/);
  assert.equal(existsSync(made), false);
});
