/** Public functions with arbitrary values throw only a TritonError, or an error of the caller's own code. */

// Long: it plays many random cases.

import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { connectServer, type RemoteServer } from '../../src/client/index.js';
import { serveGrpc } from '../../src/endpoints/grpc/serve.js';
import { httpHandler, serveHttp } from '../../src/endpoints/http/serve.js';
import {
  attachServer,
  createServer,
  registerBackend,
  TritonError,
  type InferenceServer,
} from '../../src/index.js';
import { serveMetrics } from '../../src/metrics/serve.js';
import { addressOf, connected, protocols } from '../client/harness.js';
import { hostileValues, OwnError } from '../support/hostile-values.js';
import { identity, row, serve } from '../support/harness.js';

/** A call with a hostile value in one place. */
type Call = (value: unknown) => unknown;
type Calls = readonly (readonly [place: string, call: Call])[];

/** A function that takes anything: the point is to pass what types do not allow. */
type Anything = (...args: readonly unknown[]) => unknown;

function loose(given: unknown): Anything {
  return given as Anything;
}

/** Calls a method with anything. */
function invoke(target: unknown, method: string, ...args: readonly unknown[]): unknown {
  return Reflect.apply(loose(Reflect.get(Object(target) as object, method)), target, args);
}

function has(given: unknown, method: string | symbol): boolean {
  return typeof given === 'object' && given !== null && typeof Reflect.get(given, method) === 'function';
}

/** Consumes the result of a call, which may be a stream, or need closing. Returns the error. */
async function outcome(call: Call, value: unknown): Promise<unknown> {
  try {
    const given = await call(value);
    if (has(given, Symbol.asyncIterator)) {
      const iterator = given as AsyncIterator<unknown>;
      try {
        for (let i = 0; i < 3; i++) if ((await iterator.next()).done === true) break;
      } finally {
        await iterator.return?.();
      }
    } else if (has(given, 'close')) await invoke(given, 'close', { timeoutMs: 0 });
    return undefined;
  } catch (error) {
    return error;
  }
}

function isAllowed(error: unknown): boolean {
  // A revoked proxy throws this itself, as a trap would.
  if (error instanceof TypeError && error.message.includes('on a proxy that has been revoked')) return true;
  return error === undefined || error instanceof TritonError || error instanceof OwnError;
}

/** The options of a call as a whole, and each with each value. */
function options(name: string, keys: readonly string[], call: Call, others: object = {}): Calls {
  return [
    [`${name}(options)`, call],
    ...keys.map((key): [string, Call] => [
      `${name}({ ${key} })`,
      (value) => call({ ...others, [key]: value }),
    ]),
  ];
}

/** An object with a value at the end of a path such as `models.a.files`. */
function nested(path: string, value: unknown): unknown {
  return path.split('.').reduceRight((inner, key) => ({ [key]: inner }), value);
}

const inferKeys =
  'id outputs signal ownOutputs into priority timeoutUs timeoutMs parameters parent version nonsense'.split(
    ' ',
  );
const inputs = { x: row() };
const good = { data: row(), shape: [1, 16] };

/** The calls of a request. */
function requests(name: string, send: (given: unknown, told?: unknown) => unknown): Calls {
  return [
    [`${name}(inputs)`, send],
    [`${name}: x`, (x) => send({ x })],
    [`${name}: x: [ ]`, (x) => send({ x: [x] })],
    [`${name}: x: [[ ]]`, (x) => send({ x: [[x]] })],
    ...['data', 'shape', 'datatype'].map((key): [string, Call] => [
      `${name}: x.${key}`,
      (value) => send({ x: { ...good, [key]: value } }),
    ]),
    [`${name}: x.shape[0]`, (dim) => send({ x: { ...good, shape: [dim, 16] } })],
    [`${name}: x.shape[1]`, (dim) => send({ x: { ...good, shape: [1, dim] } })],
    [`${name}: x.dims`, (dims) => send({ x: { data: row(), dims } })],
    [`${name}: x.type`, (type) => send({ x: { data: row(), dims: [1, 16], type } })],
    [`${name}: t`, (t) => send({ ...inputs, t })],
    [`${name}: t: [ ]`, (t) => send({ ...inputs, t: [t] })],
    [`${name}: t.data`, (data) => send({ ...inputs, t: { data, shape: [1, 1] } })],
    ...options(name, [...inferKeys, 'concurrency', 'ordered', 'onError'], (told) => send(inputs, told)),
    [`${name}: into.y`, (y) => send(inputs, { into: { y } })],
    [`${name}: outputs[]`, (one) => send(inputs, { outputs: [one] })],
    [`${name}: outputs[].name`, (one) => send(inputs, { outputs: [{ name: one }] })],
    [
      `${name}: outputs[].classification`,
      (one) => send(inputs, { outputs: [{ name: 'y', classification: one }] }),
    ],
    [`${name}: parameters.a`, (a) => send(inputs, { parameters: { a } })],
  ];
}

/** The calls that servers of this process and of others have. */
function shared(server: InferenceServer | RemoteServer): Calls {
  const onModel =
    (method: string): Anything =>
    async (...args) =>
      invoke(await server.model('m'), method, ...args);
  const on =
    (method: string, ...before: readonly unknown[]): Call =>
    (value) =>
      invoke(server, method, ...before, value);
  return [
    ...requests('model.infer', onModel('infer')),
    ...requests('model.stream', onModel('stream')),
    ...requests('model.map', (given, told) => onModel('map')([given], told)),
    ['model.map(items)', onModel('map')],
    ['model(name)', on('model')],
    ['model(, version)', on('model', 'm')],
    ['infer(name)', (name) => invoke(server, 'infer', name, inputs)],
    ['infer(, inputs)', on('infer', 'm')],
    ...options('infer', inferKeys, on('infer', 'm', inputs)),
    ...options('index', ['ready', 'nonsense'], on('index')),
    ['loadModel(name)', on('loadModel')],
    ...options('loadModel', ['config', 'files', 'module', 'execute', 'force'], on('loadModel', 'other')),
    ['loadModel: files.a', (a) => invoke(server, 'loadModel', 'other', { config: '', files: { a } })],
    [
      'loadModel: config.input',
      (input) => invoke(server, 'loadModel', 'other', { config: { input }, files: {} }),
    ],
    ['unloadModel(name)', on('unloadModel')],
    ...options('unloadModel', ['unloadDependents', 'nonsense'], on('unloadModel', 'other')),
    ['statistics(name)', on('statistics')],
    ['statistics(, version)', on('statistics', 'm')],
    // Valid options would close the server.
    ['close: nonsense', (nonsense) => invoke(server, 'close', { nonsense })],
  ];
}

/** The calls that only servers of this process have. */
function own(server: InferenceServer): Calls {
  const metric = { name: 'a_total', help: 'h', type: 'counter' };
  const onTensor =
    (method: string): Call =>
    async (value) =>
      invoke((await server.infer('m', inputs)).outputs['y'], method, value);
  return [
    ['stream(name)', (name) => invoke(server, 'stream', name, inputs)],
    ...options('stream', inferKeys, (told) => invoke(server, 'stream', 'm', inputs, told)),
    ['explain(name)', (name) => invoke(server, 'explain', name)],
    ...options('explain', ['version', 'nonsense'], (told) => invoke(server, 'explain', 'm', told)),
    ...options(
      'metric',
      ['name', 'help', 'type', 'labels', 'buckets', 'nonsense'],
      (told) => invoke(server, 'metric', told),
      metric,
    ),
    ['metric: labels.a', (a) => invoke(server, 'metric', { ...metric, name: 'b_total', labels: { a } })],
    [
      'metric.increment',
      (by) => invoke(server.metric({ name: 'c_total', help: 'h', type: 'counter' }), 'increment', by),
    ],
    ['metric.set', (to) => invoke(server.metric({ name: 'd', help: 'h', type: 'gauge' }), 'set', to)],
    [
      'metric.observe',
      (one) => invoke(server.metric({ name: 'e', help: 'h', type: 'histogram' }), 'observe', one),
    ],
    ['tensor.row', onTensor('row')],
    ['tensor.topK', onTensor('topK')],
    ['tensor.as', onTensor('as')],
  ];
}

const serverKeys =
  'modelRepository models exitOnError modelControlMode loadModels id strictReadiness autoCompleteConfig instanceKind minSupportedComputeCapability pinnedMemoryPoolByteSize cudaMemoryPoolByteSize modelLoadConcurrency backendConfig trustedFolders backendDirectory workers threads maxInFlightBytes inline batchAcrossShapes captureStacks metricsConfig signal onProgress logger nonsense'.split(
    ' ',
  );
const serverPaths =
  'backendConfig.onnxruntime models.a models.a.files models.a.config models.a.module models.a.execute workers.env workers.execArgv workers.resourceLimits workers.unloadTimeoutMs metricsConfig.summaryQuantiles'.split(
    ' ',
  );
const endpointKeys =
  'port host reusePort maxConnections maxRequestBytes tls requestTimeoutMs signal restricted headerForwardPattern nonsense'.split(
    ' ',
  );
const connectKeys =
  'headers maxConnections timeoutMs retries keepaliveTimeMs keepaliveTimeoutMs tls signal nonsense'.split(
    ' ',
  );

/** Functions that start servers, endpoints or connections, which are closed if the call succeeds. */
function beginnings(server: InferenceServer, url: string): Calls {
  const create = loose(createServer);
  const connect = loose(connectServer);
  const anyPort = { port: 0 };
  const endpoint = (name: string, begin: unknown, keys: readonly string[]): Calls => [
    [`${name}(server)`, (given) => loose(begin)(given, anyPort)],
    ...options(name, keys, (told) => loose(begin)(server, told), anyPort),
  ];
  return [
    ['createServer(source)', create],
    ['createServer([source])', (source) => create([source])],
    ...options('createServer', serverKeys, create),
    ...serverPaths.map((path): [string, Call] => [
      `createServer({ ${path} })`,
      (value) => create(nested(path, value)),
    ]),
    ['attachServer', loose(attachServer)],
    ['registerBackend(name)', (name) => loose(registerBackend)(name, new URL('file:///none.js'))],
    ['registerBackend(, module)', (module) => loose(registerBackend)('b', module)],
    ['httpHandler(server)', loose(httpHandler)],
    ...options('httpHandler', endpointKeys, (told) => loose(httpHandler)(server, told)),
    ...endpoint('serveHttp', serveHttp, endpointKeys),
    ...endpoint('serveGrpc', serveGrpc, endpointKeys),
    ...endpoint('serveMetrics', serveMetrics, ['port', 'host', 'nonsense']),
    ['connectServer(url)', connect],
    ...options('connectServer', connectKeys, (told) => connect(url, told)),
    [
      'connectServer: headers[]',
      (name) => connect(url, { headers: typeof name === 'string' ? { [name]: 'a' } : {} }),
    ],
    ['connectServer: headers.a', (a) => connect(url, { headers: { a } })],
  ];
}

/** Tries all values at all places, and another request after each place. */
async function tryAll(calls: Calls, after: () => Promise<unknown>): Promise<void> {
  const faults: string[] = [];
  for (const [place, call] of calls) {
    for (const [name, make] of Object.entries(hostileValues)) {
      const error = await outcome(call, make());
      if (isAllowed(error)) continue;
      const text = error instanceof Error ? `${error.name} ${error.message}` : typeof error;
      faults.push(`${place} with ${name}: ${text.slice(0, 200)}`);
    }
    await after();
  }
  assert.deepEqual(faults, []);
}

const models = {
  m: identity({
    maxBatchSize: 4,
    inputs: [{ name: 'x' }, { name: 't', datatype: 'BYTES', dims: [1], optional: true }],
    outputs: [{ name: 'y' }, { name: 'u', datatype: 'BYTES', dims: [1] }],
  }),
};
const control = { modelControlMode: 'explicit', loadModels: ['m'] } as const;

void suite('hostile values end in TritonErrors, and the next request works:', () => {
  test('in this process', async (t) => {
    const server = await serve(t, models, control);
    await tryAll([...shared(server), ...own(server)], () => server.infer('m', inputs));
  });
  for (const protocol of protocols) {
    test(`in the client over ${protocol}`, async (t) => {
      const served = await serve(t, models, control);
      const remote = await connected(t, await addressOf(t, protocol, served));
      await tryAll(shared(remote), () => remote.infer('m', inputs));
    });
  }
  test('where servers, endpoints and connections begin', async (t) => {
    const server = await serve(t, models);
    const url = await addressOf(t, 'http', server);
    await tryAll(beginnings(server, url), () => server.infer('m', inputs));
  });
});
