/** The states of sequences: runs that fail, selected outputs, ensembles, and models that are replaced or leave. */

import assert from 'node:assert/strict';
import { setTimeout as wait } from 'node:timers/promises';
import { suite, test } from 'node:test';
import {
  createServer,
  type GivenModel,
  type InferenceServer,
  type Sequence,
  type TensorInput,
} from '../../src/index.js';
import {
  configText,
  ensemble,
  floats,
  rejection,
  serve,
  turn,
  until,
  type Context,
} from '../support/harness.js';
import { failingSum } from '../support/models/sequences.js';
import type { RepositoryModel } from '../support/repository.js';

const x = (value: number): { readonly x: TensorInput } => ({ x: { data: [value, value], shape: [1, 2] } });

const io = { inputs: [{ name: 'x', dims: [2] }], outputs: [{ name: 'y', dims: [2] }] } as const;

/** A running sum of ONNX Runtime, which fails if x is 100 or more. */
function onnxSum(strategy: string): RepositoryModel {
  const more = `sequence_batching { ${strategy}
    state { input_name: "sum" output_name: "next" data_type: TYPE_FP32 dims: [ 2 ] } }`;
  return {
    config: configText({ ...io, maxBatchSize: 4, batching: false, more }),
    versions: { '1': failingSum() },
  };
}

/** The same in JavaScript, with a time for each run and a number of rows. */
function sum(delayMs = 0, rows = 1): Extract<GivenModel, { execute: unknown }> {
  return {
    config: {
      max_batch_size: rows,
      input: [{ name: 'x', data_type: 'TYPE_FP32', dims: [2] }],
      output: [{ name: 'y', data_type: 'TYPE_FP32', dims: [2] }],
      sequence_batching: {
        max_sequence_idle_microseconds: 60_000_000,
        state: [{ input_name: 'sum', output_name: 'next', data_type: 'TYPE_FP32', dims: [2] }],
      },
    },
    execute: async (requests) => {
      if (delayMs > 0) await wait(delayMs);
      return requests.map(({ inputs }) => {
        const [added = 0] = inputs['x']?.as('FP32').data ?? [];
        if (added >= 100) throw new Error('too much');
        const y = (inputs['sum']?.as('FP32').data ?? new Float32Array(2)).map((value) => value + added);
        return { y, next: y };
      });
    },
  };
}

/** The first value of y, or the code of the error. */
const told = (result: Promise<Parameters<typeof floats>[0]>): Promise<unknown> =>
  result.then(
    (one) => floats(one)[0],
    (error: unknown) => (error as { readonly code?: unknown }).code,
  );

for (const [name, start] of [
  ['onnxruntime, direct', (t: Context) => serve(t, { m: onnxSum('direct { }') })],
  ['onnxruntime, oldest', (t: Context) => serve(t, { m: onnxSum('oldest { }') })],
  ['javascript', (t: Context) => given(t, { m: sum(0, 4) })],
] as const) {
  test(`a run that fails leaves the states of its requests as they were: ${name}`, async (t) => {
    const server = await start(t);
    const [one, other] = [server.model('m').sequence(), server.model('m').sequence()];
    assert.deepEqual([await told(one.infer(x(1))), await told(other.infer(x(10)))], [1, 10]);
    assert.equal(await told(one.infer(x(100))), 'INTERNAL');
    assert.equal(await told(one.infer(x(1))), 2);
    // If both are in one batch, both fail.
    const both = await Promise.all([told(one.infer(x(100))), told(other.infer(x(10)))]);
    assert.equal(both[0], 'INTERNAL');
    assert.ok(both[1] === 20 || both[1] === 'INTERNAL');
    assert.equal(await told(other.end(x(10))), both[1] === 20 ? 30 : 20);
    assert.equal(await told(one.end(x(1))), 3);
  });
}

async function given(t: Context, models: Readonly<Record<string, GivenModel>>): Promise<InferenceServer> {
  const server = await createServer({ models });
  t.after(() => server.close({ timeoutMs: 0 }));
  return server;
}

test('both requests of a batch that fails keep their states', async (t) => {
  const strategy = 'direct { minimum_slot_utilization: 0.5 max_queue_delay_microseconds: 60000000 }';
  const server = await serve(t, { m: onnxSum(strategy) });
  const [one, other] = [server.model('m').sequence(), server.model('m').sequence()];
  const both = (a: Promise<unknown>, b: Promise<unknown>): Promise<unknown[]> => Promise.all([a, b]);
  assert.deepEqual(await both(told(one.infer(x(1))), told(other.infer(x(10)))), [1, 10]);
  assert.deepEqual(await both(told(one.infer(x(100))), told(other.infer(x(10)))), ['INTERNAL', 'INTERNAL']);
  assert.deepEqual(await both(told(one.end(x(1))), told(other.end(x(10)))), [2, 20]);
});

test('the state is kept by an ensemble, which wants only some outputs of its step', async (t) => {
  const steps = [{ model: 'm', from: { x: 'x' }, to: { y: 'y' } }];
  const server = await serve(t, { m: onnxSum('direct { }'), e: ensemble(steps, { ...io, maxBatchSize: 4 }) });
  const sequence = server.model('e').sequence();
  assert.equal(await told(sequence.infer(x(1))), 1);
  assert.equal(await told(sequence.infer(x(1), { outputs: ['y'] })), 2);
  assert.equal(await told(sequence.end(x(1))), 3);
});

void suite('requests that were accepted finish', () => {
  /** Two sequences at a model with one slot. One is under way, and the other one waits in the backlog. */
  async function backlog(
    server: InferenceServer,
    firstEnds: boolean,
  ): Promise<readonly [Sequence[], Promise<unknown>[]]> {
    const model = server.model('m');
    const [one, other] = [model.sequence({ id: 'one' }), model.sequence({ id: 'other' })];
    const answers = [told(one.infer(x(1))), told(other.infer(x(10))), told(one.infer(x(1)))];
    answers.push(told(firstEnds ? one.end(x(1)) : one.infer(x(1))), told(other.end(x(10))));
    await turn();
    assert.equal(server.explain('m').sequences?.backlog, 1);
    return [[one, other], answers];
  }
  const finished = [1, 10, 2, 3, 20];

  for (const firstEnds of [true, false]) {
    const what = firstEnds ? 'the first sequence ends' : 'the first sequence does not end';
    test(`when the model is unloaded; ${what}`, async (t) => {
      const server = await createServer({ models: { m: sum(15) }, modelControlMode: 'explicit' });
      t.after(() => server.close({ timeoutMs: 0 }));
      await server.loadModel('m');
      const [[one], answers] = await backlog(server, firstEnds);
      const unloaded = server.unloadModel('m');
      assert.deepEqual(await Promise.all(answers), finished);
      await unloaded;
      if (!firstEnds && one) assert.equal((await rejection(one.infer(x(1)))).code, 'NOT_FOUND');
    });

    test(`when the server closes; ${what}`, async () => {
      const server = await createServer({ models: { m: sum(15) } });
      const [, answers] = await backlog(server, firstEnds);
      const closed = server.close();
      assert.deepEqual(await Promise.all(answers), finished);
      await closed;
    });

    test(`on the old version when the model is loaded again; ${what}`, async (t) => {
      const server = await createServer({ models: { m: sum(15) }, modelControlMode: 'explicit' });
      t.after(() => server.close({ timeoutMs: 0 }));
      await server.loadModel('m');
      const [, answers] = await backlog(server, firstEnds);
      await server.loadModel('m', { force: true });
      const error = await rejection(server.infer('m', x(1), { sequence: { id: 'one' } }));
      assert.equal(error.code, 'INVALID_ARG');
      assert.match(error.message, /sequence 'one' must have START; .*: the model was reloaded/);
      // The same id may begin anew beside the old sequence.
      const anew = server.model('m').sequence({ id: 'other' });
      assert.equal(await told(anew.infer(x(5))), 5);
      assert.deepEqual(await Promise.all(answers), finished);
      assert.equal(await told(anew.end(x(5))), 10);
    });
  }

  test('and sequences between two requests end when the model is loaded again', async (t) => {
    const server = await createServer({ models: { m: sum() }, modelControlMode: 'explicit' });
    t.after(() => server.close({ timeoutMs: 0 }));
    await server.loadModel('m');
    const sequence = server.model('m').sequence({ id: 7 });
    assert.equal(await told(sequence.infer(x(1))), 1);
    await until(() => server.explain('m').sequences?.idle === 1);
    await server.loadModel('m', { force: true });
    const error = await rejection(sequence.infer(x(1)));
    assert.match(error.message, /first request of sequence 7 must have START; .* the model was reloaded/);
    assert.equal(sequence.ended, true);
    // The old version has released its memory.
    assert.equal(server.explain('m').sequences?.stateBytes, 0);
  });
});
