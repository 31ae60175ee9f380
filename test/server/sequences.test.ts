/** `model.sequence()`: ids, flags, order, and what ends a sequence. */

import assert from 'node:assert/strict';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { setImmediate as turn } from 'node:timers/promises';
import { suite, test } from 'node:test';
import { Worker } from 'node:worker_threads';
import {
  createServer,
  TritonError,
  type GivenModel,
  type InferenceServer,
  type SequenceMessage,
  type SequenceOptions,
} from '../../src/index.js';
import { rejection, thrown, type Context } from '../support/harness.js';
import { chunk, teller, tellerConfig, toldIn } from '../support/sequences.js';

async function serving(t: Context, model: GivenModel = teller): Promise<InferenceServer> {
  const server = await createServer({ models: { m: model } });
  t.after(() => server.close({ timeoutMs: 0 }));
  return server;
}

/** A model that fails where the first number says so, and otherwise answers as {@link teller} does. */
const failing: GivenModel = {
  config: { ...tellerConfig, max_batch_size: 1 },
  execute: (requests) => {
    const [x] = requests[0]?.inputs['x']?.as('FP32').data ?? [];
    if (x === 1) throw new Error('a mistake');
    if (x === 2) throw new TritonError('UNAVAILABLE', 'not now', { reason: 'QUEUE_FULL' });
    return teller.execute(requests);
  },
};

/** The messages of both channels, until the end of the test. */
function listen(t: Context): [string, SequenceMessage][] {
  const heard: [string, SequenceMessage][] = [];
  for (const name of ['start', 'end']) {
    // The package publishes messages of one type to each channel.
    const listener = (message: unknown): void => void heard.push([name, message as SequenceMessage]);
    subscribe(`tritonts:sequence:${name}`, listener);
    t.after(() => {
      unsubscribe(`tritonts:sequence:${name}`, listener);
      return Promise.resolve();
    });
  }
  return heard;
}

test('the first request starts a sequence, and the last one ends it, in the order of the calls', async (t) => {
  const server = await serving(t);
  const sequence = server.model('m').sequence({ id: 'call' });
  assert.equal(sequence.id, 'call');
  const asked = [0, 1, 2].map((i) => sequence.infer(chunk(i)));
  assert.equal(sequence.ended, false);
  asked.push(sequence.end(chunk(3), { id: 'last' }));
  assert.equal(sequence.ended, true);
  const results = await Promise.all(asked);
  assert.deepEqual(results.map(toldIn), [
    [0, ['call', true, false]],
    [1, ['call', false, false]],
    [2, ['call', false, false]],
    [3, ['call', false, true]],
  ]);
  assert.equal(results[3]?.id, 'last');
  const late = await rejection(sequence.infer(chunk(4)));
  assert.deepEqual(
    [late.code, late.message],
    ['INVALID_ARG', "model 'm': sequence 'call' has ended; begin another one with model.sequence()"],
  );
  assert.equal((await rejection(sequence.end(chunk(4)))).code, 'INVALID_ARG');
  await sequence.end();
  const one = server.model('m', 1).sequence({ id: 5n });
  assert.deepEqual(toldIn(await one.end(chunk(0))), [0, ['5n', true, true]]);
});

test('ids that it makes differ, also over threads, and fit into integers of 64 bits with a sign', async (t) => {
  const server = await serving(t);
  const model = server.model('m');
  const here = Array.from({ length: 1000 }, () => model.sequence().id);
  const module = new URL('../../src/server/sequences/sequence-ids.js', import.meta.url).href;
  const text = `import(${JSON.stringify(module)}).then(({ newSequenceId }) =>
    require('node:worker_threads').parentPort.postMessage(Array.from({ length: 1000 }, newSequenceId)))`;
  const there = await Promise.all(
    [0, 1].map(
      () =>
        new Promise<bigint[]>((resolve, reject) => {
          const worker = new Worker(text, { eval: true });
          worker.once('message', resolve).once('error', reject);
        }),
    ),
  );
  const all = [...here, ...there.flat()];
  assert.equal(new Set(all).size, 3000);
  assert.ok(all.every((id) => typeof id === 'bigint' && id >= 2n ** 62n && id < 2n ** 63n));
  // Ids of the threads lie far apart, whatever the counters' random starts are.
  const threads = [here, ...there].map((ids) => new Set(ids.map((id) => BigInt(id) >> 48n)));
  assert.deepEqual(
    threads.map(({ size }) => size),
    [1, 1, 1],
  );
  assert.equal(new Set(threads.flatMap((ids) => [...ids])).size, 3);
});

void suite('wrong options are refused:', () => {
  for (const [options, code, message] of [
    [5, 'INVALID_ARG', /expected an object for sequence options but received 5/],
    [{ ids: 5 }, 'INVALID_ARG', /unknown key 'ids' in sequence options \(did you mean id\?\)/],
    [{ id: 0 }, 'INVALID_ARG', /model 'm': expected an id other than 0 and '' for options.id; leave it out/],
    [{ id: '' }, 'INVALID_ARG', /other than 0/],
    [{ id: -1 }, 'INVALID_ARG', /for options.id but received -1/],
    [{ id: {} }, 'INVALID_ARG', /for options.id but received an object/],
    [{ id: 'x'.repeat(129) }, 'UNSUPPORTED', /at most 128 bytes/],
    [{ signal: 5 }, 'INVALID_ARG', /expected an AbortSignal for options.signal but received 5/],
  ] as const) {
    test(JSON.stringify(options).slice(0, 30), async (t) => {
      const model = (await serving(t)).model('m');
      const error = thrown(() => model.sequence(options as unknown as SequenceOptions));
      assert.equal(error.code, code);
      assert.match(error.message, message);
    });
  }
});

test('a request that cannot be sent does not count, and an error of the model ends nothing', async (t) => {
  const server = await serving(t, failing);
  const sequence = server.model('m').sequence({ id: 1 });
  const wrong = await rejection(sequence.infer({ z: [1] }));
  assert.equal(wrong.code, 'INVALID_ARG');
  assert.match(wrong.stack ?? '', /sequences\.test/);
  assert.match(
    (await rejection(sequence.infer(chunk(0), { signal: 5 as unknown as AbortSignal }))).message,
    /AbortSignal/,
  );
  const twice = { sequence: { id: 2 } } as object;
  assert.match((await rejection(sequence.infer(chunk(0), twice))).message, /take no option 'sequence'/);
  assert.equal((await rejection(sequence.end({ z: [1] }))).code, 'INVALID_ARG');
  assert.equal(sequence.ended, false);
  assert.match((await rejection(sequence.infer(chunk(1)))).message, /a mistake/);
  assert.deepEqual(toldIn(await sequence.infer(chunk(0))), [0, ['1n', false, false]]);
  assert.match((await rejection(sequence.end(chunk(1)))).message, /a mistake/);
  assert.equal(sequence.ended, true);
});

test('another error of a request ends it with that code', async (t) => {
  const server = await serving(t, failing);
  const heard = listen(t);
  const sequence = server.model('m').sequence({ id: 9 });
  const asked = [sequence.infer(chunk(2)), sequence.infer(chunk(0))] as const;
  const first = await rejection(asked[0]);
  assert.equal(first.code, 'UNAVAILABLE');
  // It was sent before the error came.
  assert.deepEqual(toldIn(await asked[1]), [0, ['9n', false, false]]);
  assert.equal(sequence.ended, true);
  for (const late of [await rejection(sequence.infer(chunk(0))), await rejection(sequence.end(chunk(0)))]) {
    assert.deepEqual(
      [late.code, late.reason, late.model, late.cause],
      ['UNAVAILABLE', 'QUEUE_FULL', 'm', first],
    );
    assert.match(
      late.message,
      /^model 'm': sequence 9 has ended, because one of its requests failed: .*not now/,
    );
  }
  await sequence.end();
  await turn();
  assert.deepEqual(
    heard.map(([name, { model, version, id }]) => [name, model, version, id]),
    [
      ['start', 'm', undefined, 9n],
      ['end', 'm', undefined, 9n],
    ],
  );
  assert.equal((heard[1]?.[1].error as TritonError | undefined)?.cause, first);
});

test('its signal cancels what is in flight, and a request of its own signal ends it, too', async (t) => {
  let go: () => void = () => undefined;
  const gate = new Promise<void>((resolve) => (go = resolve));
  const server = await serving(t, {
    config: { ...tellerConfig, max_batch_size: 1 },
    execute: async (requests) => {
      await gate;
      return teller.execute(requests);
    },
  });
  const stop = new AbortController();
  const sequence = server.model('m').sequence({ id: 3, signal: stop.signal });
  const own = new AbortController();
  const asked = [sequence.infer(chunk(0)), sequence.infer(chunk(1), { signal: own.signal })];
  const other = server.model('m').sequence({ id: 4 });
  const others = [other.infer(chunk(0)), other.infer(chunk(1), { signal: own.signal })] as const;
  stop.abort(new Error('hung up'));
  for (const one of asked) assert.equal((await rejection(one)).code, 'CANCELLED');
  const late = await rejection(sequence.infer(chunk(2)));
  assert.deepEqual(
    [late.code, late.message, (late.cause as Error).message],
    ['CANCELLED', "model 'm': sequence 3 was cancelled by its signal", 'hung up'],
  );
  own.abort();
  assert.equal((await rejection(others[1])).code, 'CANCELLED');
  assert.equal((await rejection(other.infer(chunk(2)))).code, 'CANCELLED');
  go();
  assert.deepEqual(toldIn(await others[0]), [0, ['4n', true, false]]);
  const aborted = server.model('m').sequence({ signal: AbortSignal.abort() });
  assert.equal(aborted.ended, true);
  assert.equal((await rejection(aborted.infer(chunk(0)))).code, 'CANCELLED');
});

test('end() and `await using` wait for what is in flight, send nothing, and never reject', async (t) => {
  const server = await serving(t, failing);
  const heard = listen(t);
  const settled: string[] = [];
  const sequence = server.model('m').sequence({ id: 'a' });
  const asked = sequence.infer(chunk(1)).catch(() => settled.push('request'));
  await sequence.end();
  settled.push('end');
  await asked;
  await sequence.end();
  assert.deepEqual(settled, ['request', 'end']);
  {
    await using used = server.model('m').sequence({ id: 'b' });
    assert.deepEqual(toldIn(await used.infer(chunk(0))), [0, ['b', true, false]]);
  }
  {
    await using unused = server.model('m').sequence({ id: 'c' });
    assert.equal(unused.ended, false);
  }
  await turn();
  assert.deepEqual(
    heard.map(([name, { id, error }]) => [name, id, error]),
    [
      ['start', 'a', undefined],
      ['end', 'a', undefined],
      ['start', 'b', undefined],
      ['end', 'b', undefined],
    ],
  );
  assert.equal(heard[0]?.[1], heard[1]?.[1]);
  assert.equal(server.statistics('m')[0]?.inference_count, 1);
});

test('a stream of a decoupled model may be one of a sequence', async (t) => {
  const server = await serving(t, {
    config: { ...tellerConfig, max_batch_size: 0, model_transaction_policy: { decoupled: true } },
    execute: (requests) =>
      requests.map(async function* ({ sequence }) {
        await Promise.resolve();
        for (const flag of ['start', 'end'] as const) yield { y: [String(sequence?.[flag])] };
      }),
  });
  const told: unknown[] = [];
  for await (const { outputs } of server.stream('m', chunk(0), { sequence: { id: 1, start: true } }))
    told.push(outputs['y']?.strings()[0]);
  assert.deepEqual(told, ['true', 'false']);
});
