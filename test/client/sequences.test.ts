/** Sequences over HTTP and gRPC, as a client of this package sends them and as the wire carries them. */

import assert from 'node:assert/strict';
import { setTimeout as wait } from 'node:timers/promises';
import { suite, test } from 'node:test';
import { createServer, type InferenceServer } from '../../src/index.js';
import { rejection, type Context } from '../support/harness.js';
import { chunk, teller, tellerConfig, toldIn } from '../support/sequences.js';
import { addressOf, connected, protocols, type Both, type Protocol } from './harness.js';

async function started(t: Context): Promise<InferenceServer> {
  const server = await createServer({
    models: {
      m: teller,
      // The first of two requests takes the longest, so their answers would change places.
      slow: {
        config: { ...tellerConfig, max_batch_size: 1, instance_group: [{ count: 2, kind: 'KIND_CPU' }] },
        execute: async (requests) => {
          const [x = 0] = requests[0]?.inputs['x']?.as('FP32').data ?? [];
          // A cancelled request frees its instance.
          await wait(x, undefined, { signal: requests[0]?.signal }).catch(() => undefined);
          if (x === 13) throw new Error('a mistake');
          return teller.execute(requests);
        },
      },
    },
  });
  t.after(() => server.close({ timeoutMs: 0 }));
  return server;
}

async function start(t: Context, protocol: Protocol): Promise<Both> {
  const own = await started(t);
  return { own, remote: await connected(t, await addressOf(t, protocol, own)) };
}

for (const protocol of protocols) {
  void suite(protocol, () => {
    test('ids and flags arrive as they were given', async (t) => {
      const { remote } = await start(t, protocol);
      const model = await remote.model('m');
      for (const [sequence, told] of [
        [{ id: 5, start: true }, ['5n', true, false]],
        [{ id: '5', end: true }, ['5', false, true]],
        [{ id: 2 ** 53 - 1 }, ['9007199254740991n', false, false]],
        [{ id: 2n ** 63n - 1n }, ['9223372036854775807n', false, false]],
        [{ id: 2n ** 63n }, ['9223372036854775808n', false, false]],
        [{ id: 2n ** 64n - 1n, start: true, end: true }, ['18446744073709551615n', true, true]],
        [{ id: 'é'.repeat(64) }, ['é'.repeat(64), false, false]],
        [{ id: 0, start: true }, ['0n', true, false]],
        [{ id: 0 }, null],
        [{ id: '' }, null],
      ] as const) {
        assert.deepEqual(toldIn(await model.infer(chunk(1), { sequence })), [1, told]);
        for await (const result of model.stream(chunk(1), { sequence }))
          assert.deepEqual(toldIn(result), [1, told]);
      }
      const long = await rejection(model.infer(chunk(1), { sequence: { id: 'x'.repeat(129) } }));
      assert.equal(long.code, 'UNSUPPORTED');
      assert.equal((await rejection(model.infer(chunk(1), { sequence: { id: -1 } }))).code, 'INVALID_ARG');
      const results: unknown[] = [];
      for await (const result of model.map([chunk(1), chunk(2)], {
        sequence: { id: 6, start: true, end: true },
      }))
        results.push(toldIn(result));
      assert.deepEqual(results, [
        [1, ['6n', true, false]],
        [2, ['6n', false, true]],
      ]);
    });

    test('the requests of a sequence run in the order of the calls', async (t) => {
      const { remote } = await start(t, protocol);
      const sequence = (await remote.model('slow')).sequence();
      assert.ok(typeof sequence.id === 'bigint' && sequence.id >= 2n ** 62n);
      const order: number[] = [];
      const ask = (x: number, end = false): Promise<unknown> =>
        (end ? sequence.end(chunk(x)) : sequence.infer(chunk(x))).then((result) => {
          order.push(x);
          return toldIn(result);
        });
      // The description of the model is fetched meanwhile.
      const asked = [ask(30), ask(20), ask(10), ask(0, true)];
      const told = [...(await Promise.all(asked))];
      assert.deepEqual(order, [30, 20, 10, 0]);
      assert.deepEqual(
        told,
        order.map((x, i) => [x, [`${sequence.id}n`, i === 0, i === 3]]),
      );
      assert.match((await rejection(sequence.infer(chunk(0)))).message, /has ended; begin another one/);
    });

    test('what ends a sequence, and what does not', async (t) => {
      const { remote } = await start(t, protocol);
      const model = await remote.model('slow');
      const sequence = model.sequence({ id: 'a' });
      assert.equal((await rejection(sequence.infer({ z: [1] }))).code, 'INVALID_ARG');
      assert.equal((await rejection(sequence.end({ z: [1] }))).code, 'INVALID_ARG');
      const [failed, next] = [sequence.infer(chunk(13)), sequence.infer(chunk(0))];
      assert.equal((await rejection(failed)).code, 'INTERNAL');
      assert.deepEqual(toldIn(await next), [0, ['a', false, false]]);
      const stop = new AbortController();
      const asked = [sequence.infer(chunk(60_000), { signal: stop.signal }), sequence.infer(chunk(0))];
      await wait(20);
      stop.abort();
      const errors = await Promise.all(asked.map(rejection));
      assert.deepEqual(
        errors.map(({ code }) => code),
        ['CANCELLED', 'CANCELLED'],
      );
      assert.match(errors[1]?.message ?? '', /sequence 'a' has ended, because one of its requests failed/);
      await sequence.end();
      let isAnswered = false;
      {
        await using other = model.sequence();
        void other.infer(chunk(1)).then(() => {
          isAnswered = true;
        });
      }
      assert.equal(isAnswered, true);
      const gone = model.sequence();
      const broken = gone.infer(chunk(60_000));
      await wait(20);
      await remote.close({ timeoutMs: 0 });
      assert.equal((await rejection(broken)).code, 'CANCELLED');
      assert.equal((await rejection(gone.infer(chunk(0)))).code, 'CANCELLED');
    });
  });
}

test('parameters of a request over HTTP, and of generate, are its sequence', async (t) => {
  const base = await addressOf(t, 'http', await started(t));
  const post = async (path: string, body: string): Promise<unknown> =>
    (await fetch(`${base}/v2/models/m/${path}`, { method: 'POST', body })).json();
  const infer = async (parameters: string): Promise<unknown> => {
    const answer = await post(
      'infer',
      `{"inputs":[{"name":"x","shape":[1,1],"datatype":"FP32","data":[1]}],"parameters":${parameters}}`,
    );
    const { outputs } = answer as { readonly outputs: readonly { readonly data: readonly string[] }[] };
    return JSON.parse(outputs[0]?.data[0] ?? '') as unknown;
  };
  const all = '"sequence_id":18446744073709551615,"sequence_start":true,"sequence_end":true';
  for (const [parameters, told] of [
    [all, ['18446744073709551615n', true, true]],
    ['"sequence_id":7,"sequence_start":false,"sequence_end":false', ['7n', false, false]],
    ['"sequence_id":"seven","sequence_end":true', ['seven', false, true]],
    ['"sequence_id":0,"sequence_start":false', null],
    ['"sequence_id":"","a":"b"', null],
  ] as const) {
    assert.deepEqual(await infer(`{${parameters}}`), [1, told]);
    const flat = (await post('generate', `{"x":1,${parameters}}`)) as { readonly y: string };
    assert.deepEqual(JSON.parse(flat.y), [1, told]);
    const inner = (await post('generate', `{"x":1,"parameters":{${parameters}}}`)) as { readonly y: string };
    assert.deepEqual(JSON.parse(inner.y), [1, told]);
  }
  const metadata = (await (await fetch(`${base}/v2`)).json()) as { readonly extensions: readonly string[] };
  assert.deepEqual(metadata.extensions.slice(0, 2), ['classification', 'sequence']);
});
