/** Iterative sequences: requests of JavaScript models that run again until they are done. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  createServer,
  type JavaScriptModel,
  type ModelConfigInput,
  type ModelRequest,
  type Rescheduled,
} from '../../src/index.js';
import { until } from '../support/harness.js';

const io = {
  max_batch_size: 8,
  input: [{ name: 'x', data_type: 'TYPE_FP32', dims: [1] }],
  output: [{ name: 'y', data_type: 'TYPE_FP32', dims: [1] }],
} as const;

const config = (strategy: object, decoupled: boolean): ModelConfigInput => ({
  ...io,
  ...(decoupled && { model_transaction_policy: { decoupled } }),
  sequence_batching: {
    iterative_sequence: true,
    ...strategy,
    control_input: [
      { name: 'start', control: [{ kind: 'CONTROL_SEQUENCE_START', fp32_false_true: [0, 1] }] },
    ],
  },
});

const x = (value: number): { x: { data: Float32Array; shape: number[] } } => ({
  x: { data: Float32Array.of(value), shape: [1, 1] },
});
const valueOf = (request: ModelRequest, name: string): number =>
  request.inputs[name]?.as('FP32').data[0] ?? NaN;

/** Counts the runs of each request, and ends it after as many runs as its input says. */
class Rounds {
  readonly runs = new Map<bigint | string, number>();
  readonly sizes: number[] = [];

  /** Whether this was the request's last run, and how many it had. */
  count(request: ModelRequest): { readonly done: boolean; readonly runs: number } {
    const id = request.sequence?.id ?? '';
    const runs = (this.runs.get(id) ?? 0) + 1;
    assert.equal(request.sequence?.start, runs === 1);
    assert.equal(valueOf(request, 'start'), runs === 1 ? 1 : 0);
    const done = runs === valueOf(request, 'x');
    if (done) this.runs.delete(id);
    else this.runs.set(id, runs);
    return { done, runs };
  }
}

for (const strategy of [{ direct: {} }, { oldest: { max_candidate_sequences: 4 } }]) {
  test(`requests run again until they are done: ${JSON.stringify(strategy)}`, async (t) => {
    const rounds = new Rounds();
    const execute: JavaScriptModel['execute'] = (requests) => {
      rounds.sizes.push(requests.length);
      return requests.map((request) => {
        // An empty slot of the direct strategy.
        if (request.sequence === undefined) return { y: new Float32Array(1) };
        const { done, runs } = rounds.count(request);
        return done ? { y: Float32Array.of(runs) } : request.reschedule();
      });
    };
    const server = await createServer({ models: { m: { config: config(strategy, false), execute } } });
    t.after(() => server.close());
    const wanted = [3, 1, 5, 2, 4, 6];
    const answers = await Promise.all(wanted.map((count) => server.infer('m', x(count))));
    assert.deepEqual(
      answers.map(({ outputs }) => outputs['y']?.as('FP32').data[0]),
      wanted,
    );
    assert.equal(rounds.runs.size, 0);
    assert.ok(
      rounds.sizes.some((size) => size > 1),
      'rounds of several requests run together',
    );
    const { inference_stats: stats } = server.model('m').statistics();
    assert.equal(stats.success.count, wanted.length);
    assert.equal(server.explain('m').sequences?.begun, wanted.length);
  });
}

test('a generator sends responses in each round', async (t) => {
  const rounds = new Rounds();
  function* answer(request: ModelRequest): Generator<{ y: Float32Array }, Rescheduled | undefined> {
    const { done, runs } = rounds.count(request);
    yield { y: Float32Array.of(runs) };
    return done ? undefined : request.reschedule();
  }
  const execute: JavaScriptModel['execute'] = (requests) => requests.map((request) => answer(request));
  const server = await createServer({ models: { m: { config: config({ oldest: {} }, true), execute } } });
  t.after(() => server.close());
  const read = async (count: number): Promise<number[]> => {
    const found: number[] = [];
    for await (const { outputs } of server.stream('m', x(count))) {
      found.push(outputs['y']?.as('FP32').data[0] ?? NaN);
    }
    return found;
  };
  assert.deepEqual(await Promise.all([3, 1, 4].map(read)), [[1, 2, 3], [1], [1, 2, 3, 4]]);
  // A caller that leaves between two rounds frees the slot.
  const left = new AbortController();
  const leaving = server.stream('m', x(1e6), { signal: left.signal });
  let seen = 0;
  await assert.rejects(async () => {
    for await (const _ of leaving) if (++seen === 3) left.abort();
  });
  assert.deepEqual(await read(2), [1, 2]);
  // The slot is free again.
  await until(() => server.explain('m').sequences?.live === 0);
});

test('reschedule is refused for other models, and of another request', async (t) => {
  let other: Rescheduled | undefined;
  const server = await createServer({
    models: {
      plain: { config: io, execute: (requests) => requests.map((request) => request.reschedule()) },
      mixed: {
        config: config({ oldest: {} }, false),
        execute: (requests) => requests.map((request) => (other ??= request.reschedule())),
      },
    },
  });
  t.after(() => server.close());
  await assert.rejects(server.infer('plain', x(1)), {
    code: 'UNSUPPORTED',
    message: /iterative_sequence: true/,
  });
  void server.infer('mixed', x(1)).catch(() => undefined);
  await assert.rejects(server.infer('mixed', x(1)), { code: 'INTERNAL', message: /another request/ });
});
