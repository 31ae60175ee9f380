/** The options priority, timeoutUs and parameters: the values that models get, and refused values. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { InferOptions } from '../../src/index.js';
import { asking, faulty } from '../faults/harness.js';
import { batchCountsAfter, configText, identity, rejection, row, serve } from '../support/harness.js';

test('a model is told priority, time-out and parameters, each of its kind', async (t) => {
  const server = await serve(t, { faulty: faulty() });
  const told = async (options: InferOptions): Promise<string> =>
    (await rejection(server.infer('faulty', asking('tells'), options))).message;
  assert.match(await told({}), /priority 0, timeout 0 ns$/);
  assert.match(
    await told({ priority: 2 ** 40 + 3, timeoutUs: 5_000_000_000 }),
    /priority 1099511627779, timeout 5000000000000 ns$/,
  );
  const parameters = {
    text: 'grüße',
    '': 'no name',
    small: -7,
    large: 2n ** 63n - 1n,
    least: -(2n ** 63n),
    share: 0.25,
    huge: 1e300,
    yes: true,
    no: false,
  };
  const text = await told({ parameters });
  for (const part of [
    "text = 'grüße'",
    " = 'no name'",
    'small = integer -7',
    'large = integer 9223372036854775807',
    'least = integer -9223372036854775808',
    'share = double 0.25',
    'huge = double 1000000000000000',
    'yes = true',
    'no = false',
  ]) {
    assert.ok(text.includes(part), `${part} is not in ${text}`);
  }
});

test('each request has its own, also where they were sent together and run together', async (t) => {
  const server = await serve(t, { faulty: faulty({ batching: '' }) });
  const requests = [1, 1, 2, 3].map((n) =>
    rejection(server.infer('faulty', asking('tells'), n === 3 ? {} : { priority: n, parameters: { n } })),
  );
  const messages = (await Promise.all(requests)).map(({ message }) => message);
  assert.match(messages[0] ?? '', /priority 1, timeout 0 ns, n = integer 1$/);
  assert.match(messages[1] ?? '', /priority 1, timeout 0 ns, n = integer 1$/);
  assert.match(messages[2] ?? '', /priority 2, timeout 0 ns, n = integer 2$/);
  assert.match(messages[3] ?? '', /priority 0, timeout 0 ns$/);
});

test('they keep no requests from running together', async (t) => {
  const server = await serve(t, {
    echo: identity({ batching: 'max_queue_delay_microseconds: 60000000', maxBatchSize: 4 }),
  });
  const options: InferOptions[] = [{}, { parameters: { a: 1 } }, { priority: 3 }, { timeoutUs: 9 }];
  await Promise.all(options.map((one) => server.infer('echo', { x: row() }, one)));
  assert.deepEqual(await batchCountsAfter(server, 'echo', 4), { 4: 1 });
});

test('wrong options reject and are named', async (t) => {
  const server = await serve(t, { echo: identity() });
  const cases: [options: unknown, message: RegExp][] = [
    [
      { priority: -1 },
      /expected an integer of at least 0 for options.priority but received -1 of type number/,
    ],
    [{ priority: 1.5 }, /options.priority but received 1.5/],
    [{ priority: 2 ** 53 }, /options.priority but received 9007199254740992/],
    [{ priority: '1' }, /options.priority but received "1" of type string/],
    [{ priority: 1n }, /options.priority but received 1 of type bigint/],
    [{ timeoutUs: NaN }, /expected an integer of at least 0 for options.timeoutUs but received NaN/],
    [{ timeout: 5 }, /unknown key 'timeout'/],
    [
      { parameters: 5 },
      /expected an object of strings, numbers and booleans for options.parameters but received 5/,
    ],
    [{ parameters: ['a'] }, /options.parameters but received an array/],
    [{ parameters: { a: null } }, /for options.parameters\['a'\] but received null/],
    [{ parameters: { a: {} } }, /for options.parameters\['a'\] but received an object/],
    [{ parameters: { a: 2n ** 63n } }, /a bigint of 64 bits for options.parameters\['a'\]/],
    [{ parameters: { priority: 1 } }, /must not have the name 'priority': write options.priority instead/],
    [{ parameters: { timeout: 1 } }, /'timeout': write options.timeoutUs instead/],
    [{ parameters: { sequence_id: 1 } }, /'sequence_id': write options.sequence instead/],
    [{ parameters: { triton_x: 1 } }, /'triton_x': Triton reserves the prefix/],
    [{ parameters: { a: 'x'.repeat(200_000) } }, /expected at most 131072 bytes for options.parameters/],
  ];
  for (const [options, message] of cases) {
    // JavaScript programs may pass such values.
    const error = await rejection(server.infer('echo', { x: row() }, options as InferOptions));
    assert.equal(error.code, 'INVALID_ARG');
    assert.match(error.message, message);
  }
  await server.infer('echo', { x: row() }, { parameters: { a: 'x'.repeat(100_000) } });
});

test('map refuses wrong ones before it sends anything', async (t) => {
  const server = await serve(t, { echo: identity() });
  const model = server.model('echo');
  assert.throws(() => model.map([], { priority: -1 }), /options.priority but received -1/);
  assert.throws(() => model.map([], { timeoutUs: 0.5 }), /options.timeoutUs but received 0.5/);
  assert.throws(() => model.map([], { parameters: { headers: 1 } }), /'headers'/);
});

test('wrong combinations of queue fields fail the load with their line and field', async (t) => {
  const cases: [batching: string, field: string, message: RegExp][] = [
    [
      'priority_levels: 2',
      'dynamic_batching.default_priority_level',
      /expected 1 to priority_levels, 2, but found 0/,
    ],
    [
      'priority_levels: 2 default_priority_level: 3',
      'dynamic_batching.default_priority_level',
      /expected 1 to priority_levels, 2, but found 3/,
    ],
    [
      'priority_levels: 2 default_priority_level: 1 priority_queue_policy { key: 3 value { } }',
      'dynamic_batching.priority_queue_policy["3"]',
      /expected a level from 1 to priority_levels, 2/,
    ],
    [
      'priority_levels: 2 default_priority_level: 1 preserve_ordering: true',
      'dynamic_batching.preserve_ordering',
      /cannot be kept with priorities, but priority_levels is 2/,
    ],
    [
      'preserve_ordering: true default_queue_policy { timeout_action: DELAY default_timeout_microseconds: 1 }',
      'dynamic_batching.preserve_ordering',
      /cannot be kept with default_queue_policy, which moves expired requests behind others/,
    ],
    [
      'preserve_ordering: true priority_queue_policy { key: 1 value { timeout_action: DELAY default_timeout_microseconds: 1 } }',
      'dynamic_batching.preserve_ordering',
      /cannot be kept with priority_queue_policy/,
    ],
    [
      'default_queue_policy { max_queue_size: -1 }',
      'dynamic_batching.default_queue_policy.max_queue_size',
      /./,
    ],
    [
      'default_queue_policy { timeout_action: DROP }',
      'dynamic_batching.default_queue_policy.timeout_action',
      /./,
    ],
  ];
  for (const [batching, field, message] of cases) {
    const config = configText({ backend: 'identity', batching });
    const error = await rejection(serve(t, { queued: { config, versions: { '1': {} } } }));
    assert.equal(error.code, 'INVALID_ARG', error.message);
    assert.match(error.message, message);
    assert.equal(error.location?.field, field);
    assert.equal(error.location.line, config.split('\n').findIndex((line) => line.startsWith('dynamic')) + 1);
  }
});

test('without levels the fields of levels are noted', async (t) => {
  const batching = 'default_priority_level: 2 priority_queue_policy { key: 1 value { max_queue_size: 1 } }';
  const server = await serve(t, { echo: identity({ batching }) });
  assert.deepEqual(
    server.model('echo').notes.filter((note) => note.includes('priority')),
    ['dynamic_batching.default_priority_level', 'dynamic_batching.priority_queue_policy'].map(
      (field) =>
        `${field}: accepted, without effect here: takes effect only with priority_levels, as in Triton`,
    ),
  );
});
