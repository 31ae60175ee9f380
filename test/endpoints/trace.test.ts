/** Trace settings over HTTP and gRPC: the same requests, and answers that mean the same. */

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { provideHost } from '../../src/endpoints/service/host.js';
import { controlOf } from '../../src/endpoints/service/trace-settings.js';
import { attachServer, type InferenceServer } from '../../src/index.js';
import type { TraceConfig } from '../../src/trace-config.js';
import { identity, rejection, row, serve, type Context } from '../support/harness.js';
import { temporaryFolder } from '../support/repository.js';
import { endpointOf as grpcOf, failure, foreign } from './grpc/harness.js';
import { ask, endpointOf as httpOf, errorOf, json } from './http/harness.js';

/** Settings by Triton's names; null clears. */
type Changes = Readonly<Record<string, string | readonly string[] | null>>;

/** All settings, with texts. */
type Reply = Readonly<Record<string, string | readonly string[]>>;

/** One protocol's way to read and change settings. */
interface Caller {
  /** @param changes - Undefined: only read. */
  settings(changes?: Changes, model?: string): Promise<Reply>;
  /** The error's text, which has the code of INVALID_ARG or the given one. */
  refusal(changes: Changes | undefined, model?: string, code?: 'UNSUPPORTED' | 'NOT_FOUND'): Promise<string>;
  extensions(): Promise<readonly string[]>;
}

async function overHttp(t: Context, server: InferenceServer): Promise<Caller> {
  const endpoint = await httpOf(t, server);
  const statuses = { INVALID_ARG: 400, UNSUPPORTED: 501, NOT_FOUND: 404 };
  const call = (changes: Changes | undefined, model: string | undefined): ReturnType<typeof ask> =>
    ask(
      endpoint,
      model === undefined ? '/v2/trace/setting' : `/v2/models/${model}/trace/setting`,
      changes === undefined ? { method: 'GET' } : { method: 'POST', body: changes },
    );
  return {
    settings: async (changes, model) => json(await call(changes, model)) as Reply,
    refusal: async (changes, model, code) =>
      errorOf(await call(changes, model), statuses[code ?? 'INVALID_ARG']),
    extensions: async () => (json(await ask(endpoint, '/v2')) as { extensions: string[] }).extensions,
  };
}

async function overGrpc(t: Context, server: InferenceServer): Promise<Caller> {
  const client = await foreign(t, await grpcOf(t, server));
  const codes = { INVALID_ARG: 3, UNSUPPORTED: 12, NOT_FOUND: 5 };
  const call = (changes: Changes | undefined, model = ''): Promise<Record<string, unknown>> =>
    client.call('TraceSetting', {
      model_name: model,
      settings: Object.fromEntries(
        Object.entries(changes ?? {}).map(([name, value]) => [
          name,
          { value: value === null ? [] : [value].flat() },
        ]),
      ),
    });
  return {
    settings: async (changes, model) => {
      const { settings } = await call(changes, model);
      const entries = Object.entries(settings as Record<string, { value?: string[] }>);
      return Object.fromEntries(
        entries.map(([name, { value = [] }]) => [name, name === 'trace_level' ? value : (value[0] ?? '')]),
      );
    },
    refusal: async (changes, model, code) => {
      const error = await failure(call(changes, model));
      assert.equal(error.code, codes[code ?? 'INVALID_ARG'], error.details);
      return error.details;
    },
    extensions: async () => (await client.call('ServerMetadata'))['extensions'] as string[],
  };
}

async function traced(t: Context, config: TraceConfig = {}): Promise<InferenceServer> {
  return serve(t, { m: identity(), other: identity() }, { traceConfig: config });
}

const start = {
  trace_level: ['OFF'],
  ...{ trace_rate: '1000', trace_count: '-1', log_frequency: '0', trace_file: '', trace_mode: 'triton' },
};

for (const [protocol, callerOf] of [
  ['HTTP', overHttp],
  ['gRPC', overGrpc],
] as const) {
  void suite(`trace settings over ${protocol}`, () => {
    test('what a server has that was given none', async (t) => {
      const caller = await callerOf(t, await traced(t));
      assert.deepEqual(await caller.settings(), start);
      assert.deepEqual(await caller.settings(undefined, 'm'), start);
      const extensions = await caller.extensions();
      assert.deepEqual(extensions.slice(-2), ['statistics', 'trace']);
    });

    test('settings of all models and of one, changed and cleared', async (t) => {
      const file = join(await temporaryFolder(t), 'trace.json');
      const caller = await callerOf(t, await traced(t, { file }));
      const first = { ...start, trace_file: file };
      const on = { ...first, trace_level: ['TIMESTAMPS'] };
      assert.deepEqual(await caller.settings({ trace_level: ['TIMESTAMPS'] }), on);
      assert.deepEqual(await caller.settings({ trace_rate: '5' }, 'm'), { ...on, trace_rate: '5' });
      assert.deepEqual(await caller.settings(undefined, 'other'), on);
      const changes = {
        trace_rate: '7',
        trace_count: '3',
        log_frequency: '2',
        trace_level: ['TENSORS', 'TIMESTAMPS'],
      };
      const changed = { ...first, ...changes, trace_level: ['TIMESTAMPS', 'TENSORS'] };
      assert.deepEqual(await caller.settings(changes), changed);
      assert.deepEqual(await caller.settings(undefined, 'm'), { ...changed, trace_rate: '5' });
      assert.deepEqual(await caller.settings({ trace_rate: null }, 'm'), changed);
      assert.deepEqual(
        await caller.settings({
          trace_rate: null,
          trace_count: null,
          log_frequency: null,
          trace_level: null,
        }),
        first,
      );
      assert.deepEqual(await caller.settings(undefined, 'm'), first);
    });

    test('what follows digits, unknown names and unknown levels do not count', async (t) => {
      const caller = await callerOf(t, await traced(t));
      const changes = { trace_rate: '12abc', trace_count: ' +4', whatever: 'x', trace_mode: 'opentelemetry' };
      const changed = { ...start, trace_rate: '12', trace_count: '4' };
      assert.deepEqual(await caller.settings(changes), changed);
      assert.deepEqual(await caller.settings({ trace_level: ['timestamps', 'MAX'] }), changed);
      assert.deepEqual(await caller.settings({ log_frequency: '4294967295' }), {
        ...changed,
        log_frequency: '4294967295',
      });
    });

    test('what is refused, with the texts of Triton', async (t) => {
      const server = await traced(t);
      const caller = await callerOf(t, server);
      for (const [changes, text] of [
        [{ trace_rate: 'abc' }, "Unable to parse 'trace_rate', got: abc"],
        [{ trace_rate: '' }, "Unable to parse 'trace_rate', got: "],
        [
          { trace_rate: '4294967296' },
          "Unable to parse 'trace_rate', value is out of range [ 0, 4294967295 ], got: 4294967296",
        ],
        [
          { trace_rate: '-1' },
          "Unable to parse 'trace_rate', value is out of range [ 0, 4294967295 ], got: -1",
        ],
        [{ trace_count: 'x' }, "Unable to parse 'trace_count', got: x"],
        [{ trace_count: '-2' }, "Unable to parse 'trace_count'. Expecting value >= -1, got: -2"],
        [
          { trace_count: '2147483648' },
          "Unable to parse 'trace_count', value is out of range [ -1, 2147483647 ], got: 2147483648",
        ],
        [{ log_frequency: 'x' }, "Unable to parse 'log_frequency', got: x"],
        [
          { log_frequency: '99999999999' },
          "Unable to parse 'log_frequency', value is out of range [ 0, 4294967295 ], got: 99999999999",
        ],
        [{ trace_level: ['OFF', 'TIMESTAMPS'] }, "Expect only one trace level 'OFF' is specified"],
        [
          { trace_level: ['TIMESTAMPS'] },
          'Attempting to set invalid trace setting :trace file name is not given',
        ],
        [
          { trace_level: ['TENSORS'], trace_rate: '0' },
          'Attempting to set invalid trace setting :sample rate must be non-zero',
        ],
      ] as const) {
        assert.equal(await caller.refusal(changes), text);
        assert.equal(await caller.refusal(changes, 'm'), text);
      }
      const unsupported = 'trace file location can not be updated through network protocol';
      assert.equal(await caller.refusal({ trace_file: 'x' }, undefined, 'UNSUPPORTED'), unsupported);
      for (const changes of [undefined, { trace_rate: '1' }])
        assert.match(await caller.refusal(changes, 'none', 'NOT_FOUND'), /unknown model 'none'/);
      assert.deepEqual(await caller.settings(), start);
      assert.deepEqual(await caller.settings(undefined, 'm'), start);
    });

    test('a model that is not ready has no settings', async (t) => {
      const server = await serve(t, { m: identity() }, { modelControlMode: 'explicit', loadModels: [] });
      const caller = await callerOf(t, server);
      for (const changes of [undefined, { trace_rate: '1' }])
        assert.equal(await caller.refusal(changes, 'm'), 'Request for unknown model : m');
    });

    test('in mode opentelemetry there is no file, but there are the options of the exporter', async (t) => {
      const openTelemetry = { url: 'http://localhost:1/v1/traces', resource: { a: 'b' }, scheduleDelayMs: 7 };
      const caller = await callerOf(t, await traced(t, { mode: 'opentelemetry', rate: 0, openTelemetry }));
      // As in Triton, this may be set, and is not shown.
      await caller.settings({ log_frequency: '5' });
      assert.deepEqual(await caller.settings(), {
        ...{ trace_level: ['OFF'], trace_rate: '0', trace_count: '-1', trace_mode: 'opentelemetry' },
        ...{ bsp_max_export_batch_size: '512', bsp_max_queue_size: '2048', bsp_schedule_delay: '7' },
        ...{ resource: 'service.name=triton-inference-server,a=b', url: 'http://localhost:1/v1/traces' },
      });
    });
  });
}

test('values of the wrong JSON type are refused', async (t) => {
  const endpoint = await httpOf(t, await traced(t));
  for (const [body, text] of [
    [{ trace_rate: 5 }, /expected a string for 'trace_rate'/],
    [{ trace_count: [] }, /expected a string for 'trace_count'/],
    [{ log_frequency: {} }, /expected a string for 'log_frequency'/],
    [{ trace_level: 'TIMESTAMPS' }, /expected an array for 'trace_level'/],
    [{ trace_level: [1] }, /expected a string for 'trace_level\[0\]'/],
    [[], /expected an object for 'request'/],
  ] as const)
    assert.match(errorOf(await ask(endpoint, '/v2/trace/setting', { body }), 400), text);
  assert.deepEqual(json(await ask(endpoint, '/v2/trace/setting', { method: 'POST' })), start);
});

test('gRPC takes one value for what is no list', async (t) => {
  const caller = await overGrpc(t, await traced(t));
  for (const name of ['trace_rate', 'trace_count', 'log_frequency'])
    assert.equal(await caller.refusal({ [name]: ['1', '2'] }), `expect only 1 value for '${name}'`);
});

test('the program reads and changes the same settings', async (t) => {
  const server = await traced(t);
  const caller = await overHttp(t, server);
  await caller.settings({ trace_rate: '9' }, 'm');
  const setting = { level: ['OFF'], rate: 9, count: -1, mode: 'triton', file: '', logFrequency: 0 };
  assert.deepEqual(server.trace.settings('m'), setting);
  assert.deepEqual(server.trace.update({ count: 2, rate: null, file: null }, 'm'), {
    ...setting,
    rate: 1000,
    count: 2,
  });
  assert.equal((await caller.settings(undefined, 'm'))['trace_count'], '2');
  for (const [update, model, text] of [
    [{ rate: -1 }, undefined, /trace settings\.rate/],
    [{ level: 'MIN' }, undefined, /trace settings\.level/],
    [{ mode: 'triton' }, undefined, /unknown key 'mode' in trace settings/],
    [{}, 'none', /unknown model 'none'/],
    [{}, '', /a model name for model/],
    [{}, 7, /a model name for model/],
    ['OFF', undefined, /an object for trace settings/],
  ] as const)
    assert.throws(() => server.trace.update(update as object, model as string), text);
});

test('an endpoint of an attached server has the settings that its host provides', async (t) => {
  const file = join(await temporaryFolder(t), 'trace.json');
  const server = await traced(t, { level: 'TIMESTAMPS', rate: 1, file });
  const plain = await attachServer(server.handle);
  t.after(() => plain.close());
  assert.throws(() => plain.trace, { code: 'UNSUPPORTED' });
  const without = await overHttp(t, plain);
  assert.match(await without.refusal(undefined, undefined, 'UNSUPPORTED'), /thread that made the server/);
  assert.equal((await without.extensions()).includes('trace'), false);
  const hosted = await attachServer(server.handle);
  t.after(() => hosted.close());
  provideHost(hosted, { trace: controlOf(server.trace) });
  const caller = await overHttp(t, hosted);
  assert.equal((await caller.settings({ trace_rate: '1' }, 'm'))['trace_rate'], '1');
  assert.equal((await caller.extensions()).at(-1), 'trace');
  const endpoint = await httpOf(t, plain);
  const body = { inputs: [{ name: 'x', datatype: 'FP32', shape: [1, 16], data: [...row()] }] };
  assert.equal((await ask(endpoint, '/v2/models/m/infer', { body })).status, 200);
  await endpoint.close();
  await server.close();
  assert.match(await readFile(file, 'utf8'), /HTTP_SEND_END/);
});

test('a handle without the memory of traces is refused', async (t) => {
  const { handle } = await traced(t);
  // A program may pass anything.
  const wrong = { ...handle, trace: new ArrayBuffer(4) as unknown as SharedArrayBuffer };
  assert.match((await rejection(attachServer(wrong))).message, /expected the handle of a server/);
});
