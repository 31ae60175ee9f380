/** Parameters of responses, from models to every kind of caller. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RequestParameters } from '../../src/index.js';
import { connectedTo, protocols } from '../client/harness.js';
import { floats, rejection, row, serve } from '../support/harness.js';
import { asking, generating } from './decoupled.js';
import { executing, script } from './harness.js';

/** Gives each request as parameters what its own have, and the number of its batch's requests. */
const returning = executing(`return requests.map((request) =>
  request.withParameters({ y: request.inputs.x }, { ...request.parameters, together: requests.length }));`);

const all: RequestParameters = {
  text: 'ä\0b',
  empty: '',
  whole: -7,
  large: 2n ** 63n - 1n,
  real: 0.25,
  huge: 2 ** 60,
  larger: -(10 ** 300),
  unknown: NaN,
  endless: -Infinity,
  mark: '\uFEFFb',
  flag: true,
  off: false,
  ['__proto__']: 'a name like another',
};

test('a result has the parameters that its model returned, each request its own', async (t) => {
  const server = await serve(t, { m: script(returning) });
  await server.infer('m', { x: row() });
  const asked = Array.from({ length: 8 }, (_, i) =>
    server.infer('m', { x: row(i) }, { parameters: { ...all, i } }),
  );
  for (const [i, result] of (await Promise.all(asked)).entries()) {
    assert.deepEqual(floats(result), [...row(i)]);
    const { together, ...rest } = result.parameters;
    assert.equal(typeof together, 'number');
    assert.deepEqual(rest, { ...all, i });
    assert.ok(Object.isFrozen(result.parameters));
  }
  assert.deepEqual((await server.infer('m', { x: row() })).parameters, { together: 1 });
});

test('only some results of a batch have parameters', async (t) => {
  const body = `return requests.map((request) => {
    const { x } = request.inputs;
    return x.data[0] % 2 === 0 ? { y: x } : request.withParameters({ y: x }, { first: x.data[0] });
  });`;
  const server = await serve(t, { m: script(executing(body)) });
  const asked = Array.from({ length: 20 }, (_, i) => server.infer('m', { x: row(i) }));
  for (const [i, { parameters }] of (await Promise.all(asked)).entries()) {
    assert.deepEqual(parameters, i % 2 === 0 ? {} : { first: row(i)[0] });
  }
});

test('a result has thousands of parameters', async (t) => {
  const body = `const all = Object.fromEntries(Array.from({ length: 2800 }, (_, i) => ['n' + i, i % 2 === 0]));
    return requests.map((request) => request.withParameters({ y: request.inputs.x }, all));`;
  const server = await serve(t, { m: script(executing(body)) });
  const { parameters } = await server.infer('m', { x: row() });
  assert.equal(Object.keys(parameters).length, 2800);
  assert.deepEqual([parameters['n0'], parameters['n2799']], [true, false]);
});

test('each response of a stream has parameters of its own', async (t) => {
  const body = `for (let k = 0; k < count; k++)
    yield k % 3 === 2 ? y(k) : request.withParameters(y(k), { k, text: 'x'.repeat(1000) });`;
  const server = await serve(t, { m: generating(body, 'function*') });
  const seen: unknown[] = [];
  for await (const { parameters } of server.stream('m', asking(40))) seen.push(parameters['k']);
  assert.deepEqual(
    seen,
    Array.from({ length: 40 }, (_, k) => (k % 3 === 2 ? undefined : k)),
  );
});

test('parameters that a model must not return fail its request, and say which', async (t) => {
  const body = `const all = [null, { a: null }, { b: {} }, { c: 2n ** 63n }, { d: 'x'.repeat(70_000) },
      Object.fromEntries(Array.from({ length: 5000 }, (_, i) => ['n' + i, true])), new Map([['a', 1]]), [['a', 1]],
      { ['a\\0b']: 1 }];
    return requests.map((request) => {
      try { return request.withParameters({ y: request.inputs.x }, all[request.inputs.x.data[0]]); }
      catch (error) { return error; }
    });`;
  const server = await serve(t, {
    m: script(executing(body), { inputs: [{ name: 'x', dims: [1] }], outputs: [{ name: 'y', dims: [1] }] }),
  });
  const messages = [
    /^model 'm': expected an object of strings, numbers and booleans as parameters but got null$/,
    /for the parameter 'a' but got null/,
    /for the parameter 'b' but got an object/,
    /a bigint of 64 bits for the parameter 'c'/,
    /at most 65536 bytes for the parameters of a response but got 70016/,
    /at most 65536 bytes for the parameters of a response but got 1/,
    /expected an object of strings, numbers and booleans as parameters but got a Map$/,
    /expected an object of strings, numbers and booleans as parameters but got an array$/,
    /expected names of parameters without a zero character but got 'a\\u0000b'$/,
  ];
  for (const [i, message] of messages.entries()) {
    const error = await rejection(server.infer('m', { x: [[i]] }));
    assert.equal(error.code, 'INTERNAL');
    assert.match(error.message, message);
  }
});

test('classification and ensembles: one keeps parameters, the other passes on a sequence alone', async (t) => {
  const named = executing(`return requests.map((request) =>
    request.withParameters({ y: request.inputs.x }, { a: 1, sequence_id: 42, sequence_start: true }));`);
  const reads = executing(`return requests.map((request) =>
    request.withParameters({ y: request.inputs.x }, { read: String(request.sequence?.id), start: request.sequence?.start ?? false }));`);
  const server = await serve(t, {
    named: script(named),
    reads: script(reads),
    both: {
      config: `platform: "ensemble" max_batch_size: 8
        input [ { name: "x" data_type: TYPE_FP32 dims: [ 16 ] } ]
        output [ { name: "y" data_type: TYPE_FP32 dims: [ 16 ] } ]
        ensemble_scheduling { step [
          { model_name: "named" model_version: -1 input_map { key: "x" value: "x" } output_map { key: "y" value: "z" } },
          { model_name: "reads" model_version: -1 input_map { key: "x" value: "z" } output_map { key: "y" value: "y" } } ] }`,
      versions: { '1': {} },
    },
  });
  const classified = await server.infer(
    'named',
    { x: row() },
    { outputs: [{ name: 'y', classification: 2 }] },
  );
  assert.deepEqual(classified.parameters, { a: 1, sequence_id: 42, sequence_start: true });
  const { parameters } = await server.infer('both', { x: row() });
  assert.deepEqual(parameters, { sequence_id: 42, sequence_start: true, sequence_end: false });
});

test('a model that calls another gets its parameters', async (t) => {
  const calls = `export default class {
    async initialize({ server }) { this.server = server; }
    async execute(requests) {
      return Promise.all(requests.map(async (request) => {
        const { parameters } = await this.server.infer('m', { x: request.inputs.x }, { parent: request, parameters: { n: 1n } });
        return request.withParameters({ y: request.inputs.x }, parameters);
      }));
    }
  }`;
  const server = await serve(t, { m: script(returning), caller: script(calls) });
  const { parameters } = await server.infer('caller', { x: row() });
  assert.deepEqual(parameters, { n: 1, together: 1 });
});

for (const protocol of protocols) {
  test(`a client over ${protocol} gets the parameters of responses`, async (t) => {
    const { own, remote } = await connectedTo(protocol)(t, {
      m: script(returning),
      stream: generating('yield request.withParameters(y(0), { k: 7 });', 'function*'),
    });
    const sent = [{ x: row() }, { parameters: all }] as const;
    const { parameters: expected } = await own.infer('m', ...sent);
    assert.deepEqual((await remote.infer('m', ...sent)).parameters, expected);
    // HTTP has no typed streams.
    if (protocol === 'http') return;
    const seen: unknown[] = [];
    const stream = await remote.model('stream');
    for await (const { parameters } of stream.stream(asking(1))) seen.push(parameters);
    assert.deepEqual(seen, [{ k: 7 }]);
  });
}
