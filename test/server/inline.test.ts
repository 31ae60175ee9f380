import assert from 'node:assert/strict';
import { createServer as createTcpServer, connect } from 'node:net';
import { once } from 'node:events';
import { suite, test, type TestContext } from 'node:test';
import {
  attachServer,
  createServer,
  type InferResult,
  type InferenceServer,
  type Inputs,
  type Model,
} from '../../src/index.js';
import { addModel, failingModel, identityModel, roundsModel, squaresModel } from '../support/models.js';
import { temporaryFolder, writeRepository } from '../support/repository.js';
import {
  batchCountsAfter,
  floats,
  identity,
  onnx,
  rejection,
  row,
  serve,
  type ConfigOptions,
  turn,
} from '../support/harness.js';

/** A budget that no batch of these models exceeds, even on a busy machine. */
const generous = 10_000;

/**
 * Whether a promise settles in ticks alone. The event loop does not turn, so no answer of another thread can
 * come.
 */
async function settlesAtOnce(promise: Promise<unknown>): Promise<boolean> {
  const outcome = { settled: false };
  const note = (): void => {
    outcome.settled = true;
  };
  void promise.then(note, note);
  for (let i = 0; i < 30 && !outcome.settled; i++) {
    await new Promise<void>((resolve) => {
      process.nextTick(resolve);
    });
  }
  return outcome.settled;
}

/** Whether a request runs on this thread, in a young turn of the loop. */
async function runsHere(model: Model, inputs: Inputs = { x: row() }): Promise<boolean> {
  await turn();
  const request = model.infer(inputs);
  const here = await settlesAtOnce(request);
  await request.catch(() => undefined);
  return here;
}

/**
 * Whether one of many requests runs on this thread. A single one may find the instance still busy with its
 * last answer, or the last run slow because the machine was busy.
 */
async function comesToRunHere(model: Model, inputs?: Inputs): Promise<boolean> {
  for (let i = 0; i < 100; i++) if (await runsHere(model, inputs)) return true;
  return false;
}

/** Makes requests until the model's run times are known. */
async function warmUp(model: Model, inputs: Inputs = { x: row() }): Promise<void> {
  for (let i = 0; i < 50; i++) await model.infer(inputs);
}

test('the first batch of its kind runs elsewhere, and the next ones here', async (t) => {
  const server = await serve(t, { add: onnx(), echo: identity() }, { inline: generous });
  for (const name of ['add', 'echo']) {
    const model = server.model(name);
    assert.equal(await runsHere(model), false, name);
    await warmUp(model);
    assert.ok(await comesToRunHere(model), name);
    assert.equal(await runsHere(model, { x: row(0, 32) }), false, `${name}, two rows`);
    await warmUp(model, { x: row(0, 32) });
    assert.ok(await comesToRunHere(model, { x: row(0, 32) }), `${name}, two rows`);
  }
});

test('the first request of a kind that the model was warmed up with runs here', async (t) => {
  const more =
    'model_warmup { batch_size: 1 inputs { key: "x" value { data_type: TYPE_FP32 dims: 16 zero_data: true } } }';
  for (const model of [onnx(addModel(), { more }), identity({ more })]) {
    let here = false;
    // On a busy machine a turn of the loop may be old when the answer arrives.
    for (let i = 0; i < 10 && !here; i++) {
      const server = await serve(t, { m: model }, { inline: generous });
      here = await runsHere(server.model('m'));
      assert.equal(
        await runsHere(server.model('m'), { x: row(0, 32) }),
        false,
        'two rows were not warmed up',
      );
    }
    assert.ok(here);
  }
});

test('shapes that were not seen yet run elsewhere', async (t) => {
  const tensors = { inputs: [{ name: 'x', dims: [-1] }], outputs: [{ name: 'y', dims: [-1] }] };
  const server = await serve(
    t,
    { echo: onnx(identityModel('FP32', ['N', -1]), tensors) },
    { inline: generous },
  );
  const model = server.model('echo');
  for (const width of [3, 100, 3000]) {
    assert.equal(await runsHere(model, { x: row(0, width) }), false, `${width}`);
    await warmUp(model, { x: row(0, width) });
    assert.ok(await comesToRunHere(model, { x: row(0, width) }), `${width}`);
  }
});

test('longer strings are of another kind than short ones', async (t) => {
  const strings = (name: string): { name: string; datatype: 'BYTES'; dims: number[] } => ({
    name,
    datatype: 'BYTES',
    dims: [1],
  });
  const server = await serve(
    t,
    { echo: identity({ inputs: [strings('x')], outputs: [strings('y')] }) },
    { inline: generous },
  );
  const model = server.model('echo');
  await warmUp(model, { x: [['short']] });
  assert.ok(await comesToRunHere(model, { x: [['short']] }));
  assert.equal(await runsHere(model, { x: [['long'.repeat(10_000)]] }), false);
});

test('what takes longer than the budget runs elsewhere, always', async (t) => {
  const server = await serve(t, { slow: identity({ delayMs: 30 }) }, { inline: generous });
  const model = server.model('slow');
  for (let i = 0; i < 5; i++) assert.equal(await runsHere(model), false);
});

/** The configuration of {@link roundsModel} and {@link squaresModel}. */
const numbers: ConfigOptions = {
  inputs: [{ name: 'x', datatype: 'INT64', dims: [1] }],
  outputs: [{ name: 'y', datatype: 'INT64', dims: [1] }],
};
const number = (x: bigint): Inputs => ({ x: BigInt64Array.of(x) });

test('a model whose time depends on the data runs elsewhere, however short it was, and says why', async (t) => {
  const models = { rounds: onnx(roundsModel(), numbers), add: onnx() };
  const server = await serve(t, models, { inline: generous });
  const model = server.model('rounds');
  assert.equal(model.runtimeInfo().neverInline, 'the model has the operator Loop');
  assert.equal(server.model('add').runtimeInfo().neverInline, undefined);
  await warmUp(model, number(1n));
  for (let i = 0; i < 20; i++) assert.equal(await runsHere(model, number(1n)), false);
  // Many rounds of the same shape take some turns of the loop.
  let turns = 0;
  const turn = (): void => {
    turns++;
    immediate = setImmediate(turn);
  };
  let immediate = setImmediate(turn);
  const { outputs } = await model.infer(number(300_000n));
  clearImmediate(immediate);
  assert.deepEqual(outputs['y']?.data, BigInt64Array.of(300_000n));
  assert.ok(turns > 10, `${turns} turns`);
});

test('after a run on the JS thread that takes far too long, no other one runs there', async (t) => {
  const server = await serve(t, { squares: onnx(squaresModel(), numbers) }, { inline: 2000 });
  const model = server.model('squares');
  assert.equal(model.runtimeInfo().neverInline, undefined);
  // A run on another thread would only count, for a while, as a long run of such shapes.
  for (let i = 0, here = false; !here; i++) {
    assert.ok(i < 20, 'it never ran here');
    await warmUp(model, number(1n));
    if (await comesToRunHere(model, number(1n))) here = await runsHere(model, number(3000n));
  }
  for (let i = 0; i < 200; i++) assert.equal(await runsHere(model, number(1n)), false);
});

void suite('who says what runs here', () => {
  const where = async (server: InferenceServer, name: string): Promise<boolean> => {
    return comesToRunHere(server.model(name));
  };

  test("the server's option, or a model's parameter, which wins", async (t) => {
    const models = {
      plain: identity(),
      off: identity({ parameters: { inline: 'off' } }),
      on: identity({ parameters: { inline: generous } }),
    };
    const on = await serve(t, models, { inline: generous });
    const off = await serve(t, models, { inline: 'off' });
    assert.deepEqual(
      [await where(on, 'plain'), await where(on, 'off'), await where(on, 'on')],
      [true, false, true],
    );
    assert.deepEqual(
      [await where(off, 'plain'), await where(off, 'off'), await where(off, 'on')],
      [false, false, true],
    );
  });

  test('a parameter that makes no sense keeps the model from loading', async (t) => {
    const models = { bad: identity({ parameters: { inline: 'always' } }) };
    const repository = await writeRepository(await temporaryFolder(t), models);
    const error = await rejection(createServer(repository));
    assert.equal(error.code, 'INVALID_ARG');
    assert.match(error.message, /expected 'auto', 'off' or 1 to 10000 microseconds but found "always"/);
    assert.match(error.message, /config\.pbtxt:\d+/);
  });
});

test('requests of a tick run here together, as one batch', async (t) => {
  const server = await serve(t, { echo: identity() }, { inline: generous });
  const model = server.model('echo');
  const ask = (): Promise<InferResult[]> =>
    Promise.all(Array.from({ length: 40 }, (_, i) => model.infer({ x: row(i) })));
  let rounds = 0;
  for (let here = false; !here;) {
    assert.ok(rounds++ < 100, 'none ran here');
    await turn();
    const results = ask();
    here = await settlesAtOnce(results);
    for (const [i, result] of (await results).entries()) assert.equal(floats(result)[0], i);
  }
  assert.deepEqual(await batchCountsAfter(server, 'echo', 40 * rounds), { 40: rounds });
});

test('a run that fails on the JS thread rejects like one elsewhere, and the next one succeeds', async (t) => {
  const lookUp = onnx(failingModel(), {
    inputs: [{ name: 'index', datatype: 'INT64', dims: [1] }],
    outputs: [{ name: 'value', dims: [1] }],
  });
  const server = await serve(t, { lookUp }, { inline: generous });
  const model = server.model('lookUp');
  await warmUp(model, { index: new BigInt64Array([1n]) });
  let tries = 0;
  for (let here = false; !here;) {
    assert.ok(tries++ < 100, 'none ran here');
    await turn();
    const bad = rejection(model.infer({ index: new BigInt64Array([99n]) }));
    here = await settlesAtOnce(bad);
    assert.match((await bad).message, /model 'lookUp'.*Gather/s);
  }
  assert.deepEqual(floats(await model.infer({ index: new BigInt64Array([3n]) }), 'value'), [30]);
});

test('a signal that aborts in the same tick cancels what would have run here', async (t) => {
  const server = await serve(t, { echo: identity() }, { inline: generous });
  const model = server.model('echo');
  await warmUp(model);
  const controller = new AbortController();
  const cancelled = rejection(model.infer({ x: row() }, { signal: controller.signal }));
  const other = model.infer({ x: row(5) });
  controller.abort();
  assert.equal((await cancelled).code, 'CANCELLED');
  assert.equal(floats(await other)[0], 5);
  // Its slot works, too.
  await Promise.all(
    Array.from({ length: 10 }, () => model.infer({ x: row() }, { signal: new AbortController().signal })),
  );
});

/**
 * Checks that timers, immediates and sockets get turns while a loop awaits one response after another.
 */
async function othersHaveTurns(t: TestContext, model: Model): Promise<void> {
  const echo = createTcpServer((peer) => {
    // The end of the test may reset this connection.
    peer.on('error', () => undefined);
    peer.pipe(peer);
  });
  await once(echo.listen(0, '127.0.0.1'), 'listening');
  t.after(() => echo.close());
  const address = echo.address();
  assert.ok(typeof address === 'object' && address !== null);
  const socket = connect(address.port, '127.0.0.1');
  await once(socket, 'connect');
  t.after(() => socket.destroy());
  const seen = { timers: 0, immediates: 0, messages: 0 };
  const timer = setInterval(() => seen.timers++, 1);
  const turn = (): void => {
    seen.immediates++;
    immediate = setImmediate(turn);
  };
  let immediate = setImmediate(turn);
  socket.on('data', (data) => {
    seen.messages++;
    socket.write(data);
  });
  socket.write('x');
  // The loop ends only when all of them had turns. If it blocked them, it would never end. turn.test.ts tests how
  // long a turn may last.
  const enough = (): boolean => seen.timers >= 20 && seen.immediates >= 20 && seen.messages >= 20;
  let answers = 0;
  while (!enough() && answers < 3_000_000) {
    await model.infer({ x: row() });
    answers++;
  }
  clearInterval(timer);
  clearImmediate(immediate);
  assert.ok(enough(), `${JSON.stringify(seen)} in ${answers} answers`);
}

test('timers, immediates and sockets go on beside a loop that awaits answers from here', async (t) => {
  const server = await serve(t, { echo: identity() }, { inline: generous });
  await warmUp(server.model('echo'));
  await othersHaveTurns(t, server.model('echo'));
});

test('they go on beside a model whose answers come from a thread that the loop looks for', async (t) => {
  const server = await serve(t, { echo: identity() }, { inline: 'off' });
  await othersHaveTurns(t, server.model('echo'));
});

test('attached servers run here, too', async (t) => {
  const server = await serve(t, { echo: identity() }, { inline: generous });
  await warmUp(server.model('echo'));
  const attached = await attachServer(server.handle);
  assert.ok(await comesToRunHere(attached.model('echo')));
  await attached.close();
});

test('answers of a run here that nobody awaited in time come all the same', async (t) => {
  const server = await serve(t, { echo: identity({ maxBatchSize: 4096 }) }, { inline: generous });
  const model = server.model('echo');
  const ask = (): Promise<InferResult[]> =>
    Promise.all(Array.from({ length: 3000 }, (_, i) => model.infer({ x: row(i) })));
  for (let round = 0; round < 4; round++) {
    for (const [i, result] of (await ask()).entries()) assert.equal(floats(result)[0], i);
  }
});
