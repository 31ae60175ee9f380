/** `stream`: order, ends, errors, options, and models that are not decoupled. */

import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { createServer, TritonError, type InferResult } from '../../src/index.js';
import {
  floats,
  identity,
  onnx,
  rejection,
  row,
  serve,
  statisticsAfter,
  thrown,
} from '../support/harness.js';
import { temporaryFolder, writeRepository } from '../support/repository.js';
import { asking, numberOf, readAll, streaming, upTo } from './harness.js';

void suite('a request of a decoupled model yields what the model sends', () => {
  for (const count of [1, 2, 15, 16, 17, 1000]) {
    test(`${count} responses, the last of which ends it`, async (t) => {
      const server = await serve(t, { m: streaming() });
      assert.deepEqual(await readAll(server.model('m').stream(asking(count))), {
        numbers: upTo(count),
        error: undefined,
      });
    });

    test(`${count} responses and an end apart`, async (t) => {
      const server = await serve(t, { m: streaming() });
      assert.deepEqual(
        (await readAll(server.model('m').stream(asking(count, 'apart')))).numbers,
        upTo(count),
      );
    });

    test(`${count} responses and an error after them`, async (t) => {
      const server = await serve(t, { m: streaming() });
      const { numbers, error } = await readAll(server.model('m').stream(asking(count, 'fails')));
      assert.deepEqual(numbers, upTo(count));
      assert.equal(error?.code, 'INTERNAL');
      assert.match(error.message, /an injected failure/);
      assert.equal(error.model, 'm');
    });
  }

  test('no response at all', async (t) => {
    const server = await serve(t, { m: streaming() });
    assert.deepEqual(await readAll(server.model('m').stream(asking(0, 'apart'))), {
      numbers: [],
      error: undefined,
    });
  });

  test('an error that is not final ends the iteration and cancels the request', async (t) => {
    const server = await serve(t, { m: streaming() });
    const { numbers, error } = await readAll(server.model('m').stream(asking(1_000_000, 'midst')));
    assert.deepEqual(numbers, []);
    assert.match(error?.message ?? '', /an error in the midst/);
    const { inference_stats: counts } = await statisticsAfter(server, 'm', 1);
    assert.equal(counts.fail.count, 1);
  });

  test('large outputs come in memory of their own', async (t) => {
    const server = await serve(t, { m: streaming() });
    const size = 50_000;
    let seen = 0;
    for await (const { outputs } of server.model('m').stream(asking(20, 'last', size))) {
      const { data } = outputs['y']?.as('INT32') ?? assert.fail('no output');
      assert.equal(data.length, size);
      assert.ok(data.every((value) => value === seen));
      seen++;
    }
    assert.equal(seen, 20);
  });

  test('the results of a stream outlive the others', async (t) => {
    const server = await serve(t, { m: streaming() });
    const results: InferResult[] = [];
    for await (const result of server.model('m').stream(asking(3000, 'apart', 100))) results.push(result);
    assert.deepEqual(results.map(numberOf), upTo(3000));
  });

  test('several calls of next() before a response get the responses in their order', async (t) => {
    const server = await serve(t, { m: streaming() });
    const stream = server.model('m').stream(asking(3));
    const nexts = await Promise.all([
      stream.next(),
      stream.next(),
      stream.next(),
      stream.next(),
      stream.next(),
    ]);
    assert.deepEqual(
      nexts.map(({ value, done }) => (done === true ? 'done' : numberOf(value))),
      [0, 1, 2, 'done', 'done'],
    );
  });

  test('server.stream is the same', async (t) => {
    const server = await serve(t, { m: streaming() });
    assert.deepEqual((await readAll(server.stream('m', asking(5), { version: 1 }))).numbers, upTo(5));
    assert.equal((await readAll(server.stream('n', asking(5)))).error?.code, 'NOT_FOUND');
  });

  test('success is counted once, at the end', async (t) => {
    const server = await serve(t, { m: streaming() });
    await readAll(server.model('m').stream(asking(100)));
    await readAll(server.model('m').stream(asking(0, 'apart')));
    const { inference_stats: counts, inference_count } = await statisticsAfter(server, 'm', 2);
    assert.equal(counts.success.count, 2);
    assert.equal(inference_count, 2);
  });
});

void suite('a thousand streams at once', () => {
  test('each gets its own responses in order', async (t) => {
    const server = await serve(t, { m: streaming({ instances: 2 }) });
    const model = server.model('m');
    const all = await Promise.all(
      Array.from({ length: 1000 }, (_, i) => readAll(model.stream(asking(i % 60)))),
    );
    all.forEach(({ numbers, error }, i) => {
      assert.equal(error, undefined);
      assert.deepEqual(numbers, upTo(i % 60));
    });
  });
});

void suite('a batch of streams', () => {
  test('requests that run together have responses of their own', async (t) => {
    const server = await serve(t, {
      m: streaming({
        maxBatchSize: 8,
        batching: 'preferred_batch_size: [ 8 ] max_queue_delay_microseconds: 10000000',
      }),
    });
    const model = server.model('m');
    const batched = (count: number): Parameters<typeof model.stream>[0] => ({
      count: [[count]],
      how: [[1]],
      size: [[1]],
    });
    const all = await Promise.all(
      Array.from({ length: 8 }, (_, i) => readAll(model.stream(batched(i * 20)))),
    );
    assert.deepEqual(
      all.map(({ numbers }) => numbers),
      Array.from({ length: 8 }, (_, i) => upTo(i * 20)),
    );
    const { execution_count, inference_count } = await statisticsAfter(server, 'm', 8);
    assert.equal(execution_count, 1);
    assert.equal(inference_count, 8);
  });
});

void suite('options of a stream', () => {
  test('the id comes with each result, and with the error', async (t) => {
    const server = await serve(t, { m: streaming() });
    const stream = server.model('m').stream(asking(3, 'fails'), { id: 'a1' });
    const ids: string[] = [];
    const error = await rejection(
      (async () => {
        for await (const { id } of stream) ids.push(id);
      })(),
    );
    assert.deepEqual(ids, ['a1', 'a1', 'a1']);
    assert.match(error.message, /\[request id: a1\]/);
  });

  test('ownOutputs: large outputs can be transferred', async (t) => {
    const server = await serve(t, { m: streaming() });
    for await (const { outputs } of server
      .model('m')
      .stream(asking(2, 'last', 30_000), { ownOutputs: true })) {
      const { data } = outputs['y']?.as('INT32') ?? assert.fail('no output');
      structuredClone(data, { transfer: [data.buffer] });
      assert.equal(data.length, 0);
    }
  });

  test('outputs, priority, timeoutUs and parameters are taken', async (t) => {
    const server = await serve(t, { m: streaming() });
    const options = { outputs: ['y'], priority: 1, timeoutUs: 1e9, parameters: { a: 1 } } as const;
    assert.deepEqual((await readAll(server.model('m').stream(asking(4), options))).numbers, upTo(4));
  });

  test('classes of each response', async (t) => {
    const server = await serve(t, { m: streaming() });
    const classes: string[] = [];
    const options = { outputs: [{ name: 'y', classification: 1 }] };
    for await (const { outputs } of server.model('m').stream(asking(3, 'apart', 4), options)) {
      classes.push(...(outputs['y']?.strings() ?? []));
    }
    assert.deepEqual(
      classes.map((text) => text.split(':')[0]),
      ['0', '1', '2'],
    );
  });

  test('classes of large responses in their order, and the error after them', async (t) => {
    const server = await serve(t, { m: streaming() });
    const classes: string[] = [];
    const read = async (): Promise<void> => {
      const options = { outputs: [{ name: 'y', classification: 2 ** 13 }] };
      for await (const { outputs } of server.model('m').stream(asking(4, 'fails', 2 ** 17), options)) {
        classes.push(...(outputs['y']?.strings().slice(0, 1) ?? []));
      }
    };
    // Each response takes several slices, and the error arrives during the first one.
    await assert.rejects(read(), TritonError);
    assert.deepEqual(classes, ['0:0', '1:0', '2:0', '3:0']);
  });

  test('into is refused by name', async (t) => {
    const server = await serve(t, { m: streaming() });
    const { error } = await readAll(server.model('m').stream(asking(3), { into: { y: new Int32Array(1) } }));
    assert.equal(error?.code, 'INVALID_ARG');
    assert.match(error.message, /options\.into/);
  });

  test('wrong inputs and options come from the iterator', async (t) => {
    const server = await serve(t, { m: streaming() });
    const { error } = await readAll(server.model('m').stream({ count: 'x' }));
    assert.equal(error?.code, 'INVALID_ARG');
    // @ts-expect-error -- what a program in JavaScript may pass
    const other = await readAll(server.model('m').stream(asking(1), { idd: 'a' }));
    assert.match(other.error?.message ?? '', /idd/);
  });
});

void suite('models of the other kind', () => {
  test('a stream of a model with one response yields that', async (t) => {
    const server = await serve(t, { echo: identity() });
    const results: number[][] = [];
    for await (const result of server.model('echo').stream({ x: row(3) })) results.push(floats(result));
    assert.deepEqual(results, [[...row(3)]]);
  });

  test('infer of a decoupled model names stream', async (t) => {
    const server = await serve(t, { m: streaming() });
    for (const promise of [server.model('m').infer(asking(1)), server.infer('m', asking(1))]) {
      const error = await rejection(promise);
      assert.equal(error.code, 'UNSUPPORTED');
      assert.match(error.message, /model 'm'.*call stream/);
    }
  });

  test('map of a decoupled model is refused by name', async (t) => {
    const server = await serve(t, { m: streaming() });
    const error = thrown(() => server.model('m').map([asking(1)]));
    assert.equal(error.code, 'UNSUPPORTED');
    assert.match(error.message, /model 'm'.*map/);
  });

  test('a backend whose models give one response refuses decoupled ones at the load', async (t) => {
    const more = 'model_transaction_policy { decoupled: true }';
    const folder = await temporaryFolder(t);
    await writeRepository(folder, { m: onnx(undefined, { more }), e: identity({ more }) });
    const server = await createServer(folder, { exitOnError: false });
    t.after(() => server.close());
    for (const { name, state, reason } of server.index()) {
      assert.equal(state, 'UNAVAILABLE', name);
      assert.match(reason ?? '', /model_transaction_policy\.decoupled.*one response/);
    }
  });
});
