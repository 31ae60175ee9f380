/** The ways in which `Model.map` ends before its last item. */

import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { suite, test } from 'node:test';
import type { Inputs } from '../../src/index.js';
import { asking, faulty, gate, held } from '../faults/harness.js';
import { failingModel } from '../support/models.js';
import { floats, identity, onnx, rejection, row, serve, turn, until } from '../support/harness.js';

/** A source that counts its calls, and throws an error of its own at one position. */
class Source {
  pulled = 0;
  returned = 0;
  failAt = Infinity;
  error: unknown = new RangeError('from the source');
  items: (i: number) => Inputs = (i) => ({ x: row(i) });

  #next(): IteratorResult<Inputs, undefined> {
    if (this.pulled === this.failAt) throw this.error;
    return this.pulled < 1000
      ? { done: false, value: this.items(this.pulled++) }
      : { done: true, value: undefined };
  }

  [Symbol.iterator](): Iterator<Inputs, undefined> {
    return {
      next: () => this.#next(),
      return: () => {
        this.returned++;
        return { done: true, value: undefined };
      },
    };
  }

  async(): AsyncIterable<Inputs> {
    const iterator = this[Symbol.iterator]();
    return {
      [Symbol.asyncIterator]: () => ({
        next: async () => Promise.resolve().then(() => iterator.next()),
        return: () => Promise.resolve(iterator.return?.() ?? { done: true, value: undefined }),
      }),
    };
  }

  of(kind: 'sync' | 'async'): Iterable<Inputs> | AsyncIterable<Inputs> {
    return kind === 'sync' ? this : this.async();
  }
}

/** Reads all results. */
async function drain(results: AsyncIterator<unknown>): Promise<void> {
  while ((await results.next()).done !== true);
}

for (const kind of ['sync', 'async'] as const) {
  void suite(`of a ${kind} source`, () => {
    test('an error of the source passes unchanged, after the results before it', async (t) => {
      const server = await serve(t, { echo: identity() });
      const source = new Source();
      source.failAt = 3;
      const seen: number[] = [];
      const run = async (): Promise<void> => {
        for await (const result of server.model('echo').map(source.of(kind)))
          seen.push(floats(result)[0] ?? NaN);
      };
      await assert.rejects(run(), (error) => error === source.error);
      assert.deepEqual(seen, [0, 1, 2]);
      // As everywhere in JavaScript, the return() of a source that has failed is not called.
      assert.equal(source.returned, 0);
    });

    test('an error that is no Error passes unchanged too', async (t) => {
      const server = await serve(t, { echo: identity() });
      const source = new Source();
      source.failAt = 0;
      source.error = 'a string';
      await assert.rejects(server.model('echo').map(source.of(kind)).next(), (error) => error === 'a string');
    });

    test('the first error of the model ends it, and tells the source', async (t) => {
      const model = onnx(failingModel(), {
        inputs: [{ name: 'index', datatype: 'INT64', dims: [1] }],
        outputs: [{ name: 'value', dims: [1] }],
        batching: false,
      });
      const server = await serve(t, { failing: model });
      const source = new Source();
      source.items = (i) => ({ index: [[i]] });
      const seen: number[] = [];
      const run = async (): Promise<void> => {
        for await (const result of server.model('failing').map(source.of(kind), { concurrency: 4 })) {
          seen.push(floats(result, 'value')[0] ?? NaN);
        }
      };
      const error = await rejection(run());
      assert.match(error.message, /out of data bounds/);
      assert.deepEqual(seen, [0, 10, 20, 30, 40, 50, 60, 70]);
      assert.equal(source.returned, 1);
      assert.ok(source.pulled <= 14, `${source.pulled} items were pulled`);
    });

    test('an item of the wrong kind ends it with INVALID_ARG', async (t) => {
      const server = await serve(t, { echo: identity() });
      const source = new Source();
      source.items = (i) => (i === 2 ? { z: row() } : { x: row(i) });
      const iterator = server.model('echo').map(source.of(kind));
      await iterator.next();
      await iterator.next();
      assert.equal((await rejection(iterator.next())).code, 'INVALID_ARG');
      assert.deepEqual(await iterator.next(), { done: true, value: undefined });
      assert.equal(source.returned, 1);
    });

    test('a break of the consumer cancels what is in flight, and tells the source once', async (t) => {
      const { parameters } = await gate(t);
      const server = await serve(t, { slow: faulty({ batching: false, parameters }) });
      const source = new Source();
      source.items = (i) => asking(i === 0 ? 'none' : 'held', i);
      for await (const result of server.model('slow').map(source.of(kind), { concurrency: 5 })) {
        assert.equal(floats(result)[0], 0);
        break;
      }
      assert.equal(source.returned, 1);
      // The request that runs counts as cancelled only when it ends.
      await until(() => server.model('slow').statistics().inference_stats.fail.count >= 3);
      assert.ok(source.pulled <= 6, `${source.pulled} items were pulled`);
    });

    test('a signal ends it with CANCELLED and its reason, and tells the source', async (t) => {
      const server = await serve(t, { slow: identity({ batching: false, delayMs: 10 }) });
      const source = new Source();
      const controller = new AbortController();
      const reason = new Error('enough');
      const seen: number[] = [];
      const run = async (): Promise<void> => {
        const options = { concurrency: 4, signal: controller.signal };
        for await (const result of server.model('slow').map(source.of(kind), options)) {
          if (seen.push(floats(result)[0] ?? NaN) === 2) controller.abort(reason);
        }
      };
      const error = await rejection(run());
      assert.equal(error.code, 'CANCELLED');
      assert.equal(error.cause, reason);
      assert.ok(seen.length <= 4);
      assert.equal(source.returned, 1);
    });

    test('a signal that is aborted already ends it at once', async (t) => {
      const server = await serve(t, { echo: identity() });
      const source = new Source();
      const signal = AbortSignal.abort('no');
      const error = await rejection(server.model('echo').map(source.of(kind), { signal }).next());
      assert.deepEqual([error.code, error.cause], ['CANCELLED', 'no']);
    });

    test('the listener on the signal is taken off at the end', async (t) => {
      const server = await serve(t, { echo: identity() });
      const { signal } = new AbortController();
      const source = new Source();
      source.pulled = 997;
      await drain(server.model('echo').map(source.of(kind), { signal }));
      assert.equal(getEventListeners(signal, 'abort').length, 0);
    });
  });
}

test('a signal ends a map whose source gives nothing', async (t) => {
  const server = await serve(t, { echo: identity() });
  const never: AsyncIterable<Inputs> = {
    [Symbol.asyncIterator]: () => ({ next: () => new Promise(() => undefined) }),
  };
  const controller = new AbortController();
  const pending = rejection(server.model('echo').map(never, { signal: controller.signal }).next());
  controller.abort('enough');
  const error = await pending;
  assert.deepEqual([error.code, error.cause], ['CANCELLED', 'enough']);
});

test('closing the server ends a map', async (t) => {
  const server = await serve(t, { slow: identity({ batching: false, delayMs: 5 }) });
  const iterator = server.model('slow').map(new Source());
  await iterator.next();
  await server.close({ timeoutMs: 0 });
  const { code } = await rejection(drain(iterator));
  assert.ok(code === 'CANCELLED' || code === 'UNAVAILABLE', code);
});

test('closing the server ends a map that waits for room', async (t) => {
  // A request and its answer take 128 bytes.
  const closed = await gate(t);
  const server = await serve(t, { slow: held(closed) }, { maxInFlightBytes: 200 });
  const others = server.infer('slow', { x: row(1) });
  const next = rejection(
    server
      .model('slow')
      .map([{ x: row(2) }])
      .next(),
  );
  await turn();
  const closing = server.close();
  await turn();
  await closed.open();
  await closing;
  assert.equal(floats(await others)[0], 1);
  assert.equal((await next).code, 'UNAVAILABLE');
});

test('unloading the model ends a map when what is in flight is answered', async (t) => {
  const models = { echo: identity({ batching: false }) };
  const server = await serve(t, models, { modelControlMode: 'explicit', loadModels: ['*'] });
  const iterator = server.model('echo').map(new Source(), { concurrency: 4 });
  await iterator.next();
  await server.unloadModel('echo');
  assert.equal((await rejection(drain(iterator))).code, 'NOT_FOUND');
  await until(() => !server.model('echo').ready);
});
