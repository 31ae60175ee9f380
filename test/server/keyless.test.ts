/** Objects whose content is in none of their keys, such as a Map, are refused wherever keys are read. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runInNewContext } from 'node:vm';
import {
  createServer,
  type GivenModel,
  type InferOptions,
  type ModelConfigInput,
  type ServerOptions,
} from '../../src/index.js';
import { identity, rejection, row, serve } from '../support/harness.js';

const pairs: readonly (readonly [string, number])[] = [['a', 1]];

/** Such objects, and what messages call them. */
const keyless: readonly (readonly [value: object, name: string])[] = [
  [new Map(pairs), 'a Map'],
  [new Set(['a']), 'a Set'],
  [Promise.resolve(), 'a Promise'],
  [new Date(0), 'a Date'],
  [/a/, 'a RegExp'],
  [new URLSearchParams('a=1'), 'an iterable'],
  [new Headers({ a: '1' }), 'an iterable'],
  [Uint8Array.of(1), 'a typed array'],
  [new ArrayBuffer(1), 'an ArrayBuffer'],
  [new (class extends Map<string, number> {})(pairs), 'a Map'],
  // Test runners run code in contexts that have classes of their own.
  [runInNewContext('new Map([["a", 1]])') as object, 'a Map'],
];

const config: ModelConfigInput = {
  input: [{ name: 'x', data_type: 'TYPE_FP32', dims: [1], optional: true }],
  output: [{ name: 'y', data_type: 'TYPE_FP32', dims: [1] }],
};
const optional: GivenModel = {
  config,
  execute: (requests) => requests.map(() => ({ y: Float32Array.of(1) })),
};

test('options of a request are refused, and the message names what came', async (t) => {
  const server = await serve(t, { m: identity() });
  for (const option of ['parameters', 'into', 'sequence'] as const) {
    for (const [value, name] of keyless) {
      const options: InferOptions = { [option]: value };
      const model = server.model('m');
      for (const ask of [
        () => server.infer('m', { x: row() }, options),
        () => model.infer({ x: row() }, options),
        () => model.stream({ x: row() }, options).next(),
        // The options of map have no into, and are checked at the call.
        ...(option === 'into' ? [] : [async () => model.map([{ x: row() }], options).next()]),
      ]) {
        const error = await rejection(ask());
        assert.equal(error.code, 'INVALID_ARG');
        assert.match(error.message, new RegExp(`options\\.${option} but received ${name}$`));
      }
    }
  }
});

test('objects with keys are taken, whatever their class', async (t) => {
  const server = await serve(t, { m: identity() });
  class Parameters {
    readonly a = 1;
  }
  for (const parameters of [
    new Parameters(),
    Object.assign(Object.create(null) as object, { a: 1 }),
    runInNewContext('({ a: 1 })') as object,
  ])
    await server.infer('m', { x: row() }, { parameters: parameters as InferOptions['parameters'] });
});

test('inputs are refused although all of them are optional', async (t) => {
  const server = await createServer({ models: { m: optional } });
  t.after(() => server.close());
  assert.equal((await server.infer('m', {})).outputs['y']?.data[0], 1);
  for (const [value, name] of keyless) {
    const error = await rejection(server.infer('m', value as Record<string, never>));
    assert.equal(error.code, 'INVALID_ARG');
    assert.match(error.message, /^model 'm': expected inputs by name, such as \{ 'x': … \}, but got /, name);
  }
});

test('options of a server are refused', async () => {
  for (const option of [
    'models',
    'backendConfig',
    'cacheConfig',
    'hostPolicies',
    'metricsConfig',
    'traceConfig',
    'workers',
    'cudaMemoryPoolByteSize',
  ] as const) {
    for (const [value, name] of keyless.slice(0, 2)) {
      const options = { models: { m: optional }, [option]: value } as ServerOptions;
      const error = await rejection(createServer(options));
      assert.equal(error.code, 'INVALID_ARG', option);
      assert.match(error.message, new RegExp(`options\\.${option} but received ${name}$`));
    }
  }
});

test('fields of a configuration are refused', async () => {
  for (const field of ['parameters', 'dynamic_batching', 'metric_tags']) {
    const wrong: GivenModel = { ...optional, config: { ...config, [field]: new Map(pairs) } };
    const error = await rejection(createServer({ models: { m: wrong } }));
    assert.equal(error.code, 'INVALID_ARG');
    assert.match(error.message, new RegExp(`${field}: expected an object .*but found a Map`));
  }
});
