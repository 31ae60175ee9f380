import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { TritonError, type InferenceServer, type Inputs } from '../../src/index.js';
import { failingModel } from '../support/models.js';
import {
  floats,
  identity,
  onnx,
  rejection,
  row,
  serve,
  statisticsAfter,
  type Context,
} from '../support/harness.js';

const failing = onnx(failingModel(), {
  inputs: [{ name: 'index', datatype: 'INT64', dims: [1] }],
  outputs: [{ name: 'value', dims: [1] }],
  batching: 'preferred_batch_size: [ 4 ] max_queue_delay_microseconds: 5000000',
});

/** A request to the failing model. An index of 8 or more makes its run fail. */
function look(server: InferenceServer, index: number, id = ''): Promise<unknown> {
  return server.infer('failing', { index: BigInt64Array.of(BigInt(index)) }, { id });
}

void suite('inputs that do not fit reject with what was expected and what came:', () => {
  const cases: readonly (readonly [string, Inputs, RegExp, string])[] = [
    ['no input', {}, /model 'm'.*x/, 'x'],
    ['a misspelt name', { xx: row(), k: [[1]] }, /no input is named 'xx'; missing 'x'/, 'xx'],
    ['one more name', { x: row(), k: [[1]], z: row() }, /'z'/, 'z'],
    [
      'another datatype',
      { x: new Int32Array(16), k: [[1]] },
      /model 'm', input 'x': expected FP32 .*Int32Array/,
      'x',
    ],
    [
      'another length',
      { x: row(0, 15), k: [[1]] },
      /expected FP32 of shape \[N,16\], 1 ≤ N ≤ 8.*length 15/,
      'x',
    ],
    ['too large a batch', { x: row(0, 9 * 16), k: [[1]] }, /a batch of 9 is over max_batch_size/, 'x'],
    [
      'a shape without the batch',
      { x: { data: row(), shape: [16] }, k: [[1]] },
      /shape \[16\]: expected \[N,16\], 1 ≤ N ≤ 8; for one item pass \[1,16\]/,
      'x',
    ],
    ['different batches', { x: row(0, 32), k: [[1]] }, /batch of 1, where input 'x' has a batch of 2/, 'k'],
    ['a ragged array', { x: [[1, 2], [3]], k: [[1]] }, /input 'x'/, 'x'],
    ['a number out of range', { x: row(), k: [[300]] }, /300/, 'k'],
  ];
  for (const [title, inputs, message, tensor] of cases) {
    test(title, async (t) => {
      const tensors = [{ name: 'x' }, { name: 'k', datatype: 'UINT8', dims: [1] }] as const;
      const outputs = [{ name: 'y' }, { name: 'l', datatype: 'UINT8', dims: [1] }] as const;
      const server = await serve(t, { m: identity({ maxBatchSize: 8, inputs: tensors, outputs }) });
      const error = await rejection(server.model('m').infer(inputs));
      assert.equal(error.code, 'INVALID_ARG');
      assert.equal(error.model, 'm');
      assert.equal(error.tensor, tensor);
      assert.match(error.message, message);
      // The refused request did not reach the engine.
      await server.infer('m', { x: row(), k: [[1]] });
      assert.equal((await statisticsAfter(server, 'm', 1)).inference_stats.fail.count, 0);
    });
  }
});

test('inputs that are no object reject', async (t) => {
  const server = await serve(t, { echo: identity() });
  for (const inputs of [undefined, null, 5, 'x', row()]) {
    const error = await rejection(server.model('echo').infer(inputs as unknown as Inputs));
    assert.equal(error.code, 'INVALID_ARG');
  }
});

test('whatever a getter throws comes as it is', async (t) => {
  const server = await serve(t, { add: onnx() });
  const model = server.model('add');
  const frozen = Object.freeze(new TritonError('INTERNAL', 'frozen'));
  for (const value of [undefined, null, 0, 'text', frozen]) {
    const inputs: Inputs = {
      get x(): Float32Array {
        // eslint-disable-next-line @typescript-eslint/only-throw-error -- as callers may
        throw value;
      },
    };
    const outcome = await model.infer(inputs).then(
      () => ({ resolved: true }),
      (error: unknown) => ({ error }),
    );
    assert.deepEqual(outcome, { error: value });
    const mapped = model.map([inputs]).next();
    const last = await mapped.then(
      () => ({ resolved: true }),
      (error: unknown) => ({ error }),
    );
    assert.deepEqual(last, { error: value });
  }
});

test('infer() never throws, not even where a getter does', async (t) => {
  const server = await serve(t, { echo: identity() });
  const inputs = {
    get x(): Float32Array {
      throw new RangeError('from the getter');
    },
  };
  const promise = server.model('echo').infer(inputs);
  await assert.rejects(promise);
});

test('what is refused has the line of the caller in its stack', async (t) => {
  const server = await serve(t, { echo: identity() });
  const error = await rejection(server.infer('echo', { x: row(0, 3) }));
  assert.match(error.stack ?? '', /infer-errors\.test/);
});

void suite('a run that fails', () => {
  /** Four requests in one batch. Each of them fails any run that contains it. */
  const fail = async (t: Context): Promise<{ server: InferenceServer; requests: Promise<unknown>[] }> => {
    const server = await serve(t, { failing });
    return { server, requests: [96, 97, 98, 99].map((index) => look(server, index, `r${index}`)) };
  };

  test('reaches each request of its batch, with the text of the runtime and the name of the model', async (t) => {
    const { requests } = await fail(t);
    for (const error of await Promise.all(requests.map(rejection))) {
      assert.equal(error.model, 'failing');
      assert.match(error.message, /model 'failing'.*out of data bounds/s);
      assert.ok(['INVALID_ARG', 'INTERNAL'].includes(error.code), error.code);
    }
  });

  test('names the id of each request', async (t) => {
    const { requests } = await fail(t);
    const errors = await Promise.all(requests.map(rejection));
    assert.deepEqual(
      errors.map(({ message }) => /^\[request id: (\w+)\] /.exec(message)?.[1]),
      ['r96', 'r97', 'r98', 'r99'],
    );
  });

  test('gives each request an error of its own', async (t) => {
    const { requests } = await fail(t);
    assert.equal(new Set(await Promise.all(requests.map(rejection))).size, 4);
  });

  test('counts as failed, and each run of it as an execution', async (t) => {
    const { server, requests } = await fail(t);
    await Promise.all(requests.map(rejection));
    const statistics = await statisticsAfter(server, 'failing', 4);
    assert.equal(statistics.inference_stats.fail.count, 4);
    assert.ok(statistics.inference_stats.fail.ns > 0);
    assert.equal(statistics.inference_stats.success.count, 0);
    // The batch, its two halves, and each request alone.
    assert.equal(statistics.execution_count, 7);
    assert.equal(statistics.reruns, 6);
    assert.equal(statistics.inference_count, 0);
  });

  test('does not concern the next', async (t) => {
    const { server, requests } = await fail(t);
    await Promise.all(requests.map(rejection));
    const next = await Promise.all(
      [0, 2, 5, 7].map((index) => server.infer('failing', { index: [[index]] })),
    );
    assert.deepEqual(
      next.map((result) => floats(result, 'value')[0]),
      [0, 20, 50, 70],
    );
  });
});

test('an error of a request without id begins with the model', async (t) => {
  const server = await serve(t, {
    failing: { ...failing, config: (failing.config ?? '').replace('5000000', '0') },
  });
  const error = await rejection(look(server, 99));
  assert.match(error.message, /^model 'failing': /);
});

for (const [what, prepare] of [
  ['gives something else', (): unknown => ({ not: 'a text' })],
  [
    'throws',
    (): never => {
      throw new Error('not me');
    },
  ],
] as const) {
  test(`with captureStacks, a program whose Error.prepareStackTrace ${what} is served, and its server closes`, async (t) => {
    const server = await serve(t, { echo: identity() }, { captureStacks: true });
    const model = server.model('echo');
    const before = Reflect.getOwnPropertyDescriptor(Error, 'prepareStackTrace');
    Error.prepareStackTrace = prepare;
    const first = model.infer({ x: row(1) });
    Reflect.deleteProperty(Error, 'prepareStackTrace');
    if (before) Object.defineProperty(Error, 'prepareStackTrace', before);
    const [outcome] = await Promise.allSettled([first]);
    assert.equal(outcome.status, what === 'throws' ? 'rejected' : 'fulfilled');
    assert.equal(floats(await model.infer({ x: row(2) }))[0], 2);
    await server.close();
  });
}
