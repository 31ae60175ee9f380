/** The response cache as callers see it: hits and misses, what is cached and what is not, and its reports. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { createServer, TritonError, type InferenceServer, type InferResult } from '../../../src/index.js';
import { gate, held } from '../../faults/harness.js';
import { executing, script } from '../../javascript/harness.js';
import { addModel } from '../../support/models.js';
import {
  chain,
  ensemble,
  floats,
  identity,
  onnx,
  rejection,
  row,
  serve,
  statisticsAfter,
  turn,
  until,
} from '../../support/harness.js';

const cached = 'response_cache { enable: true }';
const cacheConfig = { local: { size: 2 ** 20 } };

/** A model in JavaScript that answers y = x plus the number of its runs so far. */
const counting = (more: string = cached): ReturnType<typeof script> =>
  script(
    'let runs = 0; ' +
      executing(
        'runs++; return requests.map(({ inputs }) => ({ y: inputs.x.data.map((value) => value + runs) }));',
      ),
    { more },
  );

/** Loads a model again, with a configuration that differs in a parameter. */
function reload(server: InferenceServer, name: string): Promise<unknown> {
  const { config } = server.model(name);
  return server.loadModel(name, { config: { ...config, parameters: { changed: { string_value: 'yes' } } } });
}

function counts(server: InferenceServer, model: string): readonly [hits: number, misses: number] {
  const { cache_hit: hit, cache_miss: miss } = server.model(model).statistics().inference_stats;
  return [hit.count, miss.count];
}

test('an equal request is answered from the cache', async (t) => {
  const server = await serve(t, { add: onnx(addModel(), { more: cached }) }, { cacheConfig });
  const first = await server.infer('add', { x: row() });
  const second = await server.infer('add', { x: row() });
  const other = await server.infer('add', { x: row(1) });
  assert.deepEqual(floats(second), floats(first));
  assert.deepEqual(second.outputs['y']?.shape, [1, 16]);
  assert.deepEqual(
    [first, second, other].map(({ timings }) => [timings.cacheHit, timings.batchSize]),
    [
      [false, 1],
      [true, 0],
      [false, 1],
    ],
  );
  assert.equal(second.timings.computeInferNs, 0);
  const statistics = await statisticsAfter(server, 'add', 3);
  const { success, queue, compute_infer, cache_hit, cache_miss } = statistics.inference_stats;
  assert.deepEqual([success.count, queue.count, compute_infer.count], [3, 3, 2]);
  assert.deepEqual([cache_hit.count, cache_miss.count], [1, 2]);
  assert.ok(cache_hit.ns > 0 && cache_miss.ns > 0);
  // A hit is no inference and no execution.
  assert.deepEqual([statistics.inference_count, statistics.execution_count], [2, 2]);
});

test('the answers of many requests of a tick are told apart', async (t) => {
  const server = await serve(t, { add: onnx(addModel(), { more: cached }) }, { cacheConfig });
  for (let round = 0; round < 3; round++) {
    // Of 200 requests, 50 are different, and in each round some are new.
    const all = await Promise.all(
      Array.from({ length: 200 }, (_, i) => server.infer('add', { x: row((i % 50) + round * 10) })),
    );
    all.forEach((result, i) => {
      assert.deepEqual(floats(result), [...row((i % 50) + round * 10 + 1)]);
    });
  }
  const [hits, misses] = counts(server, 'add');
  assert.deepEqual([hits + misses, misses], [600, 70]);
});

test('a result may be changed by its caller', async (t) => {
  const wide = { x: row(0, 32 * 1024) };
  const tensors = {
    inputs: [{ name: 'x', dims: [-1] }],
    outputs: [{ name: 'y', dims: [-1] }],
  };
  const server = await serve(t, { echo: identity({ ...tensors, more: cached }) }, { cacheConfig });
  for (let i = 0; i < 3; i++) {
    const { outputs, timings } = await server.infer('echo', wide);
    assert.equal(timings.cacheHit, i > 0);
    const data = outputs['y']?.as('FP32').data;
    assert.ok(data);
    assert.deepEqual([data[0], data[5], data.length], [0, 5, 32 * 1024]);
    data.fill(7);
  }
});

test('large inputs that differ in any byte have answers of their own, also in arrays of the caller', async (t) => {
  const count = 32 * 1024;
  const tensors = { inputs: [{ name: 'x', dims: [-1] }], outputs: [{ name: 'y', dims: [-1] }] };
  const config = { cacheConfig: { local: { size: 16 * 2 ** 20 } } };
  const server = await serve(t, { echo: identity({ ...tensors, more: cached }) }, config);
  // The first of them are in the same sample (docs/cache.md).
  const places = [100, 101, 5000, 0, count - 1];
  const changed = (place: number): Float32Array => {
    const data = new Float32Array(count).fill(1);
    data[place] = 2;
    return data;
  };
  const into = new Float32Array(count);
  for (let round = 0; round < 4; round++) {
    for (const place of places) {
      const x = { data: changed(place), shape: [1, count] };
      const own = await server.infer('echo', { x });
      assert.equal(own.timings.cacheHit, round > 0);
      const data = own.outputs['y']?.as('FP32').data;
      assert.deepEqual(data, changed(place));
      data.fill(7); // It is the caller's.
      const given = await server.infer('echo', { x }, { into: { y: into } });
      assert.ok(given.timings.cacheHit);
      assert.deepEqual(into, changed(place));
      into.fill(7);
    }
  }
  assert.deepEqual(counts(server, 'echo'), [2 * 4 * places.length - places.length, places.length]);
});

test('shape, wanted outputs and parameters are part of the question, as they are not in Triton', async (t) => {
  const tensors = { inputs: [{ name: 'x', dims: [-1] }], outputs: [{ name: 'y', dims: [-1] }] };
  const server = await serve(t, { echo: identity({ ...tensors, more: cached }) }, { cacheConfig });
  const data = Float32Array.of(1, 2, 3, 4);
  const flat = await server.infer('echo', { x: { data, shape: [1, 4] } });
  const square = await server.infer('echo', { x: { data, shape: [2, 2] } });
  assert.deepEqual(flat.outputs['y']?.shape, [1, 4]);
  assert.deepEqual(square.outputs['y']?.shape, [2, 2]);
  await server.infer('echo', { x: { data, shape: [1, 4] } }, { outputs: ['y'] });
  await server.infer('echo', { x: { data, shape: [1, 4] } }, { parameters: { a: 1 } });
  await server.infer('echo', { x: { data, shape: [1, 4] } }, { parameters: { a: '1' } });
  assert.deepEqual(counts(server, 'echo'), [0, 5]);
  const again = await server.infer('echo', { x: { data, shape: [1, 4] } }, { parameters: { a: '1' } });
  assert.ok(again.timings.cacheHit);
});

test('texts are cached', async (t) => {
  const tensors = {
    inputs: [{ name: 'x', datatype: 'BYTES' as const, dims: [-1] }],
    outputs: [{ name: 'y', datatype: 'BYTES' as const, dims: [-1] }],
  };
  const server = await serve(t, { echo: identity({ ...tensors, more: cached }) }, { cacheConfig });
  for (const words of [
    ['ab', 'c'],
    ['a', 'bc'],
    ['ab', 'c'],
  ]) {
    const { outputs } = await server.infer('echo', { x: [words] });
    assert.deepEqual(outputs['y']?.strings(), words);
  }
  assert.deepEqual(counts(server, 'echo'), [1, 2]);
});

test('equal requests in flight share one run', async (t) => {
  const server = await serve(t, { m: counting() }, { cacheConfig });
  const all = await Promise.all(Array.from({ length: 20 }, () => server.infer('m', { x: row() })));
  for (const result of all) assert.deepEqual(floats(result), [...row(1)]);
  assert.equal(all.filter(({ timings }) => timings.cacheHit).length, 19);
  const { inference_count: count } = await statisticsAfter(server, 'm', 20);
  assert.equal(count, 1);
});

test('with coalesce: false they run apart', async (t) => {
  const server = await serve(t, { m: counting() }, { cacheConfig: { ...cacheConfig, coalesce: false } });
  await Promise.all(Array.from({ length: 20 }, () => server.infer('m', { x: row() })));
  const { inference_count: count } = await statisticsAfter(server, 'm', 20);
  assert.equal(count, 20);
  // As in Triton, a miss whose answer is there already does not count.
  assert.deepEqual(counts(server, 'm'), [0, 1]);
});

test('a cancelled request does not fail those that share its run', async (t) => {
  const closed = await gate(t);
  const server = await serve(t, { slow: held(closed, { more: cached }) }, { cacheConfig });
  const signal = new AbortController();
  const busy = server.infer('slow', { x: row(9) });
  await turn();
  const leader = server.infer('slow', { x: row() }, { signal: signal.signal });
  const followers = [server.infer('slow', { x: row() }), server.infer('slow', { x: row() })];
  await turn();
  signal.abort();
  assert.equal((await rejection(leader)).code, 'CANCELLED');
  await closed.open();
  for (const result of await Promise.all(followers)) assert.deepEqual(floats(result), [...row()]);
  await busy;
  const { execution_count: runs } = await statisticsAfter(server, 'slow', 4);
  assert.equal(runs, 2);
});

test('with preserve_ordering no cached response overtakes', async (t) => {
  const ordered = identity({ batching: 'preserve_ordering: true', delayMs: 20, instances: 2, more: cached });
  const server = await serve(t, { ordered }, { cacheConfig });
  await server.infer('ordered', { x: row() });
  const order: string[] = [];
  const note =
    (name: string) =>
    ({ timings }: InferResult): void => {
      order.push(`${name} ${timings.cacheHit ? 'hit' : 'ran'}`);
    };
  await Promise.all([
    server.infer('ordered', { x: row(1) }).then(note('first')),
    server.infer('ordered', { x: row() }).then(note('second')),
    server.infer('ordered', { x: row(1) }).then(note('third')),
  ]);
  assert.deepEqual(order, ['first ran', 'second ran', 'third ran']);
});

test('errors are not cached', async (t) => {
  const failing = script(
    'let runs = 0; ' +
      executing(
        'runs++; return requests.map(({ inputs }) => runs === 1 ? new Error("first") : { y: inputs.x });',
      ),
    { more: cached },
  );
  const server = await serve(t, { failing }, { cacheConfig });
  assert.match((await rejection(server.infer('failing', { x: row() }))).message, /first/);
  assert.deepEqual(floats(await server.infer('failing', { x: row() })), [...row()]);
  assert.ok((await server.infer('failing', { x: row() })).timings.cacheHit);
});

test('a model that is loaded again does not give its old answers', async (t) => {
  const server = await serve(
    t,
    { m: counting() },
    { cacheConfig, modelControlMode: 'explicit', loadModels: ['m'] },
  );
  await server.infer('m', { x: row() });
  assert.ok((await server.infer('m', { x: row() })).timings.cacheHit);
  await reload(server, 'm');
  const fresh = await server.infer('m', { x: row() });
  assert.deepEqual([fresh.timings.cacheHit, floats(fresh)[0]], [false, 1]);
  assert.ok((await server.infer('m', { x: row() })).timings.cacheHit);
});

test('entries expire', async (t) => {
  const server = await serve(t, { m: counting() }, { cacheConfig: { local: { size: 2 ** 20, ttlMs: 20 } } });
  await server.infer('m', { x: row() });
  await wait(25);
  const { outputs, timings } = await server.infer('m', { x: row() });
  assert.deepEqual([timings.cacheHit, outputs['y']?.as('FP32').data[0]], [false, 2]);
});

test('a cache that is full evicts what was used longest ago', async (t) => {
  const server = await serve(
    t,
    { add: onnx(addModel(), { more: cached }) },
    { cacheConfig: { local: { size: 4096 } } },
  );
  for (let i = 0; i < 30; i++) await server.infer('add', { x: row(i) });
  assert.ok((await server.infer('add', { x: row(29) })).timings.cacheHit);
  assert.ok(!(await server.infer('add', { x: row(0) })).timings.cacheHit);
  const { cache } = server.explain('add');
  assert.ok(cache && (cache.evictions ?? 0) > 10 && (cache.used ?? 2) <= 1);
});

test('without the option a model runs each request, and a note says so', async (t) => {
  const server = await serve(t, { m: counting(), e: ensemble(chain(['m']), { more: cached }) });
  await server.infer('m', { x: row() });
  assert.ok(!(await server.infer('m', { x: row() })).timings.cacheHit);
  for (const model of ['m', 'e']) {
    assert.match(
      server.model(model).notes.join('\n'),
      /response_cache\.enable: .* needs the option cacheConfig/,
    );
  }
  assert.equal(server.explain('m').cache, undefined);
  assert.doesNotMatch(server.metrics(), /nv_cache/);
});

test('a model without response_cache is not cached', async (t) => {
  const server = await serve(t, { m: counting('') }, { cacheConfig });
  await server.infer('m', { x: row() });
  assert.equal(floats(await server.infer('m', { x: row() }))[0], 2);
  assert.deepEqual(counts(server, 'm'), [0, 0]);
  assert.equal(server.explain('m').cache, undefined);
});

test('metrics have the names of Triton', async (t) => {
  const server = await serve(t, { add: onnx(addModel(), { more: cached }), plain: onnx() }, { cacheConfig });
  for (const first of [1, 1, 1, 2]) await server.infer('add', { x: row(first) });
  await server.infer('plain', { x: row() });
  const text = server.metrics();
  for (const [name, value] of [
    ['nv_cache_num_entries', '2'],
    ['nv_cache_num_lookups', '4'],
    ['nv_cache_num_hits', '2'],
    ['nv_cache_num_misses', '2'],
    ['nv_cache_num_evictions', '0'],
    ['nv_cache_num_hits_per_model{model="add",version="1"}', '2'],
    ['nv_cache_num_misses_per_model{model="add",version="1"}', '2'],
    ['nv_inference_request_success{model="add",version="1"}', '4'],
    ['nv_inference_count{model="add",version="1"}', '2'],
  ] as const) {
    assert.ok(text.includes(`\n${name} ${value}\n`), `${name} ${value}\n${text}`);
  }
  for (const name of ['util', 'lookup_duration', 'insertion_duration']) {
    assert.match(text, new RegExp(`^nv_cache_${name} \\d`, 'm'));
  }
  for (const kind of ['hit', 'miss']) {
    assert.match(
      text,
      new RegExp(`^nv_cache_${kind}_duration_per_model\\{model="add",version="1"\\} \\d`, 'm'),
    );
  }
  assert.doesNotMatch(text, /per_model\{model="plain"/);
  const { cache } = server.explain('add');
  assert.deepEqual([cache?.hits, cache?.misses], [2, 2]);
});

test('ensembles are cached at their top, and forget when one of their models is loaded again', async (t) => {
  const server = await serve(
    t,
    { m: counting(''), e: ensemble(chain(['m']), { more: cached }) },
    { cacheConfig, modelControlMode: 'explicit', loadModels: ['e'] },
  );
  await server.infer('e', { x: row() });
  const hit = await server.infer('e', { x: row() });
  assert.deepEqual([hit.timings.cacheHit, floats(hit)[0]], [true, 1]);
  assert.equal((await statisticsAfter(server, 'm', 1)).inference_count, 1);
  assert.deepEqual(counts(server, 'e'), [1, 1]);
  await reload(server, 'm');
  const fresh = await server.infer('e', { x: row() });
  assert.equal(fresh.timings.cacheHit, false);
  assert.equal((await statisticsAfter(server, 'm', 1)).inference_count, 1);
});

test('ensembles around ensembles forget, too, when a model far below is loaded again', async (t) => {
  const server = await serve(
    t,
    {
      m: counting(''),
      inner: ensemble(chain(['m'])),
      outer: ensemble(chain(['inner']), { more: cached }),
      outermost: ensemble(chain(['outer']), { more: cached }),
    },
    { cacheConfig, modelControlMode: 'explicit', loadModels: ['*'] },
  );
  for (const model of ['outer', 'outermost']) {
    await server.infer(model, { x: row() });
    assert.ok((await server.infer(model, { x: row() })).timings.cacheHit);
  }
  for (const model of ['m', 'inner']) {
    await reload(server, model);
    assert.equal((await server.infer('outermost', { x: row() })).timings.cacheHit, false);
    assert.ok((await server.infer('outermost', { x: row() })).timings.cacheHit);
    await server.infer('outer', { x: row() });
    assert.ok((await server.infer('outer', { x: row() })).timings.cacheHit);
  }
});

test('the entries of a model are freed when it is unloaded', async (t) => {
  const server = await serve(
    t,
    { m: counting(), add: onnx(addModel(), { more: cached }) },
    { cacheConfig, modelControlMode: 'explicit', loadModels: ['*'] },
  );
  await server.infer('m', { x: row() });
  await server.infer('add', { x: row() });
  const entries = (): string | undefined => /^nv_cache_num_entries (\d+)$/m.exec(server.metrics())?.[1];
  assert.equal(entries(), '2');
  await server.unloadModel('m');
  // Not even another request is needed for that.
  await until(() => entries() === '1');
});

test('a model that answers CANCELLED by itself runs once for equal requests', async (t) => {
  let runs = 0;
  const server = await createServer({
    cacheConfig,
    models: {
      m: {
        config: {
          max_batch_size: 8,
          input: [{ name: 'x', data_type: 'TYPE_FP32', dims: [1] }],
          output: [{ name: 'y', data_type: 'TYPE_FP32', dims: [1] }],
          response_cache: { enable: true },
        },
        execute: async (requests) => {
          runs++;
          await turn();
          return requests.map(() => new TritonError('CANCELLED', 'the model says so'));
        },
      },
    },
  });
  t.after(() => server.close({ timeoutMs: 0 }));
  const asked = Array.from({ length: 20 }, () => rejection(server.infer('m', { x: [[1]] })));
  for (const error of await Promise.all(asked)) assert.equal(error.code, 'CANCELLED');
  assert.equal(runs, 1);
});

test('an ensemble is cached only if all its models allow it', async (t) => {
  const decoupled = script(executing('for (const request of requests) request.end();'), {
    more: 'model_transaction_policy { decoupled: true }',
  });
  const error = await rejection(
    serve(t, { decoupled, e: ensemble(chain(['decoupled']), { more: cached }) }, { cacheConfig }),
  );
  assert.match(
    error.message,
    /response_cache\.enable: an ensemble can use the response cache only if all its models can, but 'decoupled' is decoupled/,
  );
});

test('the option is checked', async (t) => {
  for (const [given, text] of [
    [{}, /expected the settings of one cache \(local, redis.*\) for options\.cacheConfig but received none/],
    [{ local: {} }, /expected bytes, at least 512, for options\.cacheConfig\.local\.size/],
    [{ local: { size: 64 } }, /at least 512, .* but received 64/],
    [{ local: { size: 2 ** 20, ttlMs: 0 } }, /options\.cacheConfig\.local\.ttlMs/],
    [{ local: { size: 2 ** 20 }, coalesce: 1 }, /true or false for options\.cacheConfig\.coalesce/],
    [{ redis: {} }, /expected a name or an address for options\.cacheConfig\.redis\.host/],
    [{ redis: { host: 'h', port: 0 } }, /integer from 1 to 65535 for options\.cacheConfig\.redis\.port/],
    [{ redis: { host: 'h', port: 1, password: 1 } }, /a string for options\.cacheConfig\.redis\.password/],
    [{ redis: { host: 'h', port: 1, tls: { key: 'k' } } }, /cert and key together/],
    [{ redis: { host: 'h', port: 1 }, coalesc: true }, /did you mean coalesce/],
  ] as const) {
    // Wrong on purpose, as JavaScript may be.
    const error = await rejection(serve(t, {}, { cacheConfig: given as never }));
    assert.equal(error.code, 'INVALID_ARG');
    assert.match(error.message, text);
  }
});
