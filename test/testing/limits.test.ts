/** What a test server keeps, and what it refuses because of limits. */

import assert from 'node:assert/strict';
import test from 'node:test';
import { testServer, type TestServer } from '../../src/testing/index.js';
import { failureOf } from './harness.js';

test('a batch that the queue has no room for is refused', async (t) => {
  const tensor = (name: string): object => ({ name, data_type: 'TYPE_FP32', dims: [1] });
  const serveWith = async (batching: object): Promise<TestServer> => {
    const server = await testServer({
      models: {
        m: {
          config: {
            max_batch_size: 8,
            dynamic_batching: batching,
            input: [tensor('x')],
            output: [tensor('y')],
          },
          answer: ({ x }) => ({ y: x }),
        },
      },
    });
    t.after(() => server.close());
    return server;
  };
  const [small, mixed] = [
    await serveWith({ default_queue_policy: { max_queue_size: 3 } }),
    await serveWith({
      priority_levels: 2,
      default_priority_level: 1,
      default_queue_policy: { max_queue_size: 3 },
      priority_queue_policy: { 2: { max_queue_size: 5 } },
    }),
  ];
  assert.equal(
    await failureOf(small.batch('m', 4)),
    "INVALID_ARG: model 'm': the server forms no batch of 4 requests: its queue has room for 3 of them, by max_queue_size",
  );
  const three = small.batch('m', 3);
  await Promise.all([1, 2, 3].map((x) => small.infer('m', { x: [[x]] })));
  await three;
  assert.match((await failureOf(mixed.batch('m', 6))) ?? '', /has room for 5 of them/);
  mixed.hold('m');
  const calls = [1, 2].map((priority) => mixed.infer('m', { x: [[1]] }, { priority }));
  while (mixed.requests('m').length < 2) await new Promise(setImmediate);
  assert.match((await failureOf(mixed.batch('m', 2))) ?? '', /: their priorities differ$/);
  mixed.release('m');
  await Promise.all(calls);
});

test('records are kept within a limit of bytes, and a warning tells of the first that go', async (t) => {
  const warnings: string[] = [];
  t.mock.method(process, 'emitWarning', (text: string) => warnings.push(text));
  const tensor = (name: string): object => ({ name, data_type: 'TYPE_UINT8', dims: [-1] });
  const echo = { input: [tensor('x')], output: [tensor('y')] };
  const server = await testServer({
    models: {
      m: { config: echo, answer: ({ x }) => ({ y: x }) },
      other: { config: echo, answer: ({ x }) => ({ y: x }) },
    },
    maxRecordedBytes: 10 * 1024,
  });
  t.after(() => server.close());
  const ids = (): string[] => server.requests().map(({ id }) => id);
  const infer = async (id: string, bytes: number, model = 'm'): Promise<void> => {
    await server.infer(model, { x: new Uint8Array(bytes) }, { id });
  };
  // Each has its inputs, its outputs, and 1 KiB.
  await infer('a', 1024);
  await infer('b', 1024, 'other');
  await infer('c', 1024);
  assert.deepEqual([ids(), warnings], [['a', 'b', 'c'], []]);
  await infer('d', 1024);
  assert.deepEqual(ids(), ['b', 'c', 'd']);
  assert.equal(warnings.length, 1);
  assert.match(warnings[0] ?? '', /4 requests have more than maxRecordedBytes \(10240\); call reset/);
  // One that is larger than all stays while it is the last.
  await infer('e', 20_000);
  assert.deepEqual(ids(), ['e']);
  await infer('f', 1);
  assert.deepEqual(ids(), ['f']);
  server.reset();
  assert.deepEqual(ids(), []);
  assert.equal(warnings.length, 1);
  assert.match(
    (await failureOf(testServer({ models: { m: () => ({}) }, maxRecordedBytes: -1 }))) ?? '',
    /expected bytes, 0 or more, or Infinity for options.maxRecordedBytes/,
  );
});
