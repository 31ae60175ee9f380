/** Batching of a plug-in's own: beside cancellations, preferred sizes and priorities, and when its functions fail. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { InferenceServer } from '../../../src/index.js';
import { rejection, until } from '../../support/harness.js';
import { recorded } from '../../python/harness.js';
import { pluginModel, serving, skip } from './own-plugins.js';

const options = {
  maxBatchSize: 64,
  inputs: [{ name: 'x', dims: [1] }],
  outputs: [
    { name: 'y', dims: [1] },
    { name: 'size', datatype: 'INT32', dims: [1] },
  ],
} as const;
/** A batch has three requests of 4 bytes. The delay lets them come together. */
const batching = 'max_queue_delay_microseconds: 100000';
const three = { most_bytes: 12 };

/** How many requests ran together with each of these. */
async function sizes(server: InferenceServer, name: string, count: number): Promise<number[]> {
  const answers = await Promise.all(
    Array.from({ length: count }, (_, k) => server.infer(name, { x: [[k]] })),
  );
  for (const [k, { outputs }] of answers.entries()) assert.deepEqual([...(outputs['y']?.data ?? [])], [k]);
  return answers.map(({ outputs }) => Number(outputs['size']?.data[0]));
}

for (const how of ['error', 'throws'] as const) {
  const said = how === 'error' ? 'broken' : 'thrown by';
  test(`functions that decide about batches fail: ${how}`, { skip }, async (t) => {
    const { logger, lines } = recorded();
    const model = (fails: string): ReturnType<typeof pluginModel> =>
      pluginModel('batcher', { ...options, batching, parameters: { ...three, fails, how } });
    const server = await serving(
      t,
      {
        begin: model('batch_initialize'),
        include: model('include'),
        end: model('batch_finalize'),
        none: model('batcher_initialize'),
      },
      { modelControlMode: 'explicit', loadModels: ['begin', 'include', 'end'], logger },
    );
    const alone = Array<number>(6).fill(1);
    assert.deepEqual(await sizes(server, 'begin', 6), alone);
    assert.deepEqual(await sizes(server, 'include', 6), alone);
    assert.deepEqual(await sizes(server, 'end', 6), Array<number>(6).fill(3));
    await new Promise((resolve) => setTimeout(resolve, 50));
    const told = lines.filter((line) => line.includes('failed (')).sort();
    assert.equal(told.length, 3, told.join('\n'));
    const [begin = '', end = '', include = ''] = told;
    assert.match(
      begin,
      new RegExp(`'begin': TRITONBACKEND_ModelBatchInitialize failed \\(requests run alone\\): .*${said}`),
    );
    assert.match(
      end,
      new RegExp(
        `'end': TRITONBACKEND_ModelBatchFinalize failed \\(the batch runs all the same\\): .*${said}`,
      ),
    );
    assert.match(
      include,
      new RegExp(
        `'include': TRITONBACKEND_ModelBatchIncludeRequest failed \\(requests run alone\\): .*${said}`,
      ),
    );
    // Nothing of a model is left whose batcher was not made, and the library serves others.
    const error = await rejection(server.loadModel('none'));
    assert.match(error.message, new RegExp(`model 'none'.*${said}.*batcher_initialize`));
    assert.deepEqual(await sizes(server, 'end', 3), [3, 3, 3]);
  });
}

test('a batcher ends with its model, once, whatever its finaliser does', { skip }, async (t) => {
  const { logger, lines } = recorded();
  const model = (bytes: number, fails = '', how = ''): ReturnType<typeof pluginModel> =>
    pluginModel('batcher', { ...options, batching, parameters: { most_bytes: bytes, fails, how } });
  const server = await serving(
    t,
    {
      good: model(12),
      fails: model(13, 'batcher_finalize'),
      throws: model(14, 'batcher_finalize', 'throws'),
      none: model(15, 'batcher_initialize'),
    },
    { modelControlMode: 'explicit', logger },
  );
  const ended = (bytes: number): number =>
    lines.filter((line) => line.includes(`a batcher of ${bytes} bytes has ended`)).length;
  await rejection(server.loadModel('none'));
  for (const [bytes, name] of [
    [12, 'good'],
    [13, 'fails'],
    [14, 'throws'],
    [12, 'good'],
  ] as const) {
    const before = ended(bytes);
    await server.loadModel(name);
    assert.deepEqual(await sizes(server, name, 3), [3, 3, 3]);
    assert.equal(ended(bytes), before);
    await server.unloadModel(name);
    await until(() => ended(bytes) > before);
  }
  await server.close();
  assert.deepEqual([12, 13, 14, 15].map(ended), [2, 1, 1, 0]);
});

test('requests that are cancelled while they wait are in no batch of the plug-in', { skip }, async (t) => {
  const server = await serving(t, {
    three: pluginModel('batcher', { ...options, batching, parameters: three }),
  });
  const leaving = new AbortController();
  const requests = Array.from({ length: 8 }, (_, k) =>
    server.infer('three', { x: [[k]] }, k % 4 === 0 ? { signal: leaving.signal } : {}),
  );
  leaving.abort();
  const outcomes = await Promise.allSettled(requests);
  for (const [k, outcome] of outcomes.entries()) {
    if (k % 4 === 0) {
      assert.equal(outcome.status, 'rejected');
      continue;
    }
    assert.ok(outcome.status === 'fulfilled');
    assert.deepEqual([...(outcome.value.outputs['y']?.data ?? [])], [k]);
    assert.ok(Number(outcome.value.outputs['size']?.data[0]) <= 3);
  }
});

test('a preferred size that the plug-in does not allow is not reached', { skip }, async (t) => {
  const server = await serving(t, {
    four: pluginModel('batcher', {
      ...options,
      batching: `preferred_batch_size: [ 4 ] ${batching}`,
      parameters: three,
    }),
    two: pluginModel('batcher', {
      ...options,
      batching: `preferred_batch_size: [ 2 ] ${batching}`,
      parameters: three,
    }),
  });
  assert.deepEqual(await sizes(server, 'four', 6), Array<number>(6).fill(3));
  for (const size of await sizes(server, 'two', 6)) assert.ok(size <= 3, `${size}`);
});

test('the plug-in is asked about requests in the order of their priorities', { skip }, async (t) => {
  const server = await serving(t, {
    levels: pluginModel('batcher', {
      ...options,
      batching: `${batching} priority_levels: 2 default_priority_level: 2`,
      parameters: three,
      instances: 1,
    }),
  });
  const ended: string[] = [];
  const send = (k: number, priority: number): Promise<unknown> =>
    server.infer('levels', { x: [[k]] }, { priority }).then(({ outputs }) => {
      assert.deepEqual([...(outputs['y']?.data ?? [])], [k]);
      ended.push(`${priority}`);
    });
  await Promise.all([0, 1, 2, 3, 4, 5].map((k) => send(k, k < 3 ? 2 : 1)));
  assert.equal(ended.length, 6);
  const { execution_count: runs } = server.model('levels').statistics();
  assert.ok(runs >= 2);
});

test('a sequence batcher that would not ask the plug-in is refused', { skip }, async (t) => {
  const of = (kind: string): ReturnType<typeof pluginModel> =>
    pluginModel('batcher', {
      ...options,
      batching: false,
      parameters: three,
      more: `sequence_batching { ${kind} { } }`,
    });
  const server = await serving(
    t,
    { oldest: of('oldest'), direct: of('direct') },
    { modelControlMode: 'explicit' },
  );
  const error = await rejection(server.loadModel('oldest'));
  assert.match(error.message, /'oldest'.*custom batching.*sequence_batching \{ oldest \}/);
  await server.loadModel('direct');
  const { outputs } = await server.infer(
    'direct',
    { x: [[7]] },
    { sequence: { id: 1n, start: true, end: true } },
  );
  assert.deepEqual([...(outputs['y']?.data ?? [])], [7]);
});
