// Long: it plays many random cases.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { connectServer } from '../../../src/client/index.js';
import { createServer, type GivenModel } from '../../../src/index.js';
import { endpointOf as grpcOf, foreign, responses, type Fields } from '../../endpoints/grpc/harness.js';
import { ask, endpointOf as httpOf, json } from '../../endpoints/http/harness.js';
import { callOf, calling } from '../../javascript/calls.js';
import { script, serving, skip } from '../../python/harness.js';
import { attach } from '../../server/workers/client.js';
import {
  chain,
  configText,
  ensemble,
  floats,
  identity,
  onnx,
  rejection,
  row,
  serve,
  until,
} from '../../support/harness.js';
import type { RepositoryModel } from '../../support/repository.js';
import { gated, loaded } from './harness.js';

/** A model in JavaScript. */
function javascript(code: string): RepositoryModel {
  return { config: configText({ backend: 'javascript' }), versions: { '1': { 'model.mjs': code } } };
}

test('HTTP: a lazy model is ready, and its metadata, its configuration and its requests load it', async (t) => {
  const server = await serve(t, { a: onnx(), b: onnx(), c: onnx() }, { load: 'lazy' });
  const endpoint = await httpOf(t, server);
  const to = (path: string, body?: object): ReturnType<typeof ask> =>
    ask(endpoint, path, { ...(body && { body: JSON.stringify(body) }) });
  assert.equal((await to('/v2/health/ready')).status, 200);
  assert.equal((await to('/v2/models/a/ready')).status, 200);
  assert.deepEqual(loaded(server), []);
  const input = { name: 'x', datatype: 'FP32', shape: [1, 16], data: [...row()] };
  const answer = await to('/v2/models/a/infer', { inputs: [input] });
  assert.equal(answer.status, 200);
  assert.deepEqual((json(answer) as { outputs: [{ data: number[] }] }).outputs[0].data, [...row(1)]);
  assert.deepEqual((json(await to('/v2/models/b')) as { versions: string[] }).versions, ['1']);
  assert.equal((json(await to('/v2/models/c/config')) as { name: string }).name, 'c');
  assert.deepEqual(loaded(server), ['a', 'b', 'c']);
});

for (const protocol of ['http', 'grpc'] as const) {
  test(`${protocol}: the client of this package, an error of the load, and a client that leaves`, async (t) => {
    const slow = gated();
    const bad = gated();
    bad.open(new Error('no weights'));
    const server = await createServer({
      load: 'lazy',
      models: { slow: slow.model, bad: bad.model },
      logger: {},
    });
    t.after(() => server.close({ timeoutMs: 0 }));
    const { address } = await (protocol === 'http' ? httpOf(t, server) : grpcOf(t, server));
    const remote = await connectServer(`${protocol}://127.0.0.1:${address.port}`, { retries: 0 });
    t.after(() => remote.close({ timeoutMs: 0 }));
    const controller = new AbortController();
    const left = rejection(remote.infer('slow', { x: row() }, { signal: controller.signal }));
    const stays = remote.infer('slow', { x: row() });
    await until(() => slow.begun() === 1);
    controller.abort();
    assert.equal((await left).code, 'CANCELLED');
    slow.open();
    assert.deepEqual(floats(await stays), [...row(1)]);
    assert.match((await rejection(remote.infer('bad', { x: row() }))).message, /no weights/);
  });
}

test('gRPC: the answers of a stream have the order of its requests, also behind one that waits for a load', async (t) => {
  const slow = gated();
  const quick = gated();
  quick.open();
  const server = await createServer({ load: 'lazy', models: { slow: slow.model, quick: quick.model } });
  t.after(() => server.close({ timeoutMs: 0 }));
  const client = await foreign(t, await grpcOf(t, server));
  await server.infer('quick', { x: row() });
  const stream = client.stream();
  const told = responses<Fields>(stream);
  for (const [id, name] of ['quick', 'slow', 'quick', 'slow'].entries()) {
    stream.write({
      ...{ model_name: name, id: String(id), raw_input_contents: [Buffer.from(row().buffer)] },
      inputs: [{ name: 'x', datatype: 'FP32', shape: [1, 16] }],
    });
  }
  stream.end();
  await until(() => slow.begun() === 1);
  slow.open();
  const ids = (await told).map((one) => (one['infer_response'] as { id: string }).id);
  assert.deepEqual(ids, ['0', '1', '2', '3']);
});

test('an attached worker has lazy models loaded, and gets the error of their load', async (t) => {
  const bad = gated();
  bad.open(new Error('no weights'));
  const good = gated();
  good.open();
  const server = await createServer({
    load: 'lazy',
    models: { good: good.model, bad: bad.model },
    logger: {},
  });
  t.after(() => server.close({ timeoutMs: 0 }));
  const worker = await attach(t, server.handle);
  assert.deepEqual(await worker.ask('infer', { name: 'good', count: 3 }), [1, 2, 3]);
  assert.deepEqual(loaded(server), ['good']);
  const error = await rejection(worker.ask('infer', { name: 'bad' }));
  assert.match(error.message, /no weights/);
});

test('a worker waits for a load until the server closes', async (t) => {
  const slow = gated();
  const server = await createServer({ load: 'lazy', models: { slow: slow.model } });
  t.after(() => server.close({ timeoutMs: 0 }));
  const worker = await attach(t, server.handle);
  const waiting = rejection(worker.ask('infer', { name: 'slow' }));
  await until(() => slow.begun() === 1);
  const closed = server.close({ timeoutMs: 0 });
  slow.open();
  await closed;
  assert.equal((await waiting).code, 'UNAVAILABLE');
});

test('models in JavaScript have lazy models loaded that they call, also while they are loaded themselves', async (t) => {
  const server = await serve(
    t,
    {
      add: onnx(),
      other: identity(),
      calls: javascript(calling(callOf('add'), `await server.infer('other', { x: new Float32Array(16) });`)),
    },
    // Nothing else fits beside a model: those that are called must not wait for their callers.
    { load: 'lazy', memoryBudgetBytes: 1, logger: {} },
  );
  assert.deepEqual(floats(await server.infer('calls', { x: row() })), [...row(1)]);
});

test('models in the program have lazy models loaded that they call', async (t) => {
  const { model, open } = gated();
  open();
  // It has the same tensors.
  const outer: GivenModel = {
    ...(model as object),
    execute: async (requests: readonly { readonly inputs: { readonly x: never } }[]) =>
      Promise.all(
        requests.map(async ({ inputs }) => ({
          y: (await server.infer('inner', { x: inputs.x })).outputs['y'],
        })),
      ),
  } as never;
  const server = await createServer({
    load: 'lazy',
    memoryBudgetBytes: 1,
    models: { inner: model, outer },
    logger: {},
  });
  t.after(() => server.close({ timeoutMs: 0 }));
  assert.deepEqual(floats(await server.infer('outer', { x: row() })), [...row(1)]);
});

test('models in Python have lazy models loaded that they call', { skip }, async (t) => {
  const server = await serving(
    t,
    {
      add: onnx(),
      calls: script(`def execute(self, requests):
    return [pb_utils.InferenceResponse(output_tensors=pb_utils.InferenceRequest(model_name="add", requested_output_names=["y"], inputs=[tensor(request)]).exec().output_tensors()) for request in requests]`),
    },
    { load: 'lazy' },
  );
  assert.deepEqual(floats(await server.infer('calls', { x: row() })), [...row(1)]);
  assert.deepEqual(loaded(server), ['add', 'calls']);
});

test('models that call each other while they are loaded are refused, in threads and in the program', async (t) => {
  const calls = (other: string): RepositoryModel =>
    javascript(`export default class {
  async initialize({ server }) { await server.infer('${other}', { x: new Float32Array(16) }); }
  execute(requests) { return requests.map(({ inputs }) => ({ y: inputs.x })); }
}`);
  const models = { self: calls('self'), a: calls('b'), b: calls('a'), ok: onnx() };
  const server = await serve(t, models, { load: 'lazy', memoryBudgetBytes: 2 ** 40, logger: {} });
  const refused = await Promise.all(
    ['self', 'a', 'b', 'a'].map((name) => rejection(server.infer(name, { x: row() }))),
  );
  for (const { message } of refused) assert.match(message, /would wait for itself/);
  assert.deepEqual(floats(await server.infer('ok', { x: row() })), [...row(1)]);

  const { model, open } = gated();
  open();
  const inProgram = (other: string): GivenModel =>
    ({ ...(model as object), initialize: () => given.infer(other, { x: row() }) }) as never;
  const given = await createServer({
    load: 'lazy',
    models: { self: inProgram('self'), a: inProgram('b'), b: inProgram('a') },
    logger: {},
  });
  t.after(() => given.close({ timeoutMs: 0 }));
  for (const name of ['self', 'a'])
    assert.match((await rejection(given.infer(name, { x: row() }))).message, /would wait for itself/);
});

test('HTTP: requests that wait count against maxInFlightBytes until their clients leave', async (t) => {
  const slow = gated();
  const server = await createServer({ load: 'lazy', models: { slow: slow.model }, maxInFlightBytes: 4096 });
  t.after(() => server.close({ timeoutMs: 0 }));
  t.after(() => {
    slow.open();
  });
  const { address } = await httpOf(t, server);
  const body = JSON.stringify({
    inputs: [{ name: 'x', datatype: 'FP32', shape: [1, 16], data: [...row()] }],
  });
  const send = async (signal: AbortSignal): Promise<number> => {
    const url = `http://127.0.0.1:${address.port}/v2/models/slow/infer`;
    const answer = await fetch(url, { method: 'POST', body, signal });
    await answer.arrayBuffer();
    return answer.status;
  };
  const leaving = new AbortController();
  const answers = Array.from({ length: 6 }, () => send(leaving.signal));
  const left = Promise.allSettled(answers);
  // At most three of them fit.
  assert.equal(await Promise.race(answers), 429);
  await until(() => slow.begun() === 1);
  leaving.abort();
  await left;
  const staying = new AbortController();
  let isWaiting = false;
  const stays = async (): Promise<number> => {
    for (;;) {
      const answer = send(staying.signal);
      const first = await Promise.race([answer, new Promise((resolve) => setTimeout(resolve, 300, 0))]);
      if (first === 429) continue;
      isWaiting = true;
      return answer;
    }
  };
  const more = stays();
  await until(() => isWaiting);
  slow.open();
  assert.equal(await more, 200);
});

test('a lazy ensemble loads its models, which stay while it is loaded', async (t) => {
  const models = { a: onnx(), b: onnx(), other: onnx(), both: ensemble(chain(['a', 'b'])) };
  const server = await serve(t, models, { load: 'lazy', memoryBudgetBytes: 2 ** 40 });
  assert.deepEqual(floats(await server.infer('both', { x: row() })), [...row(2)]);
  assert.deepEqual(loaded(server), ['a', 'b', 'both']);
  const small = await serve(t, models, { load: 'lazy', memoryBudgetBytes: 1, logger: {} });
  assert.deepEqual(floats(await small.infer('both', { x: row() })), [...row(2)]);
  assert.deepEqual(loaded(small), ['a', 'b', 'both']);
  await small.infer('other', { x: row() });
  assert.equal(loaded(small).includes('both'), false);
  assert.deepEqual(floats(await small.infer('both', { x: row() })), [...row(2)]);
});

test('an ensemble that is loaded at the start has its lazy models loaded', async (t) => {
  const a = identity({ parameters: { load: 'lazy' } });
  const server = await serve(t, { a, b: onnx(), lazy: a, both: ensemble(chain(['a', 'b'])) });
  assert.deepEqual(loaded(server), ['a', 'b', 'both']);
  assert.deepEqual(floats(await server.infer('both', { x: row() })), [...row(1)]);
});
