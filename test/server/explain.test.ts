/** `server.explain`: the reasons of the last batches, and the limit of throughput. */

import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { inspect } from 'node:util';
import { attachServer, type Explanation, type InferenceServer } from '../../src/index.js';
import type { NativeBatch, NativeBatches } from '../../src/addon/native/statistics.js';
import { explanationOf, type BatchingConfig } from '../../src/server/reports/explain.js';
import { gate, held } from '../faults/harness.js';
import {
  anyLength,
  chain,
  ensemble,
  identity,
  onnx,
  row,
  serve,
  thrown,
  turn,
  until,
  type ConfigOptions,
  type Context,
} from '../support/harness.js';

/** The explanation of `slow` when no request of it runs or waits. */
async function explained(server: InferenceServer, model = 'slow'): Promise<Explanation> {
  let explanation = server.explain(model);
  await until(() => {
    explanation = server.explain(model);
    return explanation.waiting === 0 && !explanation.batches.some(({ running }) => running);
  });
  return explanation;
}

/** The sizes and reasons of a model's batches, if the first request occupies it while the others arrive. */
async function batchesOf(
  t: Context,
  options: ConfigOptions,
  inputs: readonly Float32Array<ArrayBuffer>[],
): Promise<string[]> {
  const closed = await gate(t);
  const server = await serve(t, { slow: held(closed, options) });
  const ask = (x: Float32Array<ArrayBuffer>): Promise<unknown> => server.infer('slow', { x });
  const first = ask(row());
  await turn();
  const others = inputs.map(ask);
  await turn();
  const { batches, waiting, instances } = server.explain('slow');
  assert.deepEqual(
    [batches.map(({ running, size }) => [running, size]), waiting, instances],
    [[[true, 1]], inputs.length, { count: 1, busy: 1 }],
  );
  await closed.open();
  await Promise.all([first, ...others]);
  const explanation = await explained(server);
  return explanation.batches.slice(1).map(({ size, closedBy, left }) => `${size} ${closedBy} ${left}`);
}

void suite('why batches are closed', () => {
  test('full, and nothing more', async (t) => {
    assert.deepEqual(
      await batchesOf(
        t,
        { maxBatchSize: 4 },
        Array.from({ length: 5 }, () => row()),
      ),
      ['4 full 1', '1 nothingMore 0'],
    );
  });

  test('preferred', async (t) => {
    const options = { maxBatchSize: 4, batching: 'preferred_batch_size: [ 2 ]' };
    assert.deepEqual(await batchesOf(t, options, [row(), row(), row()]), [
      '2 preferred 1',
      '1 nothingMore 0',
    ]);
  });

  test('shape', async (t) => {
    const inputs = [row(), row(0, 8)];
    assert.deepEqual(await batchesOf(t, { ...anyLength, maxBatchSize: 4 }, inputs), [
      '1 shape 1',
      '1 nothingMore 0',
    ]);
  });

  test('delay', async (t) => {
    const batching = 'max_queue_delay_microseconds: 1000';
    const server = await serve(t, { slow: identity({ maxBatchSize: 4, batching }) });
    await server.infer('slow', { x: row() });
    const { batches, closedBy } = await explained(server);
    assert.deepEqual(
      batches.map(({ size, closedBy }) => [size, closedBy]),
      [[1, 'delay']],
    );
    assert.ok((batches[0]?.waitUs ?? 0) >= 1000);
    assert.equal(closedBy.delay, 1);
  });
});

test('a model that never ran says so', async (t) => {
  const server = await serve(t, { echo: identity() });
  const { limit, summary, batches, closedBy, instances, meanBatchSize, version } = server.explain('echo');
  assert.deepEqual(
    [limit, summary, batches, instances, meanBatchSize, version],
    ['nothing', 'No request has come yet.', [], { count: 1, busy: 0 }, 0, '1'],
  );
  assert.equal(
    Object.values(closedBy).reduce((sum, count) => sum + count, 0),
    0,
  );
});

test('batches of a warm-up are left out', async (t) => {
  const more =
    'model_warmup { name: "w" batch_size: 1 inputs { key: "x" value { data_type: TYPE_FP32 dims: [ 16 ] zero_data: true } } }';
  const server = await serve(t, { echo: identity({ more }) });
  assert.deepEqual(server.explain('echo').batches, []);
});

test('what ran inline is told', async (t) => {
  const server = await serve(t, { add: onnx() }, { inline: 10_000 });
  await until(async () => {
    await server.infer('add', { x: row() });
    return server.explain('add').inline > 0;
  });
  const { inline, batches } = server.explain('add');
  assert.equal(inline, batches.filter((batch) => batch.inline).length);
});

test('the last 64 batches are kept', async (t) => {
  const server = await serve(t, { slow: identity({ maxBatchSize: 2 }) });
  for (let i = 0; i < 70; i++) await server.infer('slow', { x: row(0, i < 10 ? 16 : 32) });
  const { batches, meanBatchSize, closedBy } = await explained(server);
  assert.deepEqual([batches.length, meanBatchSize, closedBy.full], [64, 1.938, 60]);
});

test('an attached server tells the same', async (t) => {
  const owner = await serve(t, { slow: identity() });
  const attached = await attachServer(owner.handle);
  t.after(() => attached.close({ timeoutMs: 0 }));
  await owner.infer('slow', { x: row() });
  const { batches, version } = await explained(owner);
  const other = await explained(attached);
  assert.deepEqual([other.batches, other.version], [batches, version]);
});

test('a version may be named', async (t) => {
  const config = `${identity().config}\nversion_policy { all { } }`;
  const server = await serve(t, { two: { config, versions: { '1': {}, '2': {} } } });
  await server.infer('two', { x: row() }, { version: 1 });
  assert.equal((await explained(server, 'two')).limit, 'nothing');
  const { version, batches } = server.explain('two', { version: 1 });
  assert.deepEqual([version, batches.length], ['1', 1]);
});

test('models that are not served, and wrong arguments, are errors', async (t) => {
  const server = await serve(t, { echo: identity() }, { modelControlMode: 'explicit', loadModels: ['echo'] });
  const error = thrown(() => server.explain('ecko'));
  assert.equal(error.code, 'NOT_FOUND');
  assert.match(error.message, /^unknown model 'ecko' \(did you mean echo\?\)/);
  assert.equal(thrown(() => server.explain('echo', { version: 2 })).code, 'NOT_FOUND');
  assert.equal(thrown(() => server.explain(7 as unknown as string)).code, 'INVALID_ARG');
  assert.equal(thrown(() => server.explain('echo', { versoin: 1 } as object)).code, 'INVALID_ARG');
  await server.unloadModel('echo');
  const unloaded = thrown(() => server.explain('echo'));
  assert.deepEqual(
    [unloaded.code, unloaded.message],
    ['NOT_FOUND', "model 'echo' is not available: it was unloaded"],
  );
  await server.close();
  assert.equal(thrown(() => server.explain('echo')).code, 'UNAVAILABLE');
});

test('an ensemble forms no batches, and the error names a step to explain', async (t) => {
  const server = await serve(t, { echo: identity(), whole: ensemble(chain(['echo'])) });
  const error = thrown(() => server.explain('whole'));
  assert.equal(error.code, 'UNSUPPORTED');
  assert.match(error.message, /^model 'whole' is an ensemble, .* such as 'echo'$/);
});

test('console.log shows the verdict and the last sizes, JSON every batch', async (t) => {
  const server = await serve(t, { slow: identity() });
  await server.infer('slow', { x: row() });
  const explanation = await explained(server);
  assert.match(inspect(explanation), /summary: '[^]*batches: '1, the last: 1 nothingMore'/);
  assert.equal((JSON.parse(JSON.stringify(explanation)) as Explanation).batches.length, 1);
  assert.deepEqual(structuredClone(explanation), explanation);
});

void suite('the verdict', () => {
  const config: BatchingConfig = { name: 'm', version: '1', maxBatchSize: 8, dynamic: true };
  const reasons = ['full', 'preferred', 'delay', 'shape', 'nothingMore', 'priority', 'custom'];
  /** Ten batches of 1 ms one after the other, with pauses, that end now unless `idleMs` is given. */
  const history = (
    rows: number,
    reason: string,
    { pauseMs = 0, idleMs = 0, instances = 1 } = {},
  ): NativeBatches => ({
    instances,
    waiting: 0,
    held: 0,
    batches: Array.from({ length: 10 }, (_, i): NativeBatch => ({
      rows,
      requests: rows,
      left: 0,
      instance: 0,
      closedBy: reasons.indexOf(reason),
      inline: false,
      ended: true,
      waitNs: 2e6,
      runNs: 1e6,
      endedAgoNs: ((9 - i) * (1 + pauseMs) + idleMs) * 1e6,
    })),
  });
  const told = (native: NativeBatches, own: Partial<BatchingConfig> = {}): [string, string] => {
    const { limit, summary } = explanationOf({ ...config, ...own }, native, []);
    return [limit, summary];
  };
  const busy = '1 of 1 instances were busy over the last 10 batches';
  const small = 'their batches had 2 of 8 rows on average';

  for (const [name, [limit, summary], expected, sentence] of [
    [
      'idle for longer than all batches took: callers',
      told(history(8, 'full', { idleMs: 20 })),
      'callers',
      'No batch has run for 20 ms: the callers send nothing.',
    ],
    [
      'pauses: callers',
      told(history(2, 'nothingMore', { pauseMs: 3 })),
      'callers',
      '0.27 of 1 instances were busy over the last 10 batches: the callers send too little to keep them busy.',
    ],
    [
      'pauses, and batches that the delay closes: delay',
      told(history(2, 'delay', { pauseMs: 3 })),
      'delay',
      '0.27 of 1 instances were busy over the last 10 batches: requests wait 2 ms on average for others to join them, and 10 batches ran when max_queue_delay_microseconds was over.',
    ],
    [
      'one of two instances idle: callers',
      told(history(8, 'full', { instances: 2 })),
      'callers',
      '1 of 2 instances were busy over the last 10 batches: the callers send too little to keep them busy.',
    ],
    [
      'busy with full batches: instances',
      told(history(8, 'full')),
      'instances',
      `${busy}, and their batches had 8 of 8 rows on average: add an instance, or a faster model.`,
    ],
    [
      'a model that takes one request: instances',
      told(history(1, 'full'), { maxBatchSize: 0 }),
      'instances',
      `${busy}, and the model takes one request at a time: add an instance, or a faster model.`,
    ],
    [
      'no dynamic_batching: batching',
      told(history(1, 'full'), { dynamic: false }),
      'batching',
      `${busy}, and their batches had 1 of 8 rows on average: without dynamic_batching every request is a batch.`,
    ],
    ...(
      [
        ['full', 'the next request did not fit'],
        ['preferred', 'they had a preferred size'],
        ['delay', 'max_queue_delay_microseconds was over'],
        ['shape', 'the next request had another shape'],
        ['nothingMore', 'nothing else waited, so the callers send too few at a time'],
        ['priority', 'the next request had another priority level'],
        ['custom', 'the plug-in did not want the next request with them'],
      ] as const
    ).map(
      ([reason, because]) =>
        [
          `small batches, closed by ${reason}: batching`,
          told(history(2, reason)),
          'batching',
          `${busy}, and ${small}: 10 were closed because ${because}.`,
        ] as const,
    ),
  ] as const) {
    test(name, () => {
      assert.deepEqual([limit, summary], [expected, sentence]);
    });
  }

  test('requests that wait for company before the first batch: delay', () => {
    assert.deepEqual(told({ instances: 1, waiting: 3, held: 0, batches: [] }), [
      'delay',
      '3 requests wait, and no batch has begun: they wait for others to join them.',
    ]);
  });

  test('sequences that wait for a slot: slots', () => {
    const [begun, idled, expired, cancelled, broken, stateBytes] = [7, 0, 0, 0, 0, 0];
    const sequences = {
      slots: 4,
      live: 4,
      idle: 3,
      backlog: 2,
      begun,
      idled,
      expired,
      cancelled,
      broken,
      stateBytes,
    };
    assert.deepEqual(told({ instances: 1, waiting: 2, held: 0, sequences, batches: [] }), [
      'slots',
      '2 sequences wait for one of 4 slots, and 3 of the sequences in them have no request: ' +
        'end sequences with END, shorten max_sequence_idle_microseconds, or configure more slots.',
    ]);
  });
});
