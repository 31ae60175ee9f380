/** Repository agents of the program: the order of their calls, and the folders that they choose. */

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { cp, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { test } from 'node:test';
import {
  createServer,
  registerRepositoryAgent,
  type AgentContext,
  type InferenceServer,
  type RepositoryAgent,
  type ServerOptions,
} from '../../src/index.js';
import { checkRepository } from '../../src/registry/check-repository.js';
import { addressOf, connected, protocols } from '../client/harness.js';
import {
  chain,
  configText,
  ensemble,
  floats,
  onnx,
  rejection,
  row,
  until,
  type Context,
} from '../support/harness.js';
import { addModel } from '../support/models.js';
import { temporaryFolder, writeRepository, type RepositoryModel } from '../support/repository.js';
import { settle } from './polling/harness.js';

const text = { silent: { error: () => undefined, warn: () => undefined } };

let agentsSoFar = 0;

/** Registers an agent under a name of its own, which it returns. */
function register(agent: RepositoryAgent): string {
  const name = `agent-${agentsSoFar++}`;
  registerRepositoryAgent(name, agent);
  return name;
}

/** An agent that notes each of its calls. */
function noting(calls: string[], label: string, more: RepositoryAgent = {}): string {
  const note =
    (action: keyof RepositoryAgent) =>
    async (context: AgentContext): Promise<never> => {
      calls.push(`${label} ${action} ${context.model}`);
      // The types of `load` and of the others differ.
      return (await more[action]?.(context)) as never;
    };
  return register({
    load: note('load'),
    complete: note('complete'),
    fail: note('fail'),
    unload: note('unload'),
    unloadComplete: note('unloadComplete'),
  });
}

/** A model y = x + n with these agents. */
function add(addend: number, ...agents: readonly string[]): RepositoryModel {
  return onnx(addModel({ addend }), { more: agentsText(...agents) });
}

function agentsText(...agents: readonly string[]): string {
  const list = agents.map((name) => `{ name: "${name}" parameters { key: "who" value: "${name}" } }`);
  return `model_repository_agents { agents [ ${list.join(', ')} ] }`;
}

async function start(
  t: Context,
  folder: string,
  options: Omit<ServerOptions, 'modelRepository'> = {},
): Promise<InferenceServer> {
  const server = await createServer(folder, { modelControlMode: 'explicit', loadModels: ['*'], ...options });
  t.after(() => server.close({ timeoutMs: 0 }));
  return server;
}

async function repository(t: Context, models: Readonly<Record<string, RepositoryModel>>): Promise<string> {
  return writeRepository(await temporaryFolder(t), models);
}

const sum = async (server: InferenceServer, model = 'm'): Promise<number | undefined> =>
  floats(await server.infer(model, { x: row(0) }))[0];

/** The calls since the last time. */
const taken = (calls: string[]): string[] => calls.splice(0);

test('agents are called in their order, and backwards at the end', async (t) => {
  const calls: string[] = [];
  const folder = await repository(t, { m: add(1, noting(calls, 'a'), noting(calls, 'b')) });
  const server = await start(t, folder);
  assert.deepEqual(taken(calls), ['a load m', 'b load m', 'b complete m', 'a complete m']);
  assert.deepEqual(await server.loadModel('m'), { changed: false });
  assert.deepEqual(taken(calls), []);
  await server.loadModel('m', { force: true });
  await until(() => calls.length === 8);
  assert.deepEqual(taken(calls), [
    ...['a load m', 'b load m'],
    ...['a unload m', 'b unload m', 'b complete m', 'a complete m'],
    ...['b unloadComplete m', 'a unloadComplete m'],
  ]);
  await server.unloadModel('m');
  const unload = ['a unload m', 'b unload m', 'b unloadComplete m', 'a unloadComplete m'];
  assert.deepEqual(taken(calls), unload);
  await server.loadModel('m');
  taken(calls);
  await server.close();
  assert.deepEqual(taken(calls), ['b unload m', 'b unloadComplete m', 'a unload m', 'a unloadComplete m']);
});

test('a load that fails is told to the agents, and what was served goes on with its own', async (t) => {
  const calls: string[] = [];
  const folder = await repository(t, { m: add(1, noting(calls, 'a'), noting(calls, 'b')) });
  const server = await start(t, folder);
  taken(calls);
  await writeFile(join(folder, 'm', '1', 'model.onnx'), 'no model');
  await rejection(server.loadModel('m'));
  assert.deepEqual(taken(calls), ['a load m', 'b load m', 'b fail m', 'a fail m']);
  assert.equal(await sum(server), 1);
  await server.unloadModel('m');
  assert.deepEqual(taken(calls), ['a unload m', 'b unload m', 'b unloadComplete m', 'a unloadComplete m']);
});

test('an agent moves the model, whose configuration stays, and the next one sees the new place', async (t) => {
  const seen: Pick<AgentContext, 'path' | 'config' | 'parameters' | 'isRemote' | 'namespace'>[] = [];
  const elsewhere = await repository(t, {
    m: {
      config: 'max_batch_size: 3',
      versions: { '1': addModel({ addend: 5 }), '4': addModel({ addend: 40 }) },
      files: { 'labels.txt': 'one\ntwo\n' },
    },
  });
  const moves = register({
    load: ({ path, config, parameters, isRemote, namespace }) => {
      seen.push({ path, config, parameters, isRemote, namespace });
      return pathToFileURL(join(elsewhere, 'm'));
    },
  });
  const looks = register({
    load: ({ path, config, parameters, isRemote, namespace }) => {
      seen.push({ path, config, parameters, isRemote, namespace });
    },
  });
  const config = configText({ maxBatchSize: 8, more: agentsText(moves, looks) });
  const labelled = config.replace(
    'output [ { name: "y"',
    'output [ { name: "y" label_filename: "labels.txt"',
  );
  const folder = await repository(t, { m: { config: labelled, versions: { '1': addModel() } } });
  const server = await start(t, folder);
  assert.equal(await sum(server), 40);
  const { config: served } = server.model('m');
  assert.equal(served.max_batch_size, 8);
  assert.equal(served.model_repository_agents?.agents.length, 2);
  const result = await server.infer('m', { x: row(0) }, { outputs: [{ name: 'y', classification: 1 }] });
  assert.match(String(result.outputs['y']?.toArray()), /:15/);
  const [first, second] = seen;
  assert.deepEqual(
    [first?.path, first?.config.max_batch_size, first?.parameters, first?.isRemote, first?.namespace],
    [join(folder, 'm'), 8, { who: moves }, false, ''],
  );
  assert.deepEqual(
    [second?.path, second?.config, second?.parameters],
    [join(elsewhere, 'm'), { max_batch_size: 3 }, { who: looks }],
  );
});

test('a folder of an agent is there until its model has been unloaded', async (t) => {
  const folders: string[] = [];
  const states: unknown[] = [];
  const copies = register({
    async load(context) {
      const { path, temporaryFolder: make } = context;
      const folder = await make();
      assert.equal(await make(), folder);
      await cp(path, folder, { recursive: true });
      folders.push(folder);
      context.state = folders.length;
      return folder;
    },
    unloadComplete: ({ state }) => {
      states.push(state, ...folders.map((folder) => existsSync(folder)));
    },
  });
  const folder = await repository(t, { m: add(1, copies) });
  const server = await start(t, folder);
  assert.equal(await sum(server), 1);
  await server.loadModel('m', { force: true });
  await until(() => folders[0] !== undefined && !existsSync(folders[0]));
  assert.deepEqual(states.splice(0), [1, true, true]);
  assert.equal(await sum(server), 1);
  await server.unloadModel('m');
  assert.deepEqual(
    folders.map((one) => existsSync(one)),
    [false, false],
  );
  await server.loadModel('m');
  await server.close();
  assert.deepEqual(
    folders.map((one) => existsSync(one)),
    [false, false, false],
  );
  // Those of a load that fails, too.
  await writeFile(join(folder, 'm', '1', 'model.onnx'), 'no model');
  await rejection(createServer(folder));
  assert.deepEqual(
    folders.map((one) => existsSync(one)),
    [false, false, false, false],
  );
});

test('polls look at the folder of the repository, and a change concerns all versions', async (t) => {
  const calls: string[] = [];
  const model = add(1, noting(calls, 'a'));
  const folder = await repository(t, {
    m: {
      ...model,
      config: `${model.config ?? ''}\nversion_policy { all {} }`,
      versions: { '1': addModel(), '2': addModel() },
    },
  });
  const server = await start(t, folder, {
    modelControlMode: 'poll',
    repositoryPollMs: 0,
    loadModels: undefined,
  });
  taken(calls);
  await writeFile(join(folder, 'm', '2', 'model.onnx'), addModel({ addend: 2 }));
  assert.equal(await settle(server), '~m:1,2-1,2');
  await until(() => calls.length === 4);
  assert.deepEqual(taken(calls), ['a load m', 'a unload m', 'a complete m', 'a unloadComplete m']);
  await rename(join(folder, 'm'), join(folder, '.m'));
  assert.equal(await settle(server), '-m');
  await until(() => calls.length === 2);
  assert.deepEqual(taken(calls), ['a unload m', 'a unloadComplete m']);
});

for (const protocol of protocols) {
  test(`${protocol}: a model that an agent refuses is not loaded, and the log says why`, async (t) => {
    const logged: string[] = [];
    const refuses = register({
      load: ({ model }) => {
        throw new Error(`no licence for ${model}`);
      },
    });
    const server = await start(t, await repository(t, { m: add(1, refuses) }), {
      loadModels: [],
      logger: { error: (message) => logged.push(message) },
    });
    const remote = await connected(t, await addressOf(t, protocol, server));
    const error = await rejection(remote.loadModel('m'));
    const line = "failed to load 'm', failed to poll from model repository";
    assert.deepEqual([error.code, error.message], ['INTERNAL', line]);
    const own = await rejection(server.loadModel('m'));
    assert.deepEqual([own.code, own.model, own.message], ['INTERNAL', 'm', line]);
    assert.match(String(own.cause), /no licence for m/);
    assert.match(
      logged[0] ?? '',
      /^model 'm': repository agent 'agent-\d+' failed at LOAD: no licence for m$/,
    );
    assert.deepEqual(
      (await remote.index()).map(({ state, reason }) => [state, reason]),
      [['UNAVAILABLE', line]],
    );
  });
}

test('an error of LOAD ends the round, and those who were called hear of it', async (t) => {
  const calls: string[] = [];
  const throws = (): never => {
    throw new Error('no');
  };
  const agents = [noting(calls, 'a'), noting(calls, 'b', { load: throws }), noting(calls, 'c')];
  const options = { exitOnError: false, logger: text.silent };
  await start(t, await repository(t, { m: add(1, ...agents) }), options);
  assert.deepEqual(taken(calls), ['a load m', 'b load m', 'b fail m', 'a fail m']);
});

test('an error of another action ends its round and is logged, and what is owed follows', async (t) => {
  const calls: string[] = [];
  const logged: string[] = [];
  const throws = (): never => {
    throw new Error('no');
  };
  const agents = [
    noting(calls, 'a'),
    noting(calls, 'b', { complete: throws }),
    noting(calls, 'c', { unload: throws }),
  ];
  const server = await start(t, await repository(t, { m: add(1, ...agents) }), {
    logger: { warn: (message) => logged.push(message) },
  });
  assert.deepEqual(taken(calls), ['a load m', 'b load m', 'c load m', 'c complete m', 'b complete m']);
  assert.equal(await sum(server), 1);
  await server.unloadModel('m');
  // The first has not been told that the load is complete, so it is not unloaded: it has failed for it.
  assert.deepEqual(taken(calls), [
    ...['c unload m', 'c unloadComplete m'],
    ...['b unload m', 'b unloadComplete m', 'a fail m'],
  ]);
  assert.match(logged.join('\n'), /'agent-\d+' failed at LOAD_COMPLETE: no/);
  assert.match(
    logged.join('\n'),
    /unexpected lifecycle state transition of repo agent 'agent-\d+' from LOAD to UNLOAD/,
  );
});

test('an ensemble may have agents, and a configuration of a load decides about them', async (t) => {
  const calls: string[] = [];
  const [a, b] = [noting(calls, 'a'), noting(calls, 'b')];
  const e = ensemble(chain(['m']), { more: agentsText(a) });
  const server = await start(t, await repository(t, { m: onnx(), e }));
  assert.deepEqual(taken(calls), ['a load e', 'a complete e']);
  const config = { max_batch_size: 64, model_repository_agents: { agents: [{ name: b }] } };
  await server.loadModel('m', { config });
  assert.deepEqual(taken(calls), ['b load m', 'b complete m']);
  // A plain load goes back to the repository's, which names none.
  await server.loadModel('m');
  await until(() => calls.length === 2);
  assert.deepEqual(taken(calls), ['b unload m', 'b unloadComplete m']);
  const files = { 'model.onnx': addModel() };
  const error = await rejection(server.loadModel('m', { config, files }));
  assert.equal(error.code, 'UNSUPPORTED');
  assert.match(error.message, /repository agents work on a model's folder/);
});

test('an ensemble that is served no more tells its agents, once', async (t) => {
  const calls: string[] = [];
  const folder = await repository(t, {
    m: onnx(addModel({ addend: 1 })),
    e: ensemble(chain(['m']), { more: agentsText(noting(calls, 'a')) }),
  });
  const server = await start(t, folder);
  assert.deepEqual(taken(calls), ['a load e', 'a complete e']);
  await rename(join(folder, 'm'), join(folder, '.m'));
  await settle(server);
  await until(() => calls.length === 2);
  await server.close();
  assert.deepEqual(taken(calls), ['a unload e', 'a unloadComplete e']);
});

test('an agent moves a model that is a single file to a folder with versions', async (t) => {
  const folder = await temporaryFolder(t);
  const file = join(folder, 'single.onnx');
  await writeFile(file, addModel({ addend: 1 }));
  const elsewhere = await repository(t, { m: { versions: { '1': addModel({ addend: 5 }) } } });
  const moves = register({ load: () => join(elsewhere, 'm') });
  const server = await start(t, file, { loadModels: [] });
  const agents = [{ name: moves }];
  await server.loadModel('single', { config: { max_batch_size: 8, model_repository_agents: { agents } } });
  assert.equal(await sum(server, 'single'), 5);
});

test('agents of a folder are used as those of the program', async (t) => {
  const agents = await temporaryFolder(t);
  const source = `export default {
    load({ parameters }) { if (parameters.who !== 'own') throw new Error('who is it?'); },
  };`;
  await writeRepository(agents, {
    own: { files: { 'agent.mjs': source } },
    bad: { files: { 'agent.js': 'module.exports = 1' } },
  });
  const folder = await repository(t, { m: add(1, 'own'), n: add(1, 'bad'), o: add(1, 'missing') });
  const logged: string[] = [];
  const server = await start(t, folder, {
    repositoryAgentDirectory: agents,
    exitOnError: false,
    logger: { error: (message) => logged.push(message) },
  });
  assert.equal(await sum(server), 1);
  assert.deepEqual(
    server.index({ ready: true }).map(({ name }) => name),
    ['m'],
  );
  assert.match(logged.join('\n'), /agent\.js: expected an object with some of the functions load/);
  assert.match(logged.join('\n'), /unable to find repo agent 'missing'; there are checksum/);
  const checked = await checkRepository({ modelRepository: folder, repositoryAgentDirectory: agents });
  assert.deepEqual(
    checked.map(({ ok }) => ok),
    [true, false, false],
  );
  assert.match(
    checked[2]?.problems[0]?.message ?? '',
    /^failed to load 'o', failed to poll from model repository: unable to find repo agent 'missing'/,
  );
  const absent = await rejection(createServer(folder, { repositoryAgentDirectory: join(agents, 'absent') }));
  assert.equal(absent.code, 'NOT_FOUND');
});

for (const [file, code] of Object.entries({
  'agent.mjs': (n: number) => `export default { load() { globalThis.rereadAgent = ${n}; } };`,
  'agent.cjs': (n: number) => `module.exports = { load() { globalThis.rereadAgent = ${n}; } };`,
}))
  test(`an agent whose file is repaired or changed is read again by the next load: ${file}`, async (t) => {
    const agents = await temporaryFolder(t);
    await writeRepository(agents, { own: { files: { [file]: 'this is no code' } } });
    const folder = await repository(t, { m: add(1, 'own') });
    const options = { loadModels: [], repositoryAgentDirectory: agents, logger: {} };
    const server = await start(t, folder, options);
    const used = (): unknown => Reflect.get(globalThis, 'rereadAgent');
    await rejection(server.loadModel('m'));
    for (const n of [1, 2]) {
      await writeFile(join(agents, 'own', file), code(n));
      for (let load = 0; load < 2; load++) {
        await server.loadModel('m', { force: true });
        assert.equal(used(), n);
      }
    }
  });

test('a module that an agent requires is read again by the next load after a repair', async (t) => {
  const agents = await temporaryFolder(t);
  const code = "module.exports = { load() { globalThis.helpedAgent = require('./helper.cjs').number; } };";
  const helper = (n: number): string => `exports.number = ${n};`;
  const broken = `require('./helper.cjs'); ${code}`;
  await writeRepository(agents, { own: { files: { 'agent.cjs': broken, 'helper.cjs': 'this is no code' } } });
  const folder = await repository(t, { m: add(1, 'own') });
  const options = { loadModels: [], repositoryAgentDirectory: agents, logger: {} };
  const server = await start(t, folder, options);
  await rejection(server.loadModel('m'));
  await writeFile(join(agents, 'own', 'helper.cjs'), helper(1));
  await server.loadModel('m', { force: true });
  assert.equal(Reflect.get(globalThis, 'helpedAgent'), 1);
});

test('an agent that imports a CommonJS file with an error is refused, and the process goes on', async (t) => {
  const agents = await temporaryFolder(t);
  const parts = { 'syntax.cjs': 'export const a = 1;', 'throws.cjs': "throw new Error('no such day')" };
  for (const [name, expected] of [
    ['syntax', /agent\.mjs cannot be imported: Unexpected token 'export'/],
    ['throws', /agent\.mjs cannot be imported: no such day/],
  ] as const) {
    const files = { 'agent.mjs': `import './${name}.cjs'; export default { load() {} };`, ...parts };
    await writeRepository(agents, { [name]: { files } });
    const folder = await repository(t, { m: add(1, name) });
    // In a process of its own: the test runner would take the rejection that nobody handles for a fault.
    const program = `
      import { createServer } from ${JSON.stringify(new URL('../../src/index.js', import.meta.url).href)};
      const options = { loadModels: [], modelControlMode: 'explicit', repositoryAgentDirectory: process.argv[2] };
      const server = await createServer(process.argv[1], { ...options, logger: { error: (line) => console.log(line) } });
      await server.loadModel('m').catch(() => console.log('refused'));
      setTimeout(() => server.close().then(() => console.log('alive')), 100);`;
    const told = execFileSync(
      process.execPath,
      ['--input-type=module', '--eval', program, '--', folder, agents],
      { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] },
    );
    assert.match(told, expected);
    assert.match(told, /^refused\nalive$/m);
  }
});

test('a check calls the agents of a model, and a model without a configuration has none', async (t) => {
  const calls: string[] = [];
  const agent = noting(calls, 'a');
  const folder = await repository(t, {
    m: add(1, agent),
    broken: { ...add(1, agent), versions: { '1': { 'model.onnx': 'no model' } } },
    plain: { versions: { '1': addModel() } },
  });
  const checked = await checkRepository({ modelRepository: folder });
  assert.deepEqual(
    checked.map(({ name, ok }) => [name, ok]),
    [
      ['broken', false],
      ['m', true],
      ['plain', true],
    ],
  );
  assert.deepEqual(
    calls.filter((call) => call.endsWith(' m')),
    [...['a load m', 'a complete m', 'a unload m', 'a unloadComplete m']],
  );
  assert.deepEqual(
    calls.filter((call) => call.endsWith(' broken')),
    ['a load broken', 'a fail broken'],
  );
});
