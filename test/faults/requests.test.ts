import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { InferenceServer, TritonErrorCode } from '../../src/index.js';
import { floats, rejection, row, serve, statisticsAfter } from '../support/harness.js';
import { asking, faulty, type FaultName } from './harness.js';

/** The outcome of a request for each fault. */
const outcomes: readonly (readonly [FaultName, TritonErrorCode, RegExp])[] = [
  ['fails', 'INTERNAL', /^an injected failure$/],
  ['unavailable', 'UNAVAILABLE', /^an injected failure$/],
  ['throws', 'INTERNAL', /^model 'faulty': its backend failed to run: an injected exception$/],
  ['throws_other', 'INTERNAL', /failed to run: it threw something that is no std::exception$/],
  ['lacks_memory', 'UNAVAILABLE', /failed to run: no memory$/],
  ['answers_late', 'INTERNAL', /^model 'faulty': its backend returned without responding to the request$/],
  ['never_answers', 'INTERNAL', /^model 'faulty': its backend returned without responding to the request$/],
  [
    'wrong_rows',
    'INTERNAL',
    /'faulty', output 'y': expected 1 rows, but .* returned 64 bytes as FP32 \[2,16\]/,
  ],
  ['negative_dim', 'INTERNAL', /output 'y'.*FP32 \[1,-1\]/],
  ['huge_shape', 'INTERNAL', /output 'y'.*\[1,16,1073741824,1073741824,1073741824,1073741824\]/],
  ['unknown_output', 'INTERNAL', /output 7: its backend returned it; expected an index below 1/],
  [
    'wrong_datatype',
    'INTERNAL',
    /output 'y': expected FP32, but its backend returned 64 bytes as INT8 \[1,16\]/,
  ],
  ['too_few_bytes', 'INTERNAL', /output 'y'.* returned 60 bytes as FP32 \[1,16\]/],
  ['too_many_bytes', 'INTERNAL', /output 'y'.* returned 68 bytes as FP32 \[1,16\]/],
  ['allocates_too_much', 'UNAVAILABLE', /no memory for 35184372088832 bytes/],
];

/** Sends `count` requests in one tick. Number `bad` asks for a fault. Returns the outcomes. */
async function sendBatch(
  server: InferenceServer,
  fault: FaultName,
  count: number,
  bad: number,
): Promise<{ good: number[][]; error: Awaited<ReturnType<typeof rejection>> }> {
  const model = server.model('faulty');
  const requests = Array.from({ length: count }, (_, i) =>
    model.infer(asking(i === bad ? fault : 'none', i)),
  );
  const [failed] = requests.splice(bad, 1);
  assert.ok(failed);
  const error = await rejection(failed);
  return { good: (await Promise.all(requests)).map((result) => floats(result)), error };
}

void suite(
  'the one request of a batch that goes wrong ends with an error, the others with their rows',
  () => {
    for (const [fault, code, message] of outcomes) {
      test(fault, async (t) => {
        const server = await serve(t, { faulty: faulty() });
        const { good, error } = await sendBatch(server, fault, 5, 2);
        assert.equal(error.code, code);
        assert.match(error.message, message);
        assert.equal(error.model, 'faulty');
        assert.deepEqual(
          good,
          [0, 1, 3, 4].map((first) => [...row(first)]),
        );
        const { inference_stats: counts, execution_count } = await statisticsAfter(server, 'faulty', 5);
        assert.equal(counts.success.count, 4);
        assert.equal(counts.fail.count, 1);
        assert.equal(execution_count, 1);
      });
    }
  },
);

void suite('after a request that went wrong alone the next one is answered', () => {
  for (const [fault, code] of outcomes) {
    test(fault, async (t) => {
      const server = await serve(t, { faulty: faulty({ batching: false }) });
      assert.equal((await rejection(server.infer('faulty', asking(fault)))).code, code);
      assert.deepEqual(floats(await server.infer('faulty', asking('none', 7))), [...row(7)]);
      const { inference_stats: counts } = await statisticsAfter(server, 'faulty', 2);
      assert.equal(counts.success.count, 1);
      assert.equal(counts.fail.count, 1);
    });
  }
});

void suite('what is odd but no fault of the answer is answered', () => {
  for (const fault of ['answers_twice', 'other_thread', 'wrong_request', 'slow'] as const) {
    test(fault, async (t) => {
      const server = await serve(t, { faulty: faulty({ parameters: { delay_ms: 5 } }) });
      const results = await Promise.all(
        [fault, 'none', fault, 'none'].map((name, i) => server.infer('faulty', asking(name as FaultName, i))),
      );
      for (const [i, result] of results.entries()) assert.deepEqual(floats(result), [...row(i)]);
      const { inference_stats: counts, inference_count } = await statisticsAfter(server, 'faulty', 4);
      assert.equal(counts.success.count, 4);
      assert.equal(counts.fail.count, 0);
      assert.equal(inference_count, 4);
    });
  }
});

test('an answer that comes late, while others run, goes to nobody', async (t) => {
  const server = await serve(t, { faulty: faulty({ batching: false }) });
  // Each run wakes the thread that answers for the run before it.
  const faults: FaultName[] = ['answers_late', 'none', 'answers_late', 'answers_late', 'none', 'none'];
  const outcome = await Promise.allSettled(faults.map((name, i) => server.infer('faulty', asking(name, i))));
  for (const [i, result] of outcome.entries()) {
    if (faults[i] === 'none') {
      assert.equal(result.status, 'fulfilled');
      assert.deepEqual(floats(result.value), [...row(i)]);
    } else {
      assert.equal(result.status, 'rejected');
      assert.match(String(result.reason), /returned without responding/);
    }
  }
  const { inference_stats: counts } = await statisticsAfter(server, 'faulty', 6);
  assert.deepEqual([counts.success.count, counts.fail.count], [3, 3]);
});

test('a late answer of a model that is closed goes to nobody', async (t) => {
  const server = await serve(t, { faulty: faulty() });
  assert.equal((await rejection(server.infer('faulty', asking('answers_late')))).code, 'INTERNAL');
  await server.close();
});

test('every request of a mixture ends once, as it asked, and the counters agree', async (t) => {
  const server = await serve(t, { faulty: faulty({ instances: 3, maxBatchSize: 8 }) });
  const model = server.model('faulty');
  const expected = new Map<FaultName, TritonErrorCode>(outcomes.map(([name, code]) => [name, code]));
  // When a run throws, all its requests without an answer end with that error.
  const open: readonly FaultName[] = [
    'throws',
    'throws_other',
    'lacks_memory',
    'answers_late',
    'never_answers',
  ];
  const names: readonly FaultName[] = ['none', 'answers_twice', 'other_thread', ...expected.keys()];
  let good = 0;
  let seed = 12345;
  const total = 3000;
  for (let sent = 0; sent < total; sent += 100) {
    await Promise.all(
      Array.from({ length: 100 }, async (_, i) => {
        seed = (seed * 1103515245 + 12345) % 2 ** 31;
        const name = names[seed % names.length] ?? 'none';
        const result = await model.infer(asking(name, i)).then(
          (value) => {
            good++;
            return floats(value);
          },
          (error: unknown) => (error as { code: TritonErrorCode }).code,
        );
        if (open.includes(name)) assert.ok(result === 'INTERNAL' || result === 'UNAVAILABLE', name);
        else assert.deepEqual(result, expected.get(name) ?? [...row(i)], name);
      }),
    );
  }
  const { inference_stats: counts, inference_count } = await statisticsAfter(server, 'faulty', total);
  assert.equal(counts.success.count, good);
  assert.equal(inference_count, good);
  assert.equal(counts.fail.count, total - good);
});
