import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import fc from '../support/fast-check.js';
import { endsOf, takeBatches, type Policy, type Waiting } from './batcher.js';
import { anyPolicy, shapes } from './schedule.js';

/**
 * The batches of requests that wait together, as rows with a letter for another shape, followed by the requests
 * that go on waiting.
 */
function run(policy: Partial<Policy>, ...requests: readonly (number | string)[]): string {
  const queue = requests.map((text): Waiting => {
    const [, rows = '', shape = ''] = /^(\d+)(\w*)$/.exec(String(text)) ?? [];
    return { rows: Number(rows), shape };
  });
  const show = (batch: readonly Waiting[]): string => batch.map(({ rows }) => rows).join('+');
  const batches = takeBatches(queue, {
    maxBatchSize: 8,
    preferred: [],
    delay: 'none',
    acrossShapes: false,
    ...policy,
  });
  return [...batches.map(show), ...(queue.length > 0 ? [`waits: ${show(queue)}`] : [])].join(' ');
}

const examples: readonly (readonly [what: string, got: string, expected: string])[] = [
  ['without delay a batch is what waits', run({}, 1, 1, 1), '1+1+1'],
  ['up to max_batch_size', run({}, 3, 3, 3), '3+3 3'],
  ['a request is never split, and none overtakes it', run({ maxBatchSize: 4 }, 3, 3, 1), '3 3+1'],
  ['another shape closes a batch', run({}, 1, 1, '1b', '1b', 1), '1+1 1+1 1'],
  ['a backlog is cut to preferred sizes', run({ preferred: [4] }, 1, 1, 1, 1, 1, 1), '1+1+1+1 1+1'],
  ['the largest one that is reached', run({ preferred: [2, 4] }, 1, 1, 1, 1, 1), '1+1+1+1 1'],
  ['not when the delay is over', run({ preferred: [4], delay: 'over' }, 1, 1, 1, 1, 1), '1+1+1+1+1'],
  ['with a delay too few wait', run({ delay: 'endless' }, 1, 1), 'waits: 1+1'],
  ['but not what reaches a preferred size', run({ preferred: [2, 4], delay: 'endless' }, 1, 1), '1+1'],
  ['nor what another shape closes', run({ delay: 'endless' }, 1, '1b'), '1 waits: 1'],
  ['nor what is beyond every preferred size', run({ preferred: [2], delay: 'endless' }, 3), '3'],
  ['across shapes later ones join', run({ acrossShapes: true }, 1, '1b', 1, '1b', 2), '1+1+2 1+1'],
  ['not behind what does not fit', run({ acrossShapes: true }, 6, '1b', 3, 1), '6 1 3+1'],
  [
    'too few others let a batch wait',
    run({ acrossShapes: true, preferred: [3], delay: 'endless' }, 1, '2b'),
    'waits: 1+2',
  ],
  [
    'enough of them close it',
    run({ acrossShapes: true, preferred: [3], delay: 'endless' }, 1, '2b', '1c'),
    '1 waits: 2+1',
  ],
  ['without batching each runs alone', run({ preferred: undefined }, 1, 2, 1), '1 2 1'],
];

void suite('the model of the batcher does what the rules say:', () => {
  for (const [what, got, expected] of examples) {
    test(what, () => {
      assert.equal(got, expected);
    });
  }
});

test('its batches are the queue in order, cut where a rule says so, and the oldest request leads each', () => {
  fc.assert(
    fc.property(
      anyPolicy,
      fc.array(fc.record({ rows: fc.integer({ min: 1, max: 16 }), shape: shapes })),
      (policy, list) => {
        const requests = list.filter(({ rows }) => rows <= policy.maxBatchSize);
        const queue = [...requests];
        const batches = takeBatches(queue, policy);
        const order = [...batches.flat(), ...queue];
        if (!policy.acrossShapes) assert.deepEqual(order, requests);
        // Each request appears once.
        assert.equal(new Set(order).size, requests.length);
        assert.ok(requests.every((one) => order.includes(one)));
        const waiting = [...requests];
        for (const batch of batches) {
          assert.equal(batch[0], waiting[0]);
          for (const one of batch) waiting.splice(waiting.indexOf(one), 1);
        }
        // Requests of one shape never overtake each other.
        for (const { shape } of requests) {
          const alike = (list: readonly Waiting[]): readonly Waiting[] =>
            list.filter((one) => one.shape === shape);
          assert.deepEqual(alike(order), alike(requests));
        }
        for (const batch of batches) {
          assert.equal(new Set(batch.map(({ shape }) => shape)).size, 1);
          assert.ok(batch.reduce((sum, { rows }) => sum + rows, 0) <= policy.maxBatchSize);
          if (!policy.preferred) assert.equal(batch.length, 1);
        }
        if (policy.delay !== 'endless') assert.equal(queue.length, 0);
      },
    ),
  );
});

test('who has no answer when a run throws ends with that', () => {
  const faults = (['slow', 'fails', 'never_answers', 'lacks_memory', 'slow', 'throws', 'none'] as const).map(
    (fault) => ({ fault }),
  );
  const thrown = 'UNAVAILABLE';
  assert.deepEqual(endsOf(faults), [undefined, 'INTERNAL', thrown, thrown, thrown, thrown, undefined]);
  assert.deepEqual(endsOf([{ fault: 'never_answers' }, { fault: 'slow' }]), ['INTERNAL', undefined]);
});
