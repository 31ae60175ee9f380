/** The channel `tritonts:sequence:idle`: sequences that the server has ended, because no request came. */

import assert from 'node:assert/strict';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { test } from 'node:test';
import * as fates from '../../src/addon/sequence-fates.js';
import { createServer, type SequenceMessage } from '../../src/index.js';
import { header } from '../addon/native-headers.js';
import { until } from '../support/harness.js';

const name = 'tritonts:sequence:idle';

test('sequences that idle out are told of, and no others', async (t) => {
  const heard: SequenceMessage[] = [];
  // The package publishes messages of one type to the channel.
  const listener = (message: unknown): void => void heard.push(message as SequenceMessage);
  const server = await createServer({
    models: {
      short: {
        config: {
          max_batch_size: 4,
          input: [{ name: 'x', data_type: 'TYPE_FP32', dims: [1] }],
          output: [{ name: 'y', data_type: 'TYPE_FP32', dims: [1] }],
          sequence_batching: { max_sequence_idle_microseconds: 50_000 },
        },
        execute: (requests) => requests.map(({ inputs }) => ({ y: inputs['x'] })),
      },
    },
  });
  t.after(() => server.close());
  const model = server.model('short');
  const x = [[1]];
  await model.infer({ x }, { sequence: { id: 'unheard', start: true } });
  subscribe(name, listener);
  t.after(() => {
    unsubscribe(name, listener);
  });
  await model.infer({ x }, { sequence: { id: 'text', start: true } });
  await model.infer({ x }, { sequence: { id: 7, start: true } });
  await model.infer({ x }, { sequence: { id: 'whole', start: true, end: true } });
  const sequence = model.sequence();
  await sequence.infer({ x });
  await until(() => heard.length === 3);
  const byId = (id: bigint | string): SequenceMessage => ({ model: 'short', version: '1', id });
  assert.deepEqual(new Set(heard.map(({ id }) => id)), new Set(['text', 7n, sequence.id]));
  assert.deepEqual(
    heard.find(({ id }) => id === 'text'),
    byId('text'),
  );
  // The first one had ended without a subscriber.
  await until(() => server.explain('short').sequences?.idled === 4);
  assert.equal(heard.length, 3);
});

test("the numbers of fates are the engine's", async () => {
  const text = await header('scheduling/sequence_counts.h');
  const list = /enum class SequenceFate : uint8_t \{([^}]*)\}/.exec(text)?.[1] ?? '';
  const names = [...list.matchAll(/^ {2}k(\w+),/gm)].map(([, one]) => `sequence${one}`);
  const numbers = Object.entries(fates).sort(([, one], [, other]) => one - other);
  assert.deepEqual(
    names,
    numbers.map(([one]) => one),
  );
});
