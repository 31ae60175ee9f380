/** What a test asks of a test server. */

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import test, { mock, type TestContext } from 'node:test';
import { promisify } from 'node:util';
import { connectServer } from '../../src/client/index.js';
import { TritonError, type ModelServer } from '../../src/index.js';
import { assertClose, assertTensor, testServer, type TestServer } from '../../src/testing/index.js';
import { temporaryFolder } from '../support/repository.js';
import { failureOf } from './harness.js';
import { models } from './models.js';

const run = promisify(execFile);

async function serve(t: TestContext, given = models): Promise<TestServer> {
  const server = await testServer({ models: given });
  t.after(() => server.close());
  return server;
}

/** Lets the promises and ticks of the process go on. */
function turn(): Promise<void> {
  return new Promise((resolve) => {
    process.nextTick(resolve);
  });
}

const busy = new TritonError('UNAVAILABLE', 'no room', { reason: 'QUEUE_FULL' });

test('a test server needs no addon', async () => {
  const code = `
    import { testServer } from ${JSON.stringify(new URL('../../src/testing/index.js', import.meta.url).href)};
    const config = { input: [{ name: 'x', data_type: 'TYPE_FP32', dims: [1] }], output: [{ name: 'y', data_type: 'TYPE_FP32', dims: [1] }] };
    const server = await testServer({ models: { m: { config, answer: ({ x }) => ({ y: x }) } } });
    const { outputs } = await server.infer('m', { x: [3] });
    const { url } = await server.listen();
    const ready = (await fetch(url + '/v2/health/ready')).status;
    console.log(outputs.y.data[0], ready, server.metrics().includes('nv_inference_count'), server.explain('m').batches.length);
    await server.close();`;
  const { stdout } = await run(process.execPath, ['--input-type=module', '--eval', code], {
    env: { ...process.env, TRITONTS_ADDON: '/there/is/none' },
  });
  assert.equal(stdout, '3 200 true 1\n');
});

test('requests are recorded with their outcomes', async (t) => {
  const server = await serve(t);
  const model = server.model('double');
  await model.infer({ x: [1, 2] }, { id: 'one', parameters: { user: 'ann', n: 3 }, outputs: ['y'] });
  server.fail('double', busy);
  await failureOf(
    model.infer(
      {
        x: [
          [1, 2],
          [3, 4],
        ],
      },
      { priority: 1, timeoutUs: 1000 },
    ),
  );
  await failureOf(model.infer({ x: new Float32Array(3) }));
  const [first, second, ...others] = server.requests('double');
  assert.deepEqual(others, [], 'a request that the checks refuse does not come to the model');
  assert.equal(first?.id, 'one');
  assert.deepEqual(first.parameters, { user: 'ann', n: 3n });
  assert.deepEqual(first.wanted, ['y']);
  assert.equal(first.outcome, 'answered');
  assert.equal(first.version, '1');
  assert.equal(first.batchSize, 1);
  assertTensor(first.inputs['x'], { datatype: 'FP32', shape: [1, 2], data: [1, 2] });
  assertTensor(first.responses[0]?.['y'], { datatype: 'FP32', shape: [1, 2], data: [2, 4] });
  assert.equal(second?.outcome, 'failed');
  assert.equal(second.error?.reason, 'QUEUE_FULL');
  assert.deepEqual([second.priority, second.timeoutUs, second.wanted], [1, 1000, undefined]);
  assert.deepEqual(server.requests('same'), []);
  server.reset();
  assert.deepEqual(server.requests(), []);
});

test('the next requests fail, as many as the test has said', async (t) => {
  const server = await serve(t);
  const model = server.model('double');
  server.fail('double', busy, { next: 2 });
  const outcomes: unknown[] = [];
  for (let i = 0; i < 3; i++) outcomes.push(await failureOf(model.infer({ x: [1, 2] })));
  assert.deepEqual(outcomes, ['UNAVAILABLE: no room', 'UNAVAILABLE: no room', undefined]);
  server.fail('double', busy, { next: Infinity });
  for (let i = 0; i < 3; i++) assert.notEqual(await failureOf(model.infer({ x: [1, 2] })), undefined);
  server.reset();
  assert.equal(await failureOf(model.infer({ x: [1, 2] })), undefined);
});

test('a seed decides which requests fail at random', async (t) => {
  const server = await serve(t);
  const model = server.model('double');
  const play = async (seed: number): Promise<string> => {
    server.fail('double', busy, { share: 0.5, seed });
    let text = '';
    for (let i = 0; i < 40; i++)
      text += (await failureOf(model.infer({ x: [1, 2] }))) === undefined ? '.' : 'x';
    return text;
  };
  const first = await play(7);
  assert.equal(await play(7), first);
  assert.notEqual(await play(8), first);
  const failed = first.replaceAll('.', '').length;
  assert.ok(failed > 8 && failed < 32, first);
});

test('delays are on the fake clock of the test', async (t) => {
  const server = await serve(t);
  server.delay('double', 60_000);
  mock.timers.enable({ apis: ['setTimeout', 'setInterval', 'setImmediate', 'Date'] });
  t.after(() => {
    mock.timers.reset();
  });
  let done = false;
  const answer = server.infer('double', { x: [1, 2] }).then(() => (done = true));
  while (server.requests('double').length === 0) await turn();
  await turn();
  mock.timers.tick(59_999);
  await turn();
  assert.equal(done, false);
  mock.timers.tick(1);
  await answer;
  assert.equal(server.requests('double')[0]?.at, 0, 'the fake clock began at 0');
  // Streams and large batches go on without real turns of the mocked timers, too.
  const seen: unknown[] = [];
  for await (const { outputs } of server.stream('counting', { n: [40] })) seen.push(outputs['i']?.data[0]);
  assert.equal(seen.length, 40);
});

test('a test forms a batch by hand', async (t) => {
  const server = await serve(t);
  const model = server.model('double');
  const batch = server.batch('double', 4);
  const early = [0, 1, 2].map((i) => model.infer({ x: [i, i] }));
  await new Promise((resolve) => setTimeout(resolve, 5));
  assert.deepEqual(
    server.requests('double').map(({ outcome }) => outcome),
    ['waiting', 'waiting', 'waiting'],
  );
  const last = model.infer({ x: [3, 3] });
  await batch;
  const results = await Promise.all([...early, last]);
  assert.deepEqual(
    results.map(({ timings }) => timings.batchSize),
    [4, 4, 4, 4],
  );
  assert.deepEqual(
    results.map(({ outputs }) => outputs['y']?.data[0]),
    [0, 2, 4, 6],
  );
  assert.equal(server.explain('double').batches.at(-1)?.requests, 4);
});

test('a batch that the server would not form is refused', async (t) => {
  const server = await serve(t);
  const two = [1, 2].map(() => server.infer('told', { x: [[1]] }));
  assert.equal(
    await failureOf(server.batch('told', 2)),
    "INVALID_ARG: model 'told': the server forms no batch of 2 requests: its configuration has no dynamic_batching with a max_batch_size, so each request runs alone",
  );
  await Promise.all(two);
  const nine = Array.from({ length: 9 }, () => server.infer('double', { x: [1, 1] }));
  assert.match(
    (await failureOf(server.batch('double', 9))) ?? '',
    /they have at least 9 rows, and max_batch_size is 8$/,
  );
  await Promise.all(nine);
  // Without any request, too.
  assert.match((await failureOf(server.batch('double', 9))) ?? '', /^INVALID_ARG: .*at least 9 rows/);
  server.hold('double');
  const two4 = [1, 2].map(() => server.infer('double', { x: new Float32Array(10) }));
  assert.match(
    (await failureOf(server.batch('double', 2))) ?? '',
    /they have 10 rows, and max_batch_size is 8$/,
  );
  server.release('double');
  await Promise.all(two4);
  assert.match((await failureOf(server.batch('double', 0))) ?? '', /expected a whole number of at least 1/);
  assert.match((await failureOf(server.batch('doubel', 1))) ?? '', /^NOT_FOUND: unknown model 'doubel'/);
});

test('a close waits for what the test holds, which it can release meanwhile', async () => {
  const server = await testServer({ models });
  server.hold('double');
  const waiting = server.infer('double', { x: [1, 2] });
  await turn();
  const closing = server.close();
  await turn();
  server.delay('double', 0);
  server.release('double');
  const { outputs } = await waiting;
  assert.deepEqual([...(outputs['y']?.data ?? [])], [2, 4]);
  await closing;
  assert.throws(() => {
    server.release('double');
  }, /clos/);
});

test('reset and close end the wait for a batch by hand', async (t) => {
  const server = await testServer({ models });
  t.after(() => server.close());
  const batch = failureOf(server.batch('double', 4));
  const waiting = server.infer('double', { x: [1, 2] });
  await turn();
  server.reset();
  assert.equal(
    await batch,
    "CANCELLED: model 'double': the batch of 4 requests: reset() ended the wait for its requests",
  );
  await waiting;
  await server.infer('double', { x: [1, 2] });
  const last = failureOf(server.batch('double', 2));
  await server.close();
  assert.match((await last) ?? '', /^CANCELLED: .*: the server was closed before it ended$/);
});

test('a batch whose fake timer is gone runs at reset', async (t) => {
  const server = await serve(t);
  mock.timers.enable({ apis: ['setTimeout'] });
  server.delay('double', 60_000);
  const delayed = server.infer('double', { x: [1, 2] });
  while (server.requests('double').length === 0) await turn();
  await turn();
  mock.timers.reset();
  server.reset();
  assert.equal((await delayed).outputs['y']?.data[0], 2);
  await server.infer('double', { x: [1, 2] });
});

test('a model calls another one for its request', async (t) => {
  let own: ModelServer | undefined;
  const config = models['double']?.config;
  assert.ok(config);
  const server = await serve(t, {
    ...models,
    outer: {
      config,
      initialize: ({ server: given }) => {
        own = given;
      },
      execute: (requests) =>
        requests.map(async (parent) => {
          const { outputs } = (await own?.infer('double', { x: parent.inputs['x'] }, { parent })) ?? {};
          return { y: outputs?.['y'] };
        }),
    },
  });
  assert.equal((await server.infer('outer', { x: [1, 2] })).outputs['y']?.data[1], 4);
});

for (const protocol of ['http', 'grpc'] as const)
  test(`the close ends calls over ${protocol} in its time, also with fake timers`, async (t) => {
    const server = await testServer({ models });
    const { url } = await server.listen(protocol);
    const remote = await connectServer(url);
    t.after(() => remote.close());
    server.hold('double');
    const held = failureOf(remote.infer('double', { x: [1, 2] }));
    while (server.requests('double').length === 0) await new Promise(setImmediate);
    mock.timers.enable({ apis: ['setTimeout', 'setInterval'] });
    t.after(() => {
      mock.timers.reset();
    });
    await server.close({ timeoutMs: 2000 });
    mock.timers.reset();
    // As the real server: its endpoints answer until the end.
    assert.match((await held) ?? '', /: model 'double': the server was closed before the request ran$/);
  });

/** How long the close of a server takes whose client has sent a part of a request, while another request is held. */
async function closeTime(protocol: 'http' | 'grpc', part: string, timeoutMs: number): Promise<number> {
  const server = await testServer({ models });
  const { url } = await server.listen(protocol);
  const client = connect(Number(new URL(url).port), '127.0.0.1');
  client.on('error', () => undefined);
  await once(client, 'connect');
  client.write(part);
  server.hold('double');
  const held = failureOf(server.infer('double', { x: [1, 2] }));
  while (server.requests('double').length === 0) await new Promise(setImmediate);
  const begun = performance.now();
  await server.close({ timeoutMs });
  const took = performance.now() - begun;
  client.destroy();
  await held;
  return took;
}

for (const [protocol, part] of [
  ['http', 'POST /v2/models/double/infer HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{'],
  ['grpc', 'PRI '],
] as const)
  test(`a client of ${protocol} that has sent a part of a request does not make the close longer than its limit`, async () => {
    // If clients had time of their own, each close would take 2 s more. A busy machine may delay some.
    let took = Infinity;
    for (let attempt = 0; took > 1500 && attempt < 20; attempt++) took = await closeTime(protocol, part, 400);
    assert.ok(took <= 1500, `${took} ms`);
  });

for (const protocol of ['http', 'grpc'] as const)
  test(`the close of a client of ${protocol} ends in its time, also with fake timers`, async (t) => {
    const server = await serve(t);
    const remote = await connectServer((await server.listen(protocol)).url);
    server.hold('double');
    const held = failureOf(remote.infer('double', { x: [1, 2] }));
    while (server.requests('double').length === 0) await new Promise(setImmediate);
    mock.timers.enable({ apis: ['setTimeout', 'setInterval'] });
    t.after(() => {
      mock.timers.reset();
    });
    await remote.close({ timeoutMs: 1 });
    assert.match((await held) ?? '', /closed/);
  });

for (const protocol of ['http', 'grpc'] as const)
  test(`a call over ${protocol} that ends while timers are fake leaves no timer`, async (t) => {
    // Timers that keep the process.
    const timers = (): number =>
      process.getActiveResourcesInfo().filter((resource) => resource === 'Timeout').length;
    const server = await serve(t);
    const { url } = await server.listen(protocol);
    const remote = await connectServer(url);
    t.after(() => remote.close());
    server.hold('double');
    const before = timers();
    const call = remote.infer('double', { x: [1, 2] });
    while (server.requests('double').length === 0) await new Promise(setImmediate);
    mock.timers.enable({ apis: ['setTimeout'] });
    t.after(() => {
      mock.timers.reset();
    });
    server.release('double');
    await call;
    mock.timers.reset();
    assert.equal(timers(), before);
  });

test('held requests wait, can be cancelled, and are cut off by the close', async (t) => {
  const server = await testServer({ models });
  t.after(() => server.close());
  server.hold('double');
  const controller = new AbortController();
  const left = failureOf(server.infer('double', { x: [1, 2] }, { signal: controller.signal }));
  const kept = failureOf(server.infer('double', { x: [1, 2] }));
  await new Promise((resolve) => setTimeout(resolve, 5));
  controller.abort();
  assert.match((await left) ?? '', /^CANCELLED/);
  const freed = server.infer('double', { x: [5, 5] });
  server.release('double');
  assert.equal(await kept, undefined);
  assert.equal((await freed).outputs['y']?.data[0], 10);
  server.hold('double');
  const last = failureOf(server.infer('double', { x: [1, 2] }));
  await new Promise((resolve) => setTimeout(resolve, 5));
  await server.close({ timeoutMs: 1 });
  assert.equal(await last, "CANCELLED: model 'double': the server was closed before the request ran");
  assert.deepEqual(
    server.requests('double').map(({ outcome }) => outcome),
    ['cancelled', 'answered', 'answered', 'cancelled'],
  );
});

test('a full queue refuses requests as that of a server', async (t) => {
  const config = {
    max_batch_size: 1,
    dynamic_batching: { default_queue_policy: { max_queue_size: 2 } },
    input: [{ name: 'x', data_type: 'TYPE_FP32', dims: [1] }],
    output: [{ name: 'y', data_type: 'TYPE_FP32', dims: [1] }],
  } as const;
  const server = await serve(t, {
    m: { config, execute: (all) => all.map(({ inputs: { x } }) => ({ y: x })) },
  });
  server.hold('m');
  const calls = [1, 2, 3].map((x) => failureOf(server.infer('m', { x: [x] })));
  assert.equal(
    await calls[2],
    "UNAVAILABLE: model 'm': its queue is full: max_queue_size is 2, and 2 requests wait",
  );
  server.release('m');
  assert.deepEqual(await Promise.all(calls.slice(0, 2)), [undefined, undefined]);
});

for (const protocol of ['http', 'grpc'] as const) {
  test(`code that connects by URL reaches a test server: ${protocol}`, async (t) => {
    const server = await serve(t);
    const { url } = await server.listen(protocol);
    const remote = await connectServer(url);
    t.after(() => remote.close());
    const { outputs } = await remote.infer('double', { x: [1, 2] }, { id: 'far' });
    assertTensor(outputs['y'], { datatype: 'FP32', shape: [1, 2], data: [2, 4] });
    assert.equal(server.requests('double')[0]?.id, 'far');
    server.fail('double', busy);
    const error = await remote.infer('double', { x: [1, 2] }).then(
      () => undefined,
      (thrown: unknown) => thrown as TritonError,
    );
    assert.deepEqual([error?.code, error?.message], ['UNAVAILABLE', 'no room']);
    assert.match((await failureOf(remote.infer('double', { x: [1, 2, 3] }))) ?? '', /^INVALID_ARG/);
  });
}

test('a double has the configuration of its model in a repository', async (t) => {
  const folder = await temporaryFolder(t);
  await mkdir(join(folder, 'digits'));
  await writeFile(
    join(folder, 'digits', 'config.pbtxt'),
    `backend: "onnxruntime" max_batch_size: 4 dynamic_batching { }
     input { name: "image" data_type: TYPE_FP32 dims: 2 }
     output { name: "scores" data_type: TYPE_FP32 dims: 2 }
     instance_group { kind: KIND_GPU }`,
  );
  const server = await testServer({
    modelRepository: folder,
    models: { digits: ({ image }) => ({ scores: image }) },
  });
  t.after(() => server.close());
  assert.deepEqual(server.model('digits').metadata.inputs, [
    { name: 'image', datatype: 'FP32', shape: [-1, 2] },
  ]);
  const { outputs } = await server.infer('digits', { image: [3, 4] });
  assertTensor(outputs['scores'], { datatype: 'FP32', shape: [1, 2], data: [3, 4] });
  assert.match(
    (await failureOf(testServer({ modelRepository: folder, models: { other: () => ({}) } }))) ?? '',
    /^NOT_FOUND: model 'other': its configuration cannot be read from .*other.config\.pbtxt'$/,
  );
});

test('wrong options are refused with what was expected', async () => {
  const call = (options: unknown): Promise<string | undefined> =>
    failureOf(testServer(options as Parameters<typeof testServer>[0]));
  assert.match((await call({ models: {}, batch: 3 })) ?? '', /^INVALID_ARG: .*'batch'/);
  assert.match((await call({ models: {} })) ?? '', /^INVALID_ARG: expected at least one model/);
  assert.match(
    (await call({ models: { m: () => ({}) } })) ?? '',
    /^INVALID_ARG: model 'm': expected its configuration/,
  );
  assert.match(
    (await call({ models: { m: { config: {} } } })) ?? '',
    /one of the functions answer and execute/,
  );
  assert.match((await call({ models: { m: { config: {}, answer: () => ({}) } } })) ?? '', /has no outputs/);
  assert.match(
    (await call({ models: { m: { config: 'max_batch_size: x', answer: () => ({}) } } })) ?? '',
    /^INVALID_ARG: .*max_batch_size/,
  );
});

test('a function fails its request alone', async (t) => {
  const config = {
    max_batch_size: 4,
    dynamic_batching: {},
    input: [{ name: 'x', data_type: 'TYPE_FP32', dims: [1] }],
    output: [{ name: 'y', data_type: 'TYPE_FP32', dims: [1] }],
  } as const;
  const server = await testServer({
    models: {
      m: {
        config,
        answer: async ({ x }) => {
          await Promise.resolve();
          if (x?.data[0] === 2) throw new TritonError('NOT_FOUND', 'there is no 2');
          return { y: x };
        },
      },
    },
  });
  t.after(() => server.close());
  const batch = server.batch('m', 3);
  const calls = [1, 2, 3].map((x) => failureOf(server.infer('m', { x: [x] })));
  await batch;
  assert.deepEqual(await Promise.all(calls), [undefined, "NOT_FOUND: model 'm': there is no 2", undefined]);
});

test('models are loaded and unloaded, and requests under way are answered', async (t) => {
  const server = await testServer({ models, modelControlMode: 'explicit', loadModels: ['double'] });
  t.after(() => server.close());
  assert.match((await failureOf(server.infer('same', { uint8: [1] }))) ?? '', /^NOT_FOUND/);
  await server.loadModel('same');
  await server.infer('same', { uint8: [1] }, { outputs: ['uint8'] });
  server.hold('double');
  const last = server.infer('double', { x: [1, 2] });
  await new Promise((resolve) => setTimeout(resolve, 5));
  const unloaded = server.unloadModel('double');
  assert.match((await failureOf(server.infer('double', { x: [1, 2] }))) ?? '', /^(NOT_FOUND|UNAVAILABLE)/);
  server.release('double');
  assert.equal((await last).outputs['y']?.data[1], 4);
  await unloaded;
  assert.equal(server.model('double').ready, false);
});

test('an infinite number is close to itself alone', async (t) => {
  const server = await serve(t);
  const { outputs } = await server.infer('double', { x: [Infinity, 3] });
  const to = (data: readonly number[]): (() => void) => {
    return () => {
      assertClose(outputs['y'], { datatype: 'FP32', shape: [1, 2], data });
    };
  };
  to([Infinity, 6])();
  for (const data of [
    [Infinity, Infinity],
    [Infinity, -Infinity],
    [-Infinity, 6],
    [1, 6],
  ])
    assert.throws(to(data), { code: 'ERR_ASSERTION' });
});

test('assertions say where tensors differ', async (t) => {
  const server = await serve(t);
  const { outputs } = await server.infer('double', {
    x: [
      [1, 2],
      [3, 4],
    ],
  });
  const { y } = outputs;
  const message = (call: () => void): string => {
    try {
      call();
    } catch (error) {
      return error instanceof Error ? `${error.name}: ${error.message}` : '';
    }
    return '';
  };
  const expected = { datatype: 'FP32', shape: [2, 2], data: [2, 4, 6, 8] } as const;
  assert.equal(
    message(() => {
      assertTensor(y, expected);
    }),
    '',
  );
  assert.equal(
    message(() => {
      assertTensor(y, y ?? expected);
    }),
    '',
  );
  assert.equal(
    message(() => {
      assertTensor(y, { ...expected, data: [2, 4, 7, 9] }, 'y');
    }),
    'AssertionError: y: expected 7 at [1,0], but got 6; 2 of 4 elements differ',
  );
  assert.equal(
    message(() => {
      assertTensor(y, { ...expected, datatype: 'FP64' });
    }),
    'AssertionError: the tensor: expected the datatype FP64, but got FP32',
  );
  assert.equal(
    message(() => {
      assertTensor(y, { ...expected, shape: [4] });
    }),
    'AssertionError: the tensor: expected the shape [4], but got [2,2]',
  );
  assert.equal(
    message(() => {
      assertTensor(outputs['z'], expected, 'z');
    }),
    'AssertionError: z: expected a tensor of FP32, but there is none',
  );
  assert.equal(
    message(() => {
      assertClose(y, { ...expected, data: [2.00001, 4, 6, 8] });
    }),
    '',
  );
  assert.equal(
    message(() => {
      assertClose(y, { ...expected, data: [2.1, 4, 6, 8] }, { absolute: 0.01, relative: 0 }, 'y');
    }),
    'AssertionError: y: expected 2.0999999046325684 within 0.01 + 0 * |expected| at [0,0], but got 2',
  );
  const texts = (
    await server.infer('same', { text: ['a', 'b'], fp16: [0.5, NaN] }, { outputs: ['text', 'fp16'] })
  ).outputs;
  assert.equal(
    message(() => {
      assertTensor(texts['text'], { datatype: 'BYTES', shape: [2], data: ['a', 'b'] });
    }),
    '',
  );
  assert.equal(
    message(() => {
      assertTensor(texts['text'], { datatype: 'BYTES', shape: [2], data: ['a', 'c'] });
    }),
    'AssertionError: the tensor: expected "c" at [1], but got "b"',
  );
  assert.equal(
    message(() => {
      assertClose(texts['fp16'], { datatype: 'FP16', shape: [2], data: [0.5001, NaN] }, { absolute: 1e-3 });
    }),
    '',
  );
});
