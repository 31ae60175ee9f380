/** A test server against a real one: the same calls have the same outcomes. */

import assert from 'node:assert/strict';
import test, { after } from 'node:test';
import {
  createServer,
  TritonError,
  type InferenceServer,
  type InferResult,
  type Inputs,
} from '../../src/index.js';
import { testServer } from '../../src/testing/index.js';
import { models } from './models.js';

const real = await createServer({ models });
const double = await testServer({ models });
after(() => Promise.all([real.close(), double.close()]));

/** A result without times. */
function resultOf({ model, id, outputs, parameters, timings }: InferResult): unknown {
  const tensors = Object.entries(outputs).map(([name, tensor]) => [name, { ...tensor.toJSON() }]);
  return { model, id, tensors, parameters, batchSize: timings.batchSize, cacheHit: timings.cacheHit };
}

/** What a call resolves with, or the parts of the error that it rejects with. */
async function outcomeOf(call: () => unknown): Promise<unknown> {
  try {
    return await call();
  } catch (error) {
    assert.ok(error instanceof TritonError, String(error));
    const { code, reason, message, retryable, model, tensor, cause } = error;
    const why = cause instanceof Error ? cause.message : undefined;
    return { code, reason, message: message.replaceAll(/\d+ ms ago/g, 'ago'), retryable, model, tensor, why };
  }
}

async function all(stream: AsyncIterable<InferResult>): Promise<unknown[]> {
  const results: unknown[] = [];
  try {
    for await (const result of stream) results.push(resultOf(result));
  } catch (error) {
    assert.ok(error instanceof Error);
    results.push(await outcomeOf(() => Promise.reject(error)));
  }
  return results;
}

const infer =
  (name: string, inputs: unknown, options?: Parameters<InferenceServer['infer']>[2]) =>
  async (server: InferenceServer): Promise<unknown> =>
    resultOf(await server.infer(name, inputs as Inputs, options));

const large = Float32Array.from({ length: 100_000 }, (_, i) => i);
const aborted = AbortSignal.abort(new Error('no more'));

const cases: Readonly<Record<string, (server: InferenceServer) => unknown>> = {
  'parameters of a response': infer(
    'named',
    { x: [[1]] },
    { parameters: { text: 'ä', whole: 2n ** 60n, small: -3, flag: true, ['__proto__']: 'name' } },
  ),
  'a row': infer('double', { x: [1, 2] }),
  'several rows': infer('double', {
    x: [
      [1, 2],
      [3, 4],
      [5, 6],
    ],
  }),
  'an id, parameters, a priority': infer(
    'told',
    { x: [[1]] },
    {
      id: 'a',
      priority: 3,
      timeoutUs: 5_000_000,
      parameters: { text: 'ä', whole: 7, half: 0.5, yes: true, wide: 2n ** 60n },
    },
  ),
  'a sequence without a sequence batcher': infer(
    'told',
    { x: [[1]] },
    { sequence: { id: 'a', start: true } },
  ),
  'every datatype': infer('same', {
    bool: [true, false],
    uint8: [1, 255],
    int16: [-5],
    int64: [2n ** 62n],
    fp16: [0.5, 1.5],
    bf16: [2],
    fp64: [Math.PI],
    text: ['one', ''],
  }),
  'some optional inputs': infer('same', { int16: [1, 2] }, { outputs: ['int16'] }),
  'no elements': infer('same', { uint8: new Uint8Array(0) }, { outputs: ['uint8'] }),
  'a reshaped tensor': infer('reshaped', { x: [1, 2, 3, 4] }),
  'a large tensor': async (server) => {
    const { outputs } = await server.infer('large', { x: large });
    const data = outputs['y']?.as('FP32').data;
    return [data?.length, data?.at(-1), outputs['y']?.shape];
  },
  'a large tensor as text': infer('same', { text: ['x'.repeat(100_000)] }, { outputs: ['text'] }),
  'a wanted output': infer('double', { x: [1, 2] }, { outputs: ['y'] }),
  classes: infer('double', { x: [1, 2] }, { outputs: [{ name: 'y', classification: 1 }] }),
  'an output in an array': async (server) => {
    const y = new Float32Array(2);
    await server.infer('double', { x: [4, 5] }, { into: { y } });
    return [...y];
  },
  'a version that is there': infer('double', { x: [1, 2] }, { version: 1 }),
  'a version that is not there': infer('double', { x: [1, 2] }, { version: 2 }),
  'an unknown model': infer('doubel', { x: [1, 2] }),
  'an unknown input': infer('double', { y: [1, 2] }),
  'an input too many': infer('double', { x: [1, 2], y: [1] }),
  'a missing input': infer('double', {}),
  'no inputs': infer('double', undefined),
  'a wrong shape': infer('double', { x: new Float32Array(3) }),
  'a wrong rank': infer('double', { x: { data: new Float32Array(4), shape: [1, 1, 4] } }),
  'a wrong datatype': infer('double', { x: new Int32Array(2) }),
  'a text for a number': infer('double', { x: ['one', 'two'] }),
  'too many rows': infer('double', { x: new Float32Array(18) }),
  'an unknown output': infer('double', { x: [1, 2] }, { outputs: ['z'] }),
  'an output twice': infer('double', { x: [1, 2] }, { outputs: ['y', 'y'] }),
  'a wrong id': infer('double', { x: [1, 2] }, { id: 5 as unknown as string }),
  'a wrong parameter': infer('double', { x: [1, 2] }, { parameters: { priority: 1 } }),
  'an aborted signal': infer('double', { x: [1, 2] }, { signal: aborted }),
  'an array for another class': infer('double', { x: [1, 2] }, { into: { y: new Float64Array(2) } }),
  'an array that is too short': infer('double', { x: [1, 2] }, { into: { y: new Float32Array(1) } }),
  'a model that throws': infer('broken', { how: ['throw'] }),
  'a model that returns an error': infer('broken', { how: ['error'] }),
  'a model with a wrong shape': infer('broken', { how: ['shape'] }),
  'a model without its output': infer('broken', { how: ['missing'] }),
  'a model with an unknown output': infer('broken', { how: ['unknown'] }),
  'a model with a wrong datatype': infer('broken', { how: ['datatype'] }),
  'a batch of which one request fails': (server) => {
    const calls = ['error', 'missing', 'error'].map((how) =>
      outcomeOf(() => infer('broken', { how: [how] })(server)),
    );
    return Promise.all(calls);
  },
  'no responses': (server) => all(server.stream('counting', { n: [0] })),
  'two responses': (server) => all(server.stream('counting', { n: [2] })),
  'many responses': (server) => all(server.stream('counting', { n: [100] })),
  'responses and an error': (server) => all(server.stream('counting', { n: [3] })),
  'a stream that is left': async (server) => {
    const seen: unknown[] = [];
    for await (const { outputs } of server.stream('counting', { n: [1000] })) {
      seen.push(outputs['i']?.data[0]);
      if (seen.length === 30) break;
    }
    return seen;
  },
  'a stream of a model with one response': (server) => all(server.stream('double', { x: [1, 2] })),
  'infer of a decoupled model': infer('counting', { n: [1] }),
  map: async (server) => {
    const items = Array.from({ length: 50 }, (_, i) => ({ x: [i, i] }));
    const results: unknown[] = [];
    for await (const { outputs } of server.model('double').map(items)) results.push(outputs['y']?.toArray());
    return results;
  },
  'a sequence': async (server) => {
    const sequence = server.model('sums').sequence({ id: 7 });
    const results: InferResult[] = [];
    for (const x of [1, 2]) results.push(await sequence.infer({ x: [[x]] }));
    results.push(await sequence.end({ x: [[3]] }));
    return results.map(({ outputs }) => outputs['y']?.toArray());
  },
  'a request of a sequence after its end': infer('sums', { x: [[1]] }, { sequence: { id: 7 } }),
  'a sequence that has not begun': infer('sums', { x: [[1]] }, { sequence: { id: 99 } }),
  'a sequence without an id': infer('sums', { x: [[1]] }),
  'a sequence with a text as its id': infer('sums', { x: [[1]] }, { sequence: { id: 'seven', start: true } }),
  'a sequence of two rows': infer('sums', { x: [[1], [2]] }, { sequence: { id: 8, start: true } }),
  'the metadata of a model': (server) => server.model('double').metadata,
  'the configuration of a model': (server) => server.model('sums').config,
  notes: (server) => server.model('double').notes,
  readiness: async (server) => {
    const double = server.model('double');
    return [server.ready, double.ready, await double.checkReady(), server.model('double', 3).ready];
  },
  'the metadata of a server': (server) => {
    const { name, version, extensions, backends } = server.metadata();
    return {
      name,
      version,
      extensions,
      backends: backends.filter((one) => one !== 'probe' && one !== 'faults'),
    };
  },
  'the index': (server) => server.index(),
  'an unknown model by name': (server) => server.model('nothing'),
  'a load without explicit control': (server) => server.loadModel('double'),
  'the statistics of an unknown model': (server) => server.statistics('nothing'),
  'a sequence of which a waiting request is cancelled': (server) => cancelledSequence(server, 21),
  'a call that is aborted while it runs': abortedRun,
  'the counts of a decoupled model': (server) => countsOf(server, 'counting'),
  'the counts of a model that fails': (server) => countsOf(server, 'broken'),
  'more outputs than a response has room for': infer('many', { x: [1] }),
  'what metrics there are': (server) =>
    server
      .metrics()
      .split('\n')
      .filter((line) => /^nv_inference_(request_success|count|exec_count)\{/.test(line))
      .map((line) => line.split(' ')[0]),
};

/** What the statistics of a model say, without times. */
function countsOf(server: InferenceServer, name: string): unknown {
  const [all] = server.statistics(name);
  assert.ok(all);
  const { success, fail } = all.inference_stats;
  return [success.count, fail.count, all.inference_count, all.execution_count];
}

/** The calls of a sequence, of which the second one is aborted while the first one runs. */
async function cancelledSequence(server: InferenceServer, id: number): Promise<unknown> {
  const controller = new AbortController();
  const send = (x: number, how: object, signal?: AbortSignal): Promise<unknown> =>
    outcomeOf(() => infer('waits', { x: [[x]] }, { sequence: { id, ...how }, signal })(server));
  const calls = [send(1, { start: true }), send(2, {}, controller.signal), send(3, {})];
  await new Promise((resolve) => setTimeout(resolve, 20));
  controller.abort(new Error('left'));
  const ended = await Promise.all(calls);
  return [ended, await send(4, {}), countsOf(server, 'waits')];
}

/** A call that is aborted while it runs. */
async function abortedRun(server: InferenceServer): Promise<unknown> {
  const controller = new AbortController();
  const call = outcomeOf(() => infer('slow', { x: [1] }, { signal: controller.signal })(server));
  await new Promise((resolve) => setTimeout(resolve, 20));
  controller.abort(new Error('left'));
  const outcome = await call;
  await infer('slow', { x: [1] })(server);
  return [outcome, countsOf(server, 'slow')];
}

for (const [name, run] of Object.entries(cases)) {
  test(`a test server does as a server: ${name}`, async () => {
    const expected = await outcomeOf(() => run(real));
    assert.deepEqual(await outcomeOf(() => run(double)), expected);
  });
}
