/** A plug-in that breaks rules: its callers get coded errors, the process goes on, and the next request is served. */

// Long: it waits for limits of time.

import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { createServer, type InferenceServer } from '../../../src/index.js';
import { floats, identity, rejection } from '../../support/harness.js';
import { temporaryFolder, writeRepository } from '../../support/repository.js';
import { recorded } from '../../python/harness.js';
import { pluginFolder, breakerOptions as options, pluginModel, serving, skip } from './own-plugins.js';

/** What a request that breaks a rule gets: a value, or an error whose code and message have this form. */
type Outcome = readonly [expected: 'y' | RegExp, told: readonly RegExp[]];

const ok = (name: string): RegExp => new RegExp(`^${name}: ok$`);
const refused = (name: string, text = ''): RegExp => new RegExp(`^${name}: Invalid argument: .*${text}`);

/** By the rule that the plug-in breaks. Where a call is refused, the plug-in is told so. */
const rules: Readonly<Record<string, Outcome>> = {
  two_finals: ['y', [refused('ResponseSend', 'after the final one')]],
  after_final: ['y', [refused('ResponseSend', 'after the final one')]],
  no_final: [/^INTERNAL .*without a final response/, [ok('RequestRelease')]],
  no_response: [/^INTERNAL .*without a final response/, [ok('RequestRelease')]],
  release_twice: ['y', [ok('RequestRelease'), refused('RequestRelease', 'does not have this request')]],
  release_nothing: ['y', [refused('RequestRelease', 'ALL \\(1\\) or RESCHEDULE \\(2\\)')]],
  reschedule: ['y', [refused('RequestRelease', 'iterative_sequence'), ok('RequestRelease')]],
  empty_final: [
    /^INTERNAL /,
    [ok('ResponseFactoryNew'), ok('ResponseFactorySendFlags'), ok('ResponseFactoryDelete')],
  ],
  factory_without_final: [/^INTERNAL .*final/, [ok('ResponseFactoryNew'), ok('ResponseFactoryDelete')]],
  response_deleted: [/^INTERNAL .*without a final response/, [ok('ResponseDelete')]],
  wrong_name: [/^INVALID_ARG .*output 'z'/, [refused('Write', "'z'"), ok('ResponseSend')]],
  null_name: [/^INVALID_ARG .*output without a name/, [refused('Write', 'name'), ok('ResponseSend')]],
  wrong_type: [/^INTERNAL .*'y'.*FP32.*INT64/, [ok('ResponseSend')]],
  unknown_type: [/^INVALID_ARG .*'y'.*99/, [refused('Write', '99'), ok('ResponseSend')]],
  wrong_batch: [/^INTERNAL .*'y'/, [ok('ResponseSend')]],
  // As in Triton, only the number of rows is compared with the configuration.
  wrong_rank: ['y', [ok('ResponseSend')]],
  negative_shape: [/^INTERNAL .*'y'/, [ok('ResponseSend')]],
  huge_shape: [/^INTERNAL .*'y'/, [ok('ResponseSend')]],
  short_buffer: [/^INTERNAL .*'y'/, [ok('ResponseSend')]],
  large_buffer: [/^INTERNAL .*'y'/, [ok('ResponseSend')]],
  damaged_strings: [/^INTERNAL .*'told'/, [ok('ResponseSend')]],
  no_buffer: [/^INTERNAL .*'y' without asking for its buffer/, [ok('ResponseOutput'), ok('ResponseSend')]],
  same_output_twice: ['y', [/^second: Already exists: /, ok('ResponseSend')]],
  two_buffers: ['y', [ok('OutputBuffer'), /^OutputBuffer: Already exists: /, ok('ResponseSend')]],
  gpu_buffer: ['y', [ok('OutputBuffer of the host'), ok('ResponseSend')]],
  unknown_tensors: [
    'y',
    [
      refused('RequestInput', "'nothing'"),
      refused('RequestInputByIndex', '99'),
      refused('RequestInputName', '99'),
      refused('RequestOutputName', '99'),
      refused('RequestParameter', '99'),
      refused('InputBuffer', '99'),
      refused('StateNew', "'nothing'"),
    ],
  ],
  odd_statistics: ['y', [ok('ModelInstanceReportStatistics'), ok('ModelInstanceReportBatchStatistics')]],
  execute: [/^INTERNAL .*broken: execute/, []],
  execute_after_answer: ['y', [ok('RequestRelease')]],
  execute_after_response: ['y', []],
  first_response_deleted_last: ['y', [ok('ResponseDelete')]],
  first_response_deleted_between: ['y', [ok('ResponseDelete')]],
  first_response_deleted_by_another_thread: ['y', [ok('ResponseDelete')]],
  response_after_send: [
    'y',
    [
      refused('ResponseSend', 'sent or deleted before'),
      refused('ResponseDelete', 'sent or deleted before'),
      refused('ResponseOutput', 'sent or deleted before'),
      refused('ResponseFactoryDelete', 'sent or deleted before'),
      ok('ResponseDelete'),
    ],
  ],
  nulls: [
    'y',
    [
      refused('RequestInput', 'argument 2 must not be null'),
      refused('RequestInput', 'argument 1 must not be null'),
      refused('RequestInputCount', 'argument 1'),
      refused('InputBuffer', 'argument 1'),
      refused('OutputBuffer', 'argument 1'),
      refused('ResponseNew', 'argument 2'),
      refused('ResponseNew', 'argument 1'),
      refused('ResponseNewFromFactory', 'argument 2'),
      refused('ResponseFactoryNew', 'argument 2'),
      refused('ResponseSend', 'argument 1'),
      refused('RequestRelease', 'argument 1'),
      refused('StateNew', 'argument 3'),
      refused('StateUpdate', 'argument 1'),
      refused('ModelInstanceReportStatistics', 'not released'),
      refused('ModelInstanceModel', 'argument 1'),
      refused('ResponseOutput', '2 dims that is null'),
      refused('InferenceResponseOutputByName', 'argument 2'),
      ok('ResponseDelete'),
    ],
  ],
  late: ['y', [ok('RequestRelease')]],
  slow: ['y', [ok('RequestRelease')]],
  throws: [/^INTERNAL .*thrown by a plug-in/, []],
};

async function send(server: InferenceServer, rule: string, model = 'breaks'): Promise<string> {
  return server
    .infer(
      model,
      { x: [[1]] },
      { parameters: { break: rule }, outputs: rule === 'damaged_strings' ? ['told'] : ['y'] },
    )
    .then(() => 'y')
    .catch((error: unknown) => {
      const { code, message } = error as { code: string; message: string };
      return `${code} ${message}`;
    });
}

/** A request by the rules, and what the plug-in was told since the last one. */
async function obey(server: InferenceServer, model = 'breaks'): Promise<string[]> {
  const result = await server.infer(model, { x: [[2, 3]] });
  assert.deepEqual(floats(result), [2, 3]);
  return (result.outputs['told']?.strings()[0] ?? '').split('\n').filter((line) => line !== '');
}

for (const [rule, [expected, told]] of Object.entries(rules)) {
  test(`a plug-in breaks a rule: ${rule}`, { skip }, async (t) => {
    const server = await serving(t, { breaks: pluginModel('breaker', options) });
    await obey(server);
    const shown = await send(server, rule);
    if (expected === 'y') assert.equal(shown, 'y');
    else assert.match(shown, expected);
    const lines = await obey(server);
    assert.equal(lines.length, told.length, lines.join('\n'));
    for (const [i, line] of lines.entries()) assert.match(line, told[i] ?? /^$/);
    // In a batch with requests that break nothing, too.
    const together = await Promise.all([obey(server), send(server, rule), obey(server)]);
    if (expected === 'y') assert.equal(together[1], 'y');
    else assert.match(together[1], expected);
  });
}

test('every code of an error comes to the caller; an unknown one is UNKNOWN', { skip }, async (t) => {
  const server = await serving(t, { breaks: pluginModel('breaker', options) });
  const codes: string[] = [];
  for (let k = 0; k < 10; k++)
    codes.push((await send(server, 'all_codes')).replace(/ (?:model .*: )?code /, ' '));
  assert.deepEqual(codes.sort(), [
    'ALREADY_EXISTS 6',
    'CANCELLED 7',
    'INTERNAL 1',
    'INVALID_ARG 3',
    'NOT_FOUND 2',
    'UNAVAILABLE 4',
    'UNKNOWN -1',
    'UNKNOWN 0',
    'UNKNOWN 8',
    'UNSUPPORTED 5',
  ]);
});

for (const [where, fails] of [
  ['initialize', true],
  ['attribute', false],
  ['odd_attribute', false],
  ['finalize', false],
] as const)
  test(`the library's entry point fails: ${where}`, { skip }, async (t) => {
    const server = await serving(
      t,
      { breaks: pluginModel('breaker', options), same: identity() },
      { backendConfig: { breaker: { break: where } }, exitOnError: false },
    );
    const [breaks] = server.index();
    assert.equal(breaks?.state, fails ? 'UNAVAILABLE' : 'READY', breaks?.reason);
    if (fails) assert.match(breaks.reason ?? '', new RegExp(`broken: ${where}`));
    else await obey(server);
    await server.close();
  });

for (const [where, fails] of [
  ['model_initialize', true],
  ['instance_initialize', true],
  ['second_instance', true],
  ['instance_finalize', false],
  ['model_finalize', false],
  ['late_config', false],
] as const)
  test(`a model's entry point fails: ${where}`, { skip }, async (t) => {
    const server = await serving(
      t,
      {
        breaks: pluginModel('breaker', { ...options, instances: 2, parameters: { break: where } }),
        fine: pluginModel('breaker', options),
      },
      { modelControlMode: 'explicit', loadModels: ['fine'] },
    );
    for (let k = 0; k < 3; k++) {
      const loaded = server.loadModel('breaks');
      if (fails) {
        const error = await rejection(loaded);
        assert.match(error.message, new RegExp(`broken: ${where}`));
      } else {
        await loaded;
        const lines = await obey(server, 'breaks');
        if (where === 'late_config')
          for (const line of lines) assert.match(line, refused('ModelSetConfig', 'only during'));
        await server.unloadModel('breaks');
      }
      await obey(server, 'fine');
    }
  });

// Each waits for time limits.
void suite('a request that is kept', { concurrency: true }, () => {
  for (const rule of ['forgotten', 'unreleased', 'response_kept', 'never_returns'])
    test(`a request is never given back: ${rule}`, { skip }, async (t) => {
      const models = { breaks: pluginModel('breaker', options), same: identity() };
      const repository = await writeRepository(await temporaryFolder(t), models);
      const server = await createServer(repository, { backendDirectory: pluginFolder });
      // The caller may leave.
      const abort = new AbortController();
      const { signal } = abort;
      const left = rejection(server.infer('breaks', { x: [[1]] }, { parameters: { break: rule }, signal }));
      if (rule !== 'never_returns') await obey(server);
      abort.abort();
      assert.equal((await left).code, 'CANCELLED');
      const lost = send(server, rule);
      // The end of the server waits for its limit, and not for ever.
      const error = await rejection(server.close({ timeoutMs: 200 }));
      assert.match(error.message, /'breaks' did not return/);
      assert.match(await lost, /^(UNAVAILABLE|CANCELLED|INTERNAL) .*breaks/);
    });
});

// Each waits for time limits.
void suite('a request that is kept by a model that ends', { concurrency: true }, () => {
  for (const rule of ['forgotten', 'response_kept', 'never_returns'])
    test(
      `an unload and a reload end a model that never gives a request back: ${rule}`,
      { skip },
      async (t) => {
        const models = { breaks: pluginModel('breaker', options), same: identity() };
        const repository = await writeRepository(await temporaryFolder(t), models);
        const { logger, lines } = recorded();
        const server = await createServer(repository, {
          backendDirectory: pluginFolder,
          modelControlMode: 'explicit',
          loadModels: ['*'],
          workers: { unloadTimeoutMs: 50 },
          logger,
        });
        const lost = send(server, rule);
        // The request has reached the plug-in, or is on its way to it.
        if (rule !== 'never_returns') await obey(server);
        await server.unloadModel('breaks');
        assert.match(await lost, /^(CANCELLED|INTERNAL) .*breaks/);
        assert.ok(
          lines.some((line) => line.startsWith("warn: model 'breaks', version 1: ")),
          lines.join('\n'),
        );
        // It can be loaded again, and replaced while the plug-in has a request.
        await server.loadModel('breaks');
        await obey(server);
        const again = send(server, rule);
        if (rule !== 'never_returns') await obey(server);
        await server.loadModel('breaks', {
          config: JSON.stringify({
            ...server.model('breaks').config,
            version_policy: undefined,
            max_batch_size: 4,
            dynamic_batching: {},
          }),
        });
        await obey(server);
        assert.match(await again, /^(CANCELLED|INTERNAL) .*breaks/);
        assert.equal(
          floats(await server.infer('same', { x: [Array.from({ length: 16 }, () => 1)] })).length,
          16,
        );
        const error = await rejection(server.close());
        assert.match(error.message, /'breaks' did not return/);
      },
    );
});

test('a handle of an earlier batch is refused', { skip }, async (t) => {
  const server = await serving(t, { breaks: pluginModel('breaker', options) });
  for (let k = 0; k < 12; k++) {
    assert.equal(await send(server, 'stale_request'), 'y');
    const lines = await obey(server);
    assert.equal(lines.length, k === 0 ? 0 : 2, lines.join('\n'));
    for (const line of lines)
      assert.match(line, refused('Request(?:InputCount|Release)', 'does not have this request'));
  }
});

for (const [where, expected] of [
  ['list_as_config', /^INVALID_ARG .*expected a JSON object.*\[1\]/],
  ['odd_config', /^INVALID_ARG TRITONBACKEND_ModelSetConfig of model 'breaks': max_batch_size: /],
  ['loads_itself', /^UNAVAILABLE .*'breaks'.*wait for itself/],
] as const)
  test(`a model asks for what makes no sense while it is loaded: ${where}`, { skip }, async (t) => {
    const server = await serving(
      t,
      {
        breaks: pluginModel('breaker', { ...options, parameters: { break: where } }),
        fine: pluginModel('breaker', options),
      },
      { modelControlMode: 'explicit', loadModels: ['fine'] },
    );
    const { code, message } = await rejection(server.loadModel('breaks'));
    assert.match(`${code} ${message}`, expected);
    await obey(server, 'fine');
  });

// Each waits for time limits.
void suite('a finaliser that hangs', { concurrency: true }, () => {
  for (const where of ['instance_finalize_hangs', 'model_finalize_hangs'])
    test(`an unload ends although a finaliser never returns: ${where}`, { skip }, async (t) => {
      const models = {
        breaks: pluginModel('breaker', { ...options, parameters: { break: where } }),
        fine: pluginModel('breaker', options),
      };
      const repository = await writeRepository(await temporaryFolder(t), models);
      const server = await createServer(repository, {
        backendDirectory: pluginFolder,
        modelControlMode: 'explicit',
        loadModels: ['breaks', 'fine'],
        workers: { unloadTimeoutMs: 100 },
      });
      await obey(server);
      await server.unloadModel('breaks');
      await obey(server, 'fine');
      // The library is not blocked.
      await server.loadModel('breaks');
      await obey(server);
      const error = await rejection(server.close({ timeoutMs: 200 }));
      assert.match(error.message, /'breaks' did not return/);
    });
});

test('a caller who leaves is seen by the plug-in', { skip }, async (t) => {
  const server = await serving(t, { breaks: pluginModel('breaker', options) });
  await obey(server);
  const abort = new AbortController();
  const given = rejection(
    server.infer('breaks', { x: [[1]] }, { parameters: { break: 'awaits_cancel' }, signal: abort.signal }),
  );
  setImmediate(() => {
    abort.abort();
  });
  assert.equal((await given).code, 'CANCELLED');
  await obey(server);
});

test(
  'metrics that are no numbers, or have a name of the server, harm no other metric',
  { skip },
  async (t) => {
    const server = await serving(t, { breaker: pluginModel('breaker', options) });
    await server.infer('breaker', { x: [[1]] }, { parameters: { break: 'metrics' } });
    const text = server.metrics();
    assert.match(text, /^breaker_level (NaN|\+Inf)$/m);
    const own = text.split('\n').filter((line) => line.startsWith('nv_inference_count'));
    assert.deepEqual(own.length, 1, own.join('\n'));
    assert.match(own[0] ?? '', /^nv_inference_count\{model="breaker",version="1"\} \d+$/);
    assert.equal(text.split('# TYPE nv_inference_count ').length, 2);
  },
);
