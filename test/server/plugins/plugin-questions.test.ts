/** What plug-ins and native programs are answered: as Triton's calls over HTTP. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { NativeServer } from '../../../src/addon/native/server.js';
import { statusNumber } from '../../../src/addon/status.js';
import type { ModelKey } from '../../../src/model-key.js';
import type { InferenceServer } from '../../../src/index.js';
import { resolveLogger } from '../../../src/logger.js';
import { answerPlugins } from '../../../src/server/plugins/plugin-questions.js';
import { identity, row, serve, statisticsAfter, until } from '../../support/harness.js';
import type { Context } from '../../support/harness.js';

type OwnPlugins = Parameters<NativeServer['ownPlugins']>;

/** A server, and the function that answers for it. */
async function asked(
  t: Context,
  options: Parameters<typeof serve>[2] = {},
): Promise<{
  readonly server: InferenceServer;
  readonly ask: (kind: string, given?: object) => ReturnType<OwnPlugins[2]>;
  readonly askLater: (
    kind: string,
    given: object,
    files?: Record<string, Uint8Array>,
    by?: string,
  ) => Promise<[number, string]>;
  readonly told: OwnPlugins;
  readonly logged: readonly string[];
}> {
  const server = await serve(t, { echo: identity() }, options);
  const replies = new Map<number, [number, string]>();
  let told: OwnPlugins | undefined;
  const native: Pick<NativeServer, 'ownPlugins'> = {
    ownPlugins: (...given) => {
      told = given;
    },
  };
  const logged: string[] = [];
  const logger = resolveLogger({
    info: (text: string) => logged.push(`info ${text}`),
    error: (text: string) => logged.push(`error ${text}`),
  });
  const registry = {
    wake: (key: ModelKey): Promise<void> => {
      logged.push(`wakes ${key.namespace}::${key.name}`);
      return Promise.resolve();
    },
    asLoadOf: <T>(name: string, call: () => T): T => {
      logged.push(`asked by ${name}`);
      return call();
    },
  };
  answerPlugins(native, new WeakRef(server), true, logger, registry, (number, code, text) => {
    replies.set(number, [code, text]);
  });
  assert.ok(told !== undefined);
  const [, , answer] = told;
  let last = 0;
  return {
    server,
    told,
    logged,
    ask: (kind, given = {}) => answer(kind, JSON.stringify(given), {}, 0, ''),
    askLater: async (kind, given, files = {}, by = '') => {
      const number = ++last;
      assert.equal(answer(kind, JSON.stringify(given), files, number, by), undefined);
      await until(() => replies.has(number));
      return replies.get(number) ?? [0, ''];
    },
  };
}

function parsed(text: unknown): unknown {
  assert.ok(typeof text === 'string', JSON.stringify(text));
  return JSON.parse(text);
}

test('descriptions and statistics are those of the server', async (t) => {
  const { server, ask } = await asked(t);
  assert.deepEqual(parsed(ask('modelMetadata', { model: 'echo' })), server.model('echo').metadata);
  const config = parsed(ask('modelConfig', { model: 'echo', version: 1 })) as Record<string, unknown>;
  assert.equal(config['name'], 'echo');
  assert.equal(config['backend'], 'identity');
  assert.deepEqual(parsed(ask('index', { ready: true })), server.index({ ready: true }));
  const metadata = parsed(ask('serverMetadata')) as { name: string; extensions: string[] };
  assert.equal(metadata.name, server.metadata().name);
  assert.ok(metadata.extensions.includes('binary_tensor_data'));
  assert.ok(!metadata.extensions.includes('model_repository'));
  await server.infer('echo', { x: row() });
  await statisticsAfter(server, 'echo', 1);
  const statistics = parsed(ask('statistics', { model: 'echo' })) as {
    readonly model_stats: readonly Record<string, unknown>[];
  };
  const [first] = statistics.model_stats;
  assert.equal(first?.['inference_count'], 1);
  assert.equal(first['reruns'], undefined);
  const metrics = ask('metrics');
  assert.ok(typeof metrics === 'string');
  assert.match(metrics, /^nv_inference_count\{.*\} 1$/m);
});

test('what is wrong has a code and a message', async (t) => {
  const { ask } = await asked(t);
  assert.equal(
    (ask('modelMetadata', { model: 'none' }) as { code: number }).code,
    statusNumber('NOT_FOUND', undefined),
  );
  assert.match(JSON.stringify(ask('nonsense')), /unknown question 'nonsense'/);
});

test('a load from the own thread is refused, and from others it is waited for', async (t) => {
  const { server, ask, askLater, logged } = await asked(t, {
    modelControlMode: 'explicit',
    loadModels: ['echo'],
  });
  const refused = ask('load', { model: 'echo' }) as { code: number; message: string };
  assert.equal(refused.code, statusNumber('UNAVAILABLE', 'CIRCULAR_CALL'));
  assert.match(refused.message, /call it from another thread/);
  assert.deepEqual(await askLater('unload', { model: 'echo' }), [0, '']);
  assert.equal(server.model('echo').ready, false);
  assert.deepEqual(await askLater('load', { model: 'echo' }), [0, '']);
  assert.equal(server.model('echo').ready, true);
  const [code, message] = await askLater('load', { model: 'none' });
  assert.equal(code, statusNumber('NOT_FOUND', undefined));
  assert.match(message, /none/);
  const [wrong] = await askLater('load', { model: 'echo', config: '{' });
  assert.equal(wrong, statusNumber('INVALID_ARG', undefined));
  const [unknown] = await askLater('register', { path: '/no/such/folder', names: {} });
  assert.equal(unknown, statusNumber('INVALID_ARG', undefined));
  const [unregistered] = await askLater('unregister', { path: '/no/such/folder' });
  assert.equal(unregistered, statusNumber('INVALID_ARG', undefined));
  assert.deepEqual(await askLater('poll', {}), [0, '']);
  assert.deepEqual(await askLater('wake', { model: 'echo', namespace: 'a' }), [0, '']);
  assert.deepEqual(logged.slice(-1), ['wakes a::echo']);
  // What the load of a model asks for is known to be its.
  assert.deepEqual(await askLater('wake', { model: 'echo', namespace: 'b' }, {}, 'asker'), [0, '']);
  assert.deepEqual(logged.slice(-2), ['asked by asker', 'wakes b::echo']);
});

test('an unload answers before the requests of the model have ended', async (t) => {
  const server = await serve(
    t,
    { slow: identity({ delayMs: 1500 }) },
    { modelControlMode: 'explicit', loadModels: ['slow'] },
  );
  let code: number | undefined;
  let answer: OwnPlugins[2] | undefined;
  const native: Pick<NativeServer, 'ownPlugins'> = {
    ownPlugins: (...given) => {
      answer = given[2];
    },
  };
  answerPlugins(
    native,
    new WeakRef(server),
    true,
    resolveLogger({}),
    { wake: () => Promise.resolve(), asLoadOf: (_name, call) => call() },
    (_number, given) => {
      code = given;
    },
  );
  let isRunning = true;
  const run = server.infer('slow', { x: row() }).finally(() => {
    isRunning = false;
  });
  await until(() => server.explain('slow').batches.some(({ running }) => running));
  assert.equal(answer?.('unload', '{"model":"slow"}', {}, 1, ''), undefined);
  await until(() => code !== undefined);
  assert.deepEqual([code, isRunning], [0, true]);
  await run;
});

test('messages go to the log at their level', async (t) => {
  const { told, logged } = await asked(t);
  const [, levels, , log] = told;
  // Info and error, in the order of TRITONSERVER_LogLevel.
  assert.equal(levels, 0b101);
  for (const level of [0, 1, 2, 3]) log(level, String(level));
  assert.deepEqual(logged, ['info 0', 'error 2']);
});

test('a server that was closed is unavailable', async (t) => {
  const { server, ask } = await asked(t);
  await server.close();
  assert.equal((ask('metrics') as { code: number }).code, statusNumber('UNAVAILABLE', 'CLOSED'));
});
