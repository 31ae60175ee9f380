import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { floats, rejection, row, serve, until } from '../support/harness.js';
import { temporaryFolder } from '../support/repository.js';
import { adds, byFirst, executing, script } from './harness.js';

/** The ways to fail, by the first number of the first request. */
const ways: Readonly<Record<number, readonly [string, string, RegExp]>> = {
  1: [`throw new Error('a sync throw');`, 'INTERNAL', /model 'm': a sync throw/],
  2: [`return Promise.reject(new Error('a rejection'));`, 'INTERNAL', /model 'm': a rejection/],
  3: [`return Promise.reject('a word');`, 'INTERNAL', /model 'm': it threw 'a word'/],
  4: [
    `return [];`,
    'INTERNAL',
    /model 'm': expected execute to return one result for each of the batch's requests \(1\).*array of 0/,
  ],
  5: [`return undefined;`, 'INTERNAL', /batch's requests \(1\).*undefined/],
  6: [
    `return [{ z: new Float32Array(16) }];`,
    'INTERNAL',
    /^model 'm': no output is named 'z'; expected 'y'/,
  ],
  7: [`return [{ y: new Int32Array(16) }];`, 'INTERNAL', /model 'm', output 'y'.*FP32.*Int32Array/],
  8: [
    `return [{ y: { data: new Float32Array(4), shape: [1, 4] } }];`,
    'INTERNAL',
    /output 'y': expected FP32 of shape \[N,16\].*\[1,4\]/,
  ],
  9: [`return [{ y: new Float32Array(32) }];`, 'INTERNAL', /output 'y': expected 1 rows.*\[2,16\]/],
  10: [`return [new Error('only this one')];`, 'INTERNAL', /model 'm': only this one/],
  11: [`return [null];`, 'INTERNAL', /model 'm': expected outputs by name/],
  12: [
    `return [Object.assign(new Error('too long'), { code: 'INVALID_ARG', [Symbol.for('tritonts.TritonError')]: true })];`,
    'INVALID_ARG',
    /model 'm': too long/,
  ],
  13: [`throw { toString() { throw 1; } };`, 'INTERNAL', /an unreadable value/],
};
const misbehaving = byFirst(Object.fromEntries(Object.entries(ways).map(([key, [body]]) => [key, body])));

test('whatever a model does wrong fails its requests by name, and nothing else', async (t) => {
  const server = await serve(t, { m: script(executing(misbehaving), { batching: false }) });
  for (const [first, [, code, message]] of Object.entries(ways)) {
    const error = await rejection(server.infer('m', { x: row(Number(first)) }));
    assert.equal(error.code, code, `way ${first}`);
    assert.match(error.message, message);
    assert.deepEqual(floats(await server.infer('m', { x: row(100) })), [...row(101)]);
  }
});

test('an error among the results fails its request only', async (t) => {
  const body = `return requests.map(({ inputs }, i) => i % 2 === 0 ? new Error('even') : { y: inputs.x });`;
  const server = await serve(t, { m: script(executing(body)) });
  const asked = Array.from({ length: 10 }, (_, i) => server.infer('m', { x: row(i) }));
  for (const [i, one] of asked.entries()) {
    if (i % 2 === 0) assert.match((await rejection(one)).message, /even/);
    else assert.deepEqual(floats(await one), [...row(i)]);
  }
});

test('requests of several rows, shapes and wanted outputs come and go as they are', async (t) => {
  const body = `return requests.map(({ inputs: { x, t }, wanted }) => ({
    ...(wanted.includes('y') && { y: { data: x.data.map((value) => -value), shape: x.shape } }),
    ...(wanted.includes('u') && { u: t.strings().map((text) => [text.toUpperCase()]) }),
  }));`;
  const server = await serve(t, {
    m: script(executing(body), {
      inputs: [
        { name: 'x', dims: [-1] },
        { name: 't', datatype: 'BYTES', dims: [1] },
      ],
      outputs: [
        { name: 'y', dims: [-1] },
        { name: 'u', datatype: 'BYTES', dims: [1] },
      ],
    }),
  });
  const one = server.infer('m', { x: [[1, 2, 3]], t: [['a']] });
  const two = server.infer('m', {
    x: [
      [1, 2],
      [3, 4],
    ],
    t: [['b'], ['ö']],
  });
  const some = server.infer('m', { x: [[5]], t: [['c']] }, { outputs: ['u'] });
  assert.deepEqual((await one).outputs['y']?.toArray(), [[-1, -2, -3]]);
  assert.deepEqual((await two).outputs['y']?.shape, [2, 2]);
  assert.deepEqual((await two).outputs['u']?.strings(), ['B', 'Ö']);
  assert.deepEqual(Object.keys((await some).outputs), ['u']);
  assert.deepEqual((await some).outputs['u']?.strings(), ['C']);
});

test('large inputs are views until the batch has ended, and large outputs are copied once', async (t) => {
  const body = `
    const kept = globalThis.kept;
    globalThis.kept = requests[0].inputs.x;
    if (requests[0].inputs.x.data[0] === 7) return [{ y: { data: Float32Array.of(kept.data.length), shape: [1, 1] } }];
    return requests.map(({ inputs: { x } }) => ({ y: x }));`;
  const wide = 150_000;
  const server = await serve(t, {
    m: script(executing(body), {
      inputs: [{ name: 'x', dims: [-1] }],
      outputs: [{ name: 'y', dims: [-1] }],
    }),
  });
  for (let i = 10; i < 20; i++) {
    const { outputs } = await server.infer('m', { x: row(i, wide) });
    assert.deepEqual(outputs['y']?.data, row(i, wide));
  }
  // The model has kept the input of the previous batch.
  assert.deepEqual(floats(await server.infer('m', { x: row(7) })), [0]);
  const many = await Promise.all(
    Array.from({ length: 40 }, (_, i) => server.infer('m', { x: row(i + 20, wide) })),
  );
  many.forEach(({ outputs }, i) => {
    assert.deepEqual(outputs['y']?.data, row(i + 20, wide));
  });
});

test('a batch may be larger than the memory that batches have at first', async (t) => {
  const server = await serve(t, {
    m: script(executing('return requests.map(({ inputs }) => ({ y: inputs.x }));'), {
      inputs: [{ name: 'x', dims: [8000] }],
      outputs: [{ name: 'y', dims: [8000] }],
    }),
  });
  const many = await Promise.all(
    Array.from({ length: 64 }, (_, i) => server.infer('m', { x: row(i, 8000) })),
  );
  many.forEach(({ outputs }, i) => {
    assert.deepEqual(outputs['y']?.data, row(i, 8000));
  });
});

test('a model learns parameters, priority, time-out and that a caller has given up', async (t) => {
  const begun = join(await temporaryFolder(t), 'begun');
  const body = `
    const [request] = requests;
    if (request.inputs.x.data[0] === 1)
      return new Promise((resolve) => {
        request.signal.addEventListener('abort', () => { globalThis.aborted = true; resolve([new Error('gone')]); });
        process.getBuiltinModule('node:fs').writeFileSync(${JSON.stringify(begun)}, '');
      });
    const { priority, timeoutUs, parameters } = request;
    const seen = { priority, timeoutUs, parameters, aborted: globalThis.aborted === true };
    return requests.map(() => ({ y: [[JSON.stringify(seen, (key, value) => typeof value === 'bigint' ? String(value) : value)]] }));`;
  const server = await serve(t, {
    m: script(executing(body), { outputs: [{ name: 'y', datatype: 'BYTES', dims: [1] }] }),
  });
  const controller = new AbortController();
  const given = server.infer('m', { x: row(1) }, { signal: controller.signal });
  // A request that is cancelled before it runs does not reach the model.
  await until(() => existsSync(begun));
  controller.abort();
  assert.equal((await rejection(given)).code, 'CANCELLED');
  const { outputs } = await server.infer(
    'm',
    { x: row(2) },
    { parameters: { a: 'b', n: 3n, f: 0.5, t: true } },
  );
  assert.deepEqual(JSON.parse(outputs['y']?.strings()[0] ?? ''), {
    priority: 0,
    timeoutUs: 0,
    parameters: { a: 'b', n: '3', f: 0.5, t: true },
    aborted: true,
  });
});

test('an instance has as many batches under way as max_concurrency says', async (t) => {
  const body = `
    globalThis.most = Math.max(globalThis.most ?? 0, globalThis.now = (globalThis.now ?? 0) + 1);
    return new Promise((resolve) => setTimeout(() => {
      globalThis.now--;
      resolve(requests.map(() => ({ y: new Float32Array(16).fill(globalThis.most) })));
    }, 20));`;
  for (const concurrency of [1, 3]) {
    const server = await serve(t, {
      m: script(executing(body), { batching: false, parameters: { max_concurrency: concurrency } }),
    });
    const all = await Promise.all(Array.from({ length: 9 }, () => server.infer('m', { x: row() })));
    assert.equal(Math.max(...all.map((result) => floats(result)[0] ?? 0)), concurrency);
    await server.close();
  }
});

test('batches that follow each other leave the timers of their thread their turns', async (t) => {
  const text = `
    let ticks = 0;
    setInterval(() => ticks++, 1);
    export default { execute: (requests) => requests.map(() => ({ y: new Float32Array(16).fill(ticks) })) };`;
  const server = await serve(t, { m: script(text) });
  let last = 0;
  let stop = false;
  const loop = async (): Promise<void> => {
    while (!stop) last = floats(await server.infer('m', { x: row() }))[0] ?? 0;
  };
  const loops = Promise.all(Array.from({ length: 64 }, loop));
  await until(() => last > 20);
  stop = true;
  await loops;
});

test('several instances work side by side', async (t) => {
  const body = `
    return new Promise((resolve) => setTimeout(() => resolve(requests.map(({ inputs }) => ({ y: inputs.x }))), 5));`;
  const server = await serve(t, { m: script(executing(body), { instances: 3, batching: false }) });
  const all = await Promise.all(Array.from({ length: 30 }, (_, i) => server.infer('m', { x: row(i) })));
  all.forEach((result, i) => {
    assert.deepEqual(floats(result), [...row(i)]);
  });
  assert.equal(server.model('m').runtimeInfo().instances.length, 3);
});

test('models without a batch dimension run one request at a time', async (t) => {
  const server = await serve(t, { m: script(executing(adds), { maxBatchSize: 0, batching: false }) });
  const all = await Promise.all(Array.from({ length: 5 }, (_, i) => server.infer('m', { x: row(i) })));
  all.forEach((result, i) => {
    assert.deepEqual(result.outputs['y']?.shape, [16]);
    assert.deepEqual(floats(result), [...row(i + 1)]);
  });
});
