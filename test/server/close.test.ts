import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { CloseOptions, InferenceServer, Inputs } from '../../src/index.js';
import { slowModel } from '../support/models.js';
import { asking, faulty, gate } from '../faults/harness.js';
import {
  floats,
  identity,
  onnx,
  rejection,
  row,
  serve,
  thrown,
  threadCount,
  turn,
  until,
} from '../support/harness.js';

const slow = identity({ batching: false, delayMs: 20 });

test('close() answers what was accepted first', async (t) => {
  const server = await serve(t, { slow });
  const requests = [1, 2, 3].map((first) => server.infer('slow', { x: row(first) }));
  await server.close();
  const results = await Promise.all(requests);
  assert.deepEqual(
    results.map((result) => floats(result)[0]),
    [1, 2, 3],
  );
});

test('close() in the same tick as infer() answers it', async (t) => {
  const server = await serve(t, { slow });
  const request = server.infer('slow', { x: row(1) });
  const closed = server.close();
  assert.equal(floats(await request)[0], 1);
  await closed;
});

test('close() settles after the last answer', async (t) => {
  const server = await serve(t, { slow });
  const order: string[] = [];
  const request = server.infer('slow', { x: row() }).then(() => order.push('answer'));
  await server.close().then(() => order.push('closed'));
  await request;
  assert.deepEqual(order, ['answer', 'closed']);
});

test('a request that waits for company is answered, not held, when the server closes', async (t) => {
  const server = await serve(t, { echo: identity({ batching: 'max_queue_delay_microseconds: 50000' }) });
  const request = server.infer('echo', { x: row(5) });
  await turn();
  await server.close();
  assert.equal(floats(await request)[0], 5);
});

test('timeoutMs: 0 cancels what is queued and ends what runs', async (t) => {
  const server = await serve(t, { slow: identity({ batching: false, delayMs: 600_000 }) });
  const requests = [1, 2, 3].map((first) => rejection(server.infer('slow', { x: row(first) })));
  await turn();
  await server.close({ timeoutMs: 0 });
  for (const { code, message } of await Promise.all(requests)) {
    assert.equal(code, 'CANCELLED');
    assert.match(message, /^model 'slow': /);
  }
});

test('timeoutMs: 0 ends a run of the runtime, too', async (t) => {
  const server = await serve(t, { slow: onnx(slowModel(1e9)) });
  const request = rejection(server.infer('slow', { x: row() }));
  await turn();
  await server.close({ timeoutMs: 0 });
  assert.equal((await request).model, 'slow');
});

test('what is not done within the time is cancelled', async (t) => {
  const { parameters } = await gate(t);
  const server = await serve(t, { slow: faulty({ batching: false, parameters }) });
  const done = server.infer('slow', asking('none', 1));
  const rest = [2, 3, 4, 5].map((first) => rejection(server.infer('slow', asking('held', first))));
  await turn();
  await server.close({ timeoutMs: 1000 });
  assert.equal(floats(await done)[0], 1);
  for (const { code } of await Promise.all(rest)) assert.equal(code, 'CANCELLED');
});

test('a time without end waits as long as it takes', async (t) => {
  const server = await serve(t, { slow });
  const request = server.infer('slow', { x: row(1) });
  await server.close({ timeoutMs: Infinity });
  assert.equal(floats(await request)[0], 1);
});

test('close() can be called again, during and after', async (t) => {
  const server = await serve(t, { slow });
  const request = server.infer('slow', { x: row() });
  await Promise.all([server.close(), server.close({ timeoutMs: 0 }), server.close()]);
  await request;
  await server.close();
});

test('asyncDispose closes', async (t) => {
  const server = await serve(t, { slow });
  await server[Symbol.asyncDispose]();
  assert.equal((await rejection(server.infer('slow', { x: row() }))).code, 'UNAVAILABLE');
});

test('close() may be called where a result is handled', async (t) => {
  const server = await serve(t, { slow });
  const closed: Promise<void>[] = [];
  const requests = [1, 2, 3].map((first) =>
    server.infer('slow', { x: row(first) }).then(() => closed.push(server.close())),
  );
  await Promise.all(requests);
  await Promise.all(closed);
  assert.equal(closed.length, 3);
});

test('close() while a model loads waits until the load is cancelled', async (t) => {
  const server = await serve(t, { a: onnx(), b: onnx() }, { modelControlMode: 'explicit' });
  const loads = ['a', 'b'].map((name) =>
    server.loadModel(name).then(
      () => 'loaded',
      () => 'cancelled',
    ),
  );
  await server.close();
  for (const outcome of await Promise.all(loads)) assert.ok(['loaded', 'cancelled'].includes(outcome));
});

test('close() ends every thread of the server', async (t) => {
  const models = {
    echo: identity(),
    add: onnx(),
    many: identity({ instances: 3, batching: false, delayMs: 1 }),
  };
  const run = async (): Promise<void> => {
    const server = await serve(t, models);
    const names = ['echo', 'add', 'many', 'many', 'many'];
    await Promise.all(names.map((name) => server.infer(name, { x: row() })));
    await server.close();
  };
  await run(); // This starts everything that the runtime starts once in a process.
  const before = await threadCount();
  for (let i = 0; i < 3; i++) await run();
  await until(async () => (await threadCount()) <= before);
});

test('close() ends the thread that keeps the queue delays', async (t) => {
  const run = async (): Promise<InferenceServer> => {
    const server = await serve(t, { echo: identity({ batching: 'max_queue_delay_microseconds: 500' }) });
    await server.infer('echo', { x: row() });
    await server.close();
    return server;
  };
  await run();
  const before = await threadCount();
  const servers = [await run(), await run()];
  await until(async () => (await threadCount()) <= before);
  assert.equal(servers.length, 2);
});

void suite('wrong options are refused, and the server goes on:', () => {
  const cases: readonly (readonly [string, unknown, RegExp])[] = [
    ['an unknown key', { timeout: 5 }, /unknown key 'timeout' in close options/],
    [
      'a negative time',
      { timeoutMs: -1 },
      /milliseconds, 0 or more, for close options\.timeoutMs but received -1/,
    ],
    ['no number', { timeoutMs: '5' }, /close options\.timeoutMs/],
    ['NaN', { timeoutMs: NaN }, /received NaN/],
  ];
  for (const [title, options, message] of cases) {
    test(title, async (t) => {
      const server = await serve(t, { echo: identity() });
      const error = await rejection(server.close(options as CloseOptions));
      assert.equal(error.code, 'INVALID_ARG');
      assert.match(error.message, message);
      assert.equal(floats(await server.infer('echo', { x: row(3) }))[0], 3);
      await server.close();
    });
  }
});

void suite('after close()', () => {
  const calls: Readonly<Record<string, (server: InferenceServer) => unknown>> = {
    'server.model': (server) => server.model('echo'),
    'server.infer': (server) => server.infer('echo', { x: row() }),
    'server.index': (server) => server.index(),
    'server.metadata': (server) => server.metadata(),
    'server.statistics': (server) => server.statistics(),
    'server.loadModel': (server) => server.loadModel('echo'),
    'server.unloadModel': (server) => server.unloadModel('echo'),
  };
  for (const [name, call] of Object.entries(calls)) {
    test(`${name} is UNAVAILABLE`, async (t) => {
      const server = await serve(
        t,
        { echo: identity() },
        { modelControlMode: 'explicit', loadModels: ['echo'] },
      );
      await server.close();
      const error = await rejection(Promise.resolve().then(() => call(server)));
      assert.deepEqual([error.code, error.message], ['UNAVAILABLE', 'the server is closed']);
    });
  }

  test('a handle from before is UNAVAILABLE in all it does', async (t) => {
    const server = await serve(t, { echo: identity() });
    const model = server.model('echo');
    await server.close();
    assert.equal(model.ready, false);
    const inputs: Inputs = { x: row() };
    const asked = [
      await rejection(model.infer(inputs)),
      await rejection(Promise.resolve().then(() => model.map([inputs]).next())),
      thrown(() => model.config),
      thrown(() => model.metadata),
      thrown(() => model.notes),
      thrown(() => model.statistics()),
      thrown(() => model.runtimeInfo()),
    ];
    for (const error of asked) {
      assert.deepEqual([error.code, error.message], ['UNAVAILABLE', 'the server is closed']);
    }
  });

  test('the server is not ready, and keeps its handle', async (t) => {
    const server = await serve(t, { echo: identity() });
    const { handle } = server;
    await server.close();
    assert.equal(server.ready, false);
    assert.equal(server.handle, handle);
  });

  test('results from before are whole', async (t) => {
    const server = await serve(t, {
      echo: identity({ inputs: [{ name: 'x', dims: [50_000] }], outputs: [{ name: 'y', dims: [50_000] }] }),
    });
    const result = await server.infer('echo', { x: row(1, 50_000) });
    await server.close();
    assert.deepEqual(result.outputs['y']?.data, row(1, 50_000));
  });

  test('another server of the same repository is not concerned', async (t) => {
    const first = await serve(t, { echo: identity() });
    const second = await serve(t, { echo: identity() });
    await first.close();
    assert.equal(floats(await second.infer('echo', { x: row(2) }))[0], 2);
  });
});
