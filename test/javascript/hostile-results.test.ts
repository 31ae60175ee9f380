import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createServer, type ModelConfigInput } from '../../src/index.js';
import type { ModelRequest, Results } from '../../src/javascript/index.js';

const io: ModelConfigInput = {
  max_batch_size: 0,
  input: [{ name: 'x', data_type: 'TYPE_FP32', dims: [1] }],
  output: [{ name: 'y', data_type: 'TYPE_FP32', dims: [1] }],
};
const decoupled: ModelConfigInput = { ...io, model_transaction_policy: { decoupled: true } };

function throws(value: unknown): never {
  throw value;
}
const unreadable: unknown = Object.create(null);
const revoked = (): object => {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
};

/** Results of `execute` that the types do not allow. */
const hostile: Readonly<Record<string, (requests: readonly ModelRequest[]) => unknown>> = {
  'a getter `then` that throws': () => ({
    get then() {
      return throws(new Error('then'));
    },
  }),
  'a `then` that throws': () => ({ then: () => throws(new Error('then')) }),
  'an output that throws what is no text': (requests) =>
    requests.map(() => ({
      get y() {
        return throws(unreadable);
      },
    })),
  'a revoked proxy': revoked,
  'an array of a huge length': () => Object.assign([], { length: 2 ** 32 - 1 }),
  'a proxy of a huge length': (requests) =>
    new Proxy(
      requests.map(() => ({ y: [1] })),
      { get: (target, key): unknown => (key === 'length' ? 2 ** 53 : Reflect.get(target, key)) },
    ),
  'a revoked proxy as a result': (requests) => requests.map(revoked),
  'an error whose message throws': (requests) =>
    requests.map(() =>
      Object.defineProperty(new Error('hidden'), 'message', { get: () => throws(new Error('message')) }),
    ),
};

for (const [what, execute] of Object.entries(hostile)) {
  test(`${what} fails its request, and the model goes on`, async () => {
    const server = await createServer({
      models: { m: { config: io, execute: (requests) => execute(requests) as Results } },
    });
    for (let i = 0; i < 2; i++) await assert.rejects(server.infer('m', { x: [1] }), { code: 'INTERNAL' });
    await server.close();
  });
}

const hostileStreams: Readonly<Record<string, (requests: readonly ModelRequest[]) => unknown>> = {
  'an iterator that is not to be had': (requests) =>
    requests.map(() => ({
      get [Symbol.iterator]() {
        return throws(new Error('iterator'));
      },
    })),
  'an item that throws what is no text': (requests) =>
    requests.map(() =>
      (function* () {
        yield {
          get y() {
            return throws(unreadable);
          },
        };
      })(),
    ),
};

for (const [what, execute] of Object.entries(hostileStreams)) {
  test(`${what} ends its stream, and the model goes on`, async () => {
    const server = await createServer({
      models: { m: { config: decoupled, execute: (requests) => execute(requests) as Results } },
    });
    for (let i = 0; i < 2; i++) {
      await assert.rejects(server.stream('m', { x: [1] }).next(), { code: 'INTERNAL' });
    }
    await server.close();
  });
}

test('a model that batches may have thousands of outputs', async () => {
  const output = Array.from({ length: 3500 }, (_, i) => ({
    name: `y${i}`,
    data_type: 'TYPE_FP32' as const,
    dims: [1],
  }));
  const results = Object.fromEntries(output.map(({ name }, i) => [name, [[i]]]));
  const server = await createServer({
    models: {
      m: { config: { ...io, max_batch_size: 4, output }, execute: (requests) => requests.map(() => results) },
    },
  });
  const { outputs } = await server.infer('m', { x: [[1]] });
  assert.equal(Object.keys(outputs).length, 3500);
  assert.deepEqual(outputs['y3499']?.toArray(), [[3499]]);
  await server.close();
});

test('close does not wait for an execute of the program that never ends', async () => {
  const server = await createServer({
    models: { m: { config: io, execute: () => new Promise<Results>(() => undefined) } },
  });
  const asked = assert.rejects(server.infer('m', { x: [1] }), { code: 'CANCELLED' });
  await server.close({ timeoutMs: 100 });
  await asked;
});

test('an output with a dimension of 2^31 fails its request by name, and the model goes on', async () => {
  const bytes: ModelConfigInput = {
    ...io,
    output: [{ name: 'y', data_type: 'TYPE_UINT8', dims: [-1] }],
  };
  const server = await createServer({
    models: {
      m: {
        config: bytes,
        execute: (requests) =>
          requests.map(({ inputs }) => ({ y: new Uint8Array(inputs['x']?.data[0] === 1 ? 2 ** 31 : 3) })),
      },
    },
  });
  await assert.rejects(server.infer('m', { x: [1] }), {
    code: 'INTERNAL',
    message: /output 'y'.* 2147483648/,
  });
  assert.deepEqual((await server.infer('m', { x: [2] })).outputs['y']?.shape, [3]);
  await server.close();
});
