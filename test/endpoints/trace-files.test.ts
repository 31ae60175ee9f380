/** Files of traces: the time stamps of endpoints and of the engine, whatever becomes of a request. */

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { createServer, type InferenceServer, type TraceConfig } from '../../src/index.js';
import { chain, ensemble, identity, row, serve, until, type Context } from '../support/harness.js';
import { temporaryFolder } from '../support/repository.js';
import { counter } from './counter.js';
import { endpointOf as grpcOf, failure, foreign, responses, type Fields } from './grpc/harness.js';
import { ask, endpointOf as httpOf, errorOf, open } from './http/harness.js';

/** What a file has of one request. */
interface Traced {
  model_name?: string;
  model_version?: number;
  request_id?: string;
  parent_id?: number;
  readonly names: string[];
  readonly times: number[];
  readonly tensors: string[];
}

interface Entry {
  readonly id: number;
  readonly model_name?: string;
  readonly timestamps?: readonly { readonly name: string; readonly ns: number }[];
  readonly activity?: string;
  readonly tensor?: { readonly name: string; readonly data: string };
}

/** Reads a complete file. */
async function read(file: string): Promise<Traced[]> {
  const traces = new Map<number, Traced>();
  for (const entry of JSON.parse(await readFile(file, 'utf8')) as Entry[]) {
    const { id, timestamps = [], activity, tensor, ...head } = entry;
    const trace = traces.get(id) ?? { names: [], times: [], tensors: [] };
    traces.set(id, Object.assign(trace, head));
    for (const { name, ns } of timestamps) {
      trace.names.push(name);
      trace.times.push(ns);
    }
    if (tensor !== undefined) trace.tensors.push(`${activity ?? ''} ${tensor.name}=${tensor.data}`);
  }
  return [...traces.values()];
}

interface Tracing {
  readonly server: InferenceServer;
  /** Closes the server, and reads the file, whose name ends with this. */
  readonly traces: (end?: string) => Promise<Traced[]>;
}

const infer = { inputs: [{ name: 'x', datatype: 'FP32', shape: [1, 16], data: [...row()] }] };
const call = (model: string, more: Fields = {}): Fields => ({
  model_name: model,
  inputs: [{ name: 'x', datatype: 'FP32', shape: [1, 16] }],
  raw_input_contents: [Buffer.from(row().buffer)],
  ...more,
});

async function traced(
  t: Context,
  make: (traceConfig: TraceConfig) => Promise<InferenceServer>,
  config: TraceConfig = {},
): Promise<Tracing> {
  const file = join(await temporaryFolder(t), 'trace.json');
  const server = await make({ level: 'TIMESTAMPS', rate: 1, file, ...config });
  return {
    server,
    traces: async (end = '') => {
      await server.close();
      return read(`${file}${end}`);
    },
  };
}

const engine = [
  ...['REQUEST_START', 'QUEUE_START', 'COMPUTE_START', 'COMPUTE_INPUT_END', 'COMPUTE_OUTPUT_START'],
  ...['COMPUTE_END', 'REQUEST_END'],
];

/** The names in the order of their times. */
function inOrder({ names, times }: Traced): string[] {
  return names
    .map((name, i) => ({ name, ns: times[i] ?? 0 }))
    .sort((a, b) => a.ns - b.ns)
    .map(({ name }) => name);
}

const models = { m: identity() };

test('an inference over HTTP', async (t) => {
  const { server, traces } = await traced(t, (traceConfig) => serve(t, models, { traceConfig }));
  const endpoint = await httpOf(t, server);
  assert.equal((await ask(endpoint, '/v2/models/m/infer', { body: { ...infer, id: 'a' } })).status, 200);
  await endpoint.close();
  const all = await traces();
  assert.equal(all.length, 1);
  const [one] = all;
  assert.ok(one);
  assert.deepEqual(
    [one.model_name, one.model_version, one.request_id, one.parent_id],
    ['m', 1, 'a', undefined],
  );
  const own = [
    'HTTP_RECV_START',
    'HTTP_RECV_END',
    'INFER_RESPONSE_COMPLETE',
    'HTTP_SEND_START',
    'HTTP_SEND_END',
  ];
  const order = inOrder(one);
  assert.deepEqual(
    order.filter((name) => !engine.includes(name)),
    own,
  );
  assert.deepEqual(order.filter((name) => engine.includes(name)).sort(), [...engine].sort());
  assert.deepEqual(order.slice(0, 3), ['HTTP_RECV_START', 'HTTP_RECV_END', 'REQUEST_START']);
});

test('an inference over gRPC, and its tensors', async (t) => {
  const level = ['TIMESTAMPS', 'TENSORS'] as const;
  const { server, traces } = await traced(t, (traceConfig) => serve(t, models, { traceConfig }), { level });
  const endpoint = await grpcOf(t, server);
  const client = await foreign(t, endpoint);
  await client.call('ModelInfer', call('m', { id: 'b' }));
  await endpoint.close();
  const [one, ...others] = await traces();
  assert.ok(one);
  assert.deepEqual([others, one.model_name, one.request_id], [[], 'm', 'b']);
  const own = [
    'GRPC_WAITREAD_START',
    'GRPC_WAITREAD_END',
    'INFER_RESPONSE_COMPLETE',
    'GRPC_SEND_START',
    'GRPC_SEND_END',
  ];
  assert.deepEqual(
    inOrder(one).filter((name) => !engine.includes(name)),
    own,
  );
  const data = [...row()].join(',');
  assert.deepEqual(one.tensors, [`TENSOR_QUEUE_INPUT x=${data}`, `TENSOR_BACKEND_OUTPUT y=${data}`]);
});

test('each request of a stream has a trace', async (t) => {
  const { server, traces } = await traced(t, (traceConfig) => serve(t, models, { traceConfig }));
  const endpoint = await grpcOf(t, server);
  const client = await foreign(t, endpoint);
  const stream = client.stream();
  const told = responses(stream);
  for (const id of ['0', '1', '2']) stream.write(call('m', { id }));
  stream.write(call('nobody'));
  stream.end();
  assert.equal((await told).length, 4);
  await endpoint.close();
  const all = await traces();
  assert.deepEqual(all.map(({ request_id: id }) => id).sort(), ['0', '1', '2']);
  for (const one of all) {
    for (const name of ['GRPC_WAITREAD_END', 'INFER_RESPONSE_COMPLETE', 'GRPC_SEND_END', 'REQUEST_END'])
      assert.ok(one.names.includes(name), name);
  }
});

/** How often a name is in a trace. */
function times(one: Traced | undefined, name: string): number {
  return one?.names.filter((other) => other === name).length ?? 0;
}

test('a request with many responses has a stamp for each', async (t) => {
  const { server, traces } = await traced(t, (traceConfig) =>
    createServer({ models: { c: counter }, traceConfig }),
  );
  const http = await httpOf(t, server);
  const grpc = await grpcOf(t, server);
  const client = await foreign(t, grpc);
  await ask(http, '/v2/models/c/generate_stream', { body: { id: 'events', n: 3 } });
  await ask(http, '/v2/models/c/generate', { body: { id: 'one', n: 1 } });
  await ask(http, '/v2/models/c/generate', { body: { id: 'error', n: -1 } });
  const stream = client.stream();
  const told = responses(stream);
  const n = Buffer.from(Float32Array.of(4).buffer);
  stream.write({
    ...call('c', { id: 'grpc' }),
    inputs: [{ name: 'n', datatype: 'FP32', shape: [1] }],
    raw_input_contents: [n],
  });
  stream.end();
  await told;
  await Promise.all([http.close(), grpc.close()]);
  const all = new Map((await traces()).map((one) => [one.request_id, one]));
  assert.equal(times(all.get('events'), 'INFER_RESPONSE_COMPLETE'), 3);
  assert.equal(times(all.get('events'), 'HTTP_SEND_END'), 1);
  assert.equal(times(all.get('one'), 'INFER_RESPONSE_COMPLETE'), 1);
  assert.equal(times(all.get('error'), 'HTTP_SEND_END'), 1);
  assert.equal(times(all.get('error'), 'COMPUTE_START'), 0, 'only successes have it');
  assert.equal(times(all.get('grpc'), 'INFER_RESPONSE_COMPLETE'), 4);
  assert.equal(times(all.get('grpc'), 'GRPC_SEND_START'), 4);
  assert.equal(all.size, 4);
});

test("an ensemble's steps are children of its trace", async (t) => {
  const repository = { e: ensemble(chain(['m', 'm2'])), m: identity(), m2: identity() };
  const { server, traces } = await traced(t, (traceConfig) => serve(t, repository, { traceConfig }));
  await server.infer('e', { x: row() }, { id: 'r' });
  const all = await traces();
  const top = all.find(({ model_name: name }) => name === 'e');
  assert.equal(top?.parent_id, undefined);
  const children = all.filter(({ parent_id: parent }) => parent !== undefined);
  assert.deepEqual(children.map(({ model_name: name }) => name).sort(), ['m', 'm2']);
  assert.deepEqual(top?.names, ['REQUEST_START', 'QUEUE_START', 'REQUEST_END']);
});

test('each rate-th request is traced, whoever sends it, as long as the count lasts', async (t) => {
  const config = { rate: 3, count: 4 };
  const { server, traces } = await traced(t, (traceConfig) => serve(t, models, { traceConfig }), config);
  const endpoint = await httpOf(t, server);
  for (let i = 0; i < 12; i++) {
    const body = { ...infer, id: `${i}` };
    if (i % 2 === 0) assert.equal((await ask(endpoint, '/v2/models/m/infer', { body })).status, 200);
    else await server.infer('m', { x: row() }, { id: `${i}` });
  }
  for (let i = 0; i < 6; i++) await server.infer('m', { x: row() });
  await endpoint.close();
  assert.deepEqual(
    (await traces('.0')).map(({ request_id: id }) => id),
    ['2', '5', '8', '11'],
  );
});

test('requests that are refused, cancelled or cut off leave nothing open', async (t) => {
  const { server, traces } = await traced(t, (traceConfig) =>
    serve(t, { m: identity(), slow: identity({ delayMs: 100 }) }, { traceConfig }),
  );
  const http = await httpOf(t, server);
  const grpc = await grpcOf(t, server);
  const client = await foreign(t, grpc);
  errorOf(await ask(http, '/v2/models/m/infer', { body: {} }), 400);
  errorOf(await ask(http, '/v2/models/m/infer', { body: '{' }), 400);
  errorOf(await ask(http, '/v2/models/nobody/infer', { body: infer }), 404);
  const wrong = { inputs: [{ ...infer.inputs[0], shape: [1, 3], data: [1, 2, 3] }] };
  errorOf(await ask(http, '/v2/models/m/infer', { body: wrong }), 400);
  await failure(client.call('ModelInfer', { model_name: 'm' }));
  await failure(client.call('ModelInfer', call('slow'), { deadline: Date.now() + 20 }));
  const stream = client.stream();
  stream.on('error', () => undefined);
  for (let i = 0; i < 3; i++) stream.write(call('slow'));
  const socket = open(t, http);
  const body = JSON.stringify(infer);
  socket.write(
    `POST /v2/models/slow/infer HTTP/1.1\r\nHost: x\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
  );
  await until(() => (server.statistics('slow')[0]?.execution_count ?? 0) > 0);
  socket.destroy();
  stream.cancel();
  await server.infer('m', { x: row() }, { id: 'last' });
  await Promise.all([http.close(), grpc.close()]);
  // The file is complete: it is a JSON array, and the last request is in it.
  const all = await traces();
  assert.ok(all.some(({ request_id: id }) => id === 'last'));
  for (const { names } of all.filter(({ model_name: name }) => name !== undefined))
    assert.ok(names.includes('REQUEST_END'), names.join(' '));
});

test('while tracing is off nothing is written, and settings of the network turn it on', async (t) => {
  const { server, traces } = await traced(t, (traceConfig) => serve(t, models, { traceConfig }), {
    level: 'OFF',
  });
  const endpoint = await httpOf(t, server);
  const run = (id: string): ReturnType<typeof ask> =>
    ask(endpoint, '/v2/models/m/infer', { body: { ...infer, id } });
  await run('before');
  await ask(endpoint, '/v2/models/m/trace/setting', { body: { trace_level: ['TIMESTAMPS'] } });
  await run('traced');
  await ask(endpoint, '/v2/models/m/trace/setting', { body: { trace_level: null } });
  await run('after');
  await endpoint.close();
  assert.deepEqual(
    (await traces()).map(({ request_id: id }) => id),
    ['traced'],
  );
});

test('a file that cannot be written is a warning', async (t) => {
  const warnings: string[] = [];
  const logger = { warn: (text: string) => warnings.push(text) };
  const file = join(await temporaryFolder(t), 'none', 'trace.json');
  const traceConfig = { level: 'TIMESTAMPS', rate: 1, file } as const;
  const server = await serve(t, models, { traceConfig, logger });
  await server.infer('m', { x: row() });
  await server.close();
  assert.match(warnings.join('\n'), /^traces cannot be written: .*none/);
});
