/**
 * One rule for everything optional: `null` counts as absent, as `undefined` does. The types force each table to
 * name every option.
 */

import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { checkConnectOptions, type ConnectOptions } from '../src/client/options.js';
import type { RemoteServer } from '../src/client/index.js';
import { checkGrpcOptions, type ServeGrpcOptions } from '../src/endpoints/grpc/options.js';
import { checkHandlerOptions, checkServeOptions } from '../src/endpoints/http/options.js';
import {
  httpHandler,
  serveHttp,
  type HttpHandlerOptions,
  type ServeHttpOptions,
} from '../src/endpoints/http/serve.js';
import { serveGrpc } from '../src/endpoints/grpc/serve.js';
import {
  createServer,
  TritonError,
  type GivenFiles,
  type InferenceServer,
  type InferOptions,
  type LoadModelOptions,
  type Logger,
  type MapOptions,
  type MetricOptions,
  type MetricsConfig,
  type SequenceOptions,
  type ServerOptions,
  type TritonErrorOptions,
  type UnloadModelOptions,
  type WorkersOptions,
} from '../src/index.js';
import { serveMetrics, type ServeMetricsOptions } from '../src/metrics/serve.js';
import { resolveOptions } from '../src/resolve-options.js';
import { connected, addressOf, protocols } from './client/harness.js';
import { identity, onnx, rejection, row, serve, thrown, type Context } from './support/harness.js';
import { addModel } from './support/models.js';
import { temporaryFolder } from './support/repository.js';

/** An object with null for each name of `T`. */
type Nulls<T> = Readonly<Record<keyof T, null>>;

const serverNulls: Nulls<Omit<ServerOptions, 'modelRepository'>> = {
  ...{
    models: null,
    hostPolicies: null,
    exitOnError: null,
    modelControlMode: null,
    repositoryPollMs: null,
    modelNamespacing: null,
    repositoryCacheDirectory: null,
    repositoryCacheBytes: null,
    loadModels: null,
    load: null,
    memoryBudgetBytes: null,
    id: null,
  },
  ...{ strictReadiness: null, autoCompleteConfig: null, instanceKind: null },
  ...{ minSupportedComputeCapability: null, pinnedMemoryPoolByteSize: null, cudaMemoryPoolByteSize: null },
  ...{
    modelLoadConcurrency: null,
    rateLimit: null,
    cacheConfig: null,
    cacheDirectory: null,
    backendConfig: null,
    trustedFolders: null,
    outsideLinks: null,
    backendDirectory: null,
    repositoryAgentDirectory: null,
  },
  ...{ workers: null, finalizeTimeoutMs: null, threads: null, maxInFlightBytes: null, inline: null },
  ...{ batchAcrossShapes: null, captureStacks: null, metricsConfig: null, signal: null, onProgress: null },
  ...{ traceConfig: null, logger: null },
};
const workersNulls: Nulls<WorkersOptions> = {
  ...{ resourceLimits: null, env: null, execArgv: null, unloadTimeoutMs: null },
};
const limitsNulls: Nulls<NonNullable<WorkersOptions['resourceLimits']>> = {
  ...{
    maxOldGenerationSizeMb: null,
    maxYoungGenerationSizeMb: null,
    codeRangeSizeMb: null,
    stackSizeMb: null,
  },
};
const metricsNulls: Nulls<MetricsConfig> = {
  ...{ counterLatencies: null, histogramLatencies: null, summaryLatencies: null, summaryQuantiles: null },
  ...{ gpus: null, intervalMs: null },
};
const loggerNulls: Nulls<Logger> = { error: null, warn: null, info: null, verbose: null };
const inferNulls: Nulls<InferOptions> = {
  ...{ id: null, outputs: null, signal: null, ownOutputs: null, into: null, priority: null, timeoutUs: null },
  ...{ timeoutMs: null, parameters: null, parent: null, sequence: null },
};
const mapNulls: Nulls<MapOptions> = {
  ...{ concurrency: null, outputs: null, signal: null, ordered: null, onError: null, priority: null },
  ...{ timeoutUs: null, timeoutMs: null, withItem: null, parameters: null, parent: null },
  sequence: null,
};
const sequenceNulls: Nulls<SequenceOptions> = { id: null, signal: null };
const loadNulls: Nulls<LoadModelOptions> = {
  config: null,
  files: null,
  module: null,
  force: null,
  parent: null,
};
const unloadNulls: Nulls<UnloadModelOptions> = { unloadDependents: null, parent: null };
const handlerNulls: Nulls<HttpHandlerOptions> = {
  ...{ maxRequestBytes: null, restricted: null, headerForwardPattern: null, clientSharedMemory: null },
};
const httpNulls: Nulls<ServeHttpOptions> = {
  ...handlerNulls,
  ...{
    port: null,
    host: null,
    reusePort: null,
    maxConnections: null,
    ui: null,
    tls: null,
    requestTimeoutMs: null,
    signal: null,
  },
};
const grpcNulls: Nulls<ServeGrpcOptions> = {
  ...{ port: null, host: null, reusePort: null, tls: null, maxRequestBytes: null, maxHeldBytes: null },
  ...{ requestTimeoutMs: null, maxConnections: null, maxConcurrentStreams: null, restricted: null },
  ...{
    headerForwardPattern: null,
    clientSharedMemory: null,
    responseCompression: null,
    keepaliveTimeMs: null,
    keepaliveTimeoutMs: null,
  },
  ...{ keepalivePermitWithoutCalls: null, maxPingsWithoutData: null, minPingIntervalWithoutDataMs: null },
  ...{ maxPingStrikes: null, maxConnectionAgeMs: null, maxConnectionAgeGraceMs: null, signal: null },
};
const connectNulls: Nulls<ConnectOptions> = {
  ...{ headers: null, maxConnections: null, timeoutMs: null, retries: null, keepaliveTimeMs: null },
  ...{ keepaliveTimeoutMs: null, maxResponseBytes: null, tls: null, signal: null },
};
const metricNulls: Nulls<Omit<MetricOptions, 'name' | 'help' | 'type'>> = { labels: null, buckets: null };
const errorNulls: Nulls<Omit<TritonErrorOptions, 'cause'>> = {
  ...{ reason: null, model: null, tensor: null, location: null },
};
const placeNulls: Nulls<ServeMetricsOptions> = { port: null, host: null };

/** Each null alone, all of them, and null for the options. TypeScript would refuse them; JavaScript passes them. */
function forms<T>(
  nulls: Readonly<Record<string, null>>,
): (readonly [what: string, options: T | undefined])[] {
  const each = Object.keys(nulls).map((name) => [`${name}: null`, { [name]: null }] as const);
  return [...each, ['all of them', nulls] as const, ['null', null] as const].map(
    ([what, options]) => [what, options as T | undefined] as const,
  );
}

void suite('checked options are those of a call without', () => {
  const repository = { modelRepository: 'models' };
  for (const [name, nulls, check] of [
    ['createServer', serverNulls, (given) => resolveOptions({ ...repository, ...given })],
    ['workers', workersNulls, (workers) => resolveOptions({ ...repository, workers })],
    [
      'resourceLimits',
      limitsNulls,
      (given) => resolveOptions({ ...repository, workers: { resourceLimits: given } }).threads,
    ],
    ['metricsConfig', metricsNulls, (metricsConfig) => resolveOptions({ ...repository, metricsConfig })],
    ['logger', loggerNulls, (logger) => Object.keys(resolveOptions({ ...repository, logger }).log)],
    ['httpHandler', handlerNulls, checkHandlerOptions],
    ['serveHttp', httpNulls, checkServeOptions],
    ['serveGrpc', grpcNulls, checkGrpcOptions],
    ['connectServer', connectNulls, checkConnectOptions],
    ['TritonError', errorNulls, (given) => new TritonError('UNAVAILABLE', 'x', given).toJSON()],
  ] as readonly (readonly [
    string,
    Readonly<Record<string, null>>,
    (given: object | undefined) => unknown,
  ])[]) {
    test(name, () => {
      const usual = check({});
      for (const [what, options] of forms<object>(nulls)) assert.deepEqual(check(options), usual, what);
    });
  }
});

void suite('calls do what they do without', () => {
  const x = row(1);
  const optional = identity({ inputs: [{ name: 'x' }, { name: 'z', optional: true }] });

  const start = (t: Context): Promise<InferenceServer> =>
    serve(t, { add: onnx(), optional }, { modelControlMode: 'explicit', loadModels: ['*'] });

  test('of a server', async (t) => {
    const server = await start(t);
    const model = server.model('add');
    for (const [what, options] of forms<InferOptions>({ ...inferNulls, version: null })) {
      const { outputs } = await server.infer('add', { x }, options);
      assert.deepEqual(outputs['y']?.data, row(2), what);
      for await (const one of server.stream('add', { x }, options))
        assert.deepEqual(one.outputs['y']?.data, row(2), what);
    }
    for (const [what, options] of forms<InferOptions>(inferNulls)) {
      assert.deepEqual((await model.infer({ x }, options)).outputs['y']?.data, row(2), what);
      for await (const one of model.stream({ x }, options))
        assert.deepEqual(one.outputs['y']?.data, row(2), what);
    }
    for (const [what, options] of forms<MapOptions>(mapNulls)) {
      const sums: unknown[] = [];
      for await (const { outputs } of model.map([{ x }, { x }], options as undefined))
        sums.push(outputs['y']?.data);
      assert.deepEqual(sums, [row(2), row(2)], what);
    }
    for (const [what, options] of forms<SequenceOptions>(sequenceNulls))
      assert.deepEqual((await model.sequence(options).end({ x })).outputs['y']?.data, row(2), what);
    for (const [what, options] of forms<LoadModelOptions>(loadNulls))
      assert.deepEqual(await server.loadModel('add', options), { changed: false }, what);
    for (const [what, options] of forms<{ ready?: boolean }>({ ready: null }))
      assert.deepEqual(server.index(options), server.index(), what);
    for (const [what, options] of forms<{ version?: string }>({ version: null }))
      assert.equal(typeof server.explain('add', options).summary, 'string', what);
    const none = null as unknown as undefined;
    assert.deepEqual(server.statistics(none, none), server.statistics());
    assert.equal(server.model('add', none).version, undefined);
    for (const [, options] of forms<UnloadModelOptions>(unloadNulls))
      await server.unloadModel('optional', options);
    for (const [what, options] of forms<object>(metricNulls))
      assert.ok(server.metric({ ...options, name: 'a', help: 'b', type: 'counter' }), what);
    for (const [, options] of forms<{ timeoutMs?: number }>({ timeoutMs: null })) await server.close(options);
  });

  test('of what is inside of options and inputs', async (t) => {
    const server = await start(t);
    const wanted = { name: 'y', classification: null } as unknown as { name: string };
    assert.deepEqual((await server.infer('add', { x }, { outputs: [wanted] })).outputs['y']?.data, row(2));
    const shaped = { data: x, shape: [1, 16], datatype: null } as unknown as Float32Array;
    assert.deepEqual((await server.infer('add', { x: shaped })).outputs['y']?.data, row(2));
    const absent = { x, z: null } as unknown as { x: Float32Array };
    assert.deepEqual((await server.infer('optional', absent)).outputs['y']?.data, row(1));
    const required = { x: null } as unknown as { x: Float32Array };
    assert.match(
      (await rejection(server.infer('add', required))).message,
      /input 'x': expected .* but got null/,
    );
    const given = { files: { 'model.onnx': addModel() }, config: null, module: null, execute: null };
    const own = await createServer({ models: { given: given as unknown as GivenFiles } });
    t.after(() => own.close());
    assert.equal(own.model('given').ready, true);
    const repository = await temporaryFolder(t);
    for (const options of [null, serverNulls, { ...serverNulls, modelRepository: null }]) {
      const empty = await rejection(createServer(repository, options as unknown as undefined));
      assert.match(empty.message, /has no models/);
    }
  });

  test('of endpoints', async (t) => {
    const server = await start(t);
    assert.ok(httpHandler(server, null as unknown as undefined));
    for (const open of [serveHttp, serveGrpc, serveMetrics] as const) {
      for (const [, close] of forms<{ timeoutMs?: number }>({ timeoutMs: null })) {
        const endpoint = await open(server, { ...placeNulls, port: 0 } as unknown as { port: number });
        assert.equal(endpoint.address.host, '127.0.0.1');
        await endpoint.close(close);
      }
    }
  });

  for (const protocol of protocols) {
    test(`of a client: ${protocol}`, async (t) => {
      const server = await start(t);
      const remote: RemoteServer = await connected(
        t,
        await addressOf(t, protocol, server),
        connectNulls as unknown as undefined,
      );
      const model = await remote.model('add', null as unknown as undefined);
      const { parent: _parent, ...own } = inferNulls;
      for (const [what, options] of forms<object>({ ...own, parent: null })) {
        assert.deepEqual((await remote.infer('add', { x }, options)).outputs['y']?.data, row(2), what);
        assert.deepEqual((await model.infer({ x }, options)).outputs['y']?.data, row(2), what);
        for await (const one of model.stream({ x }, options))
          assert.deepEqual(one.outputs['y']?.data, row(2), what);
      }
      for (const [what, options] of forms<object>(mapNulls))
        for await (const one of model.map([{ x }], options as undefined))
          assert.deepEqual(one.outputs['y']?.data, row(2), what);
      for (const [what, options] of forms<SequenceOptions>(sequenceNulls))
        assert.deepEqual((await model.sequence(options).end({ x })).outputs['y']?.data, row(2), what);
      for (const [, options] of forms<LoadModelOptions>(loadNulls)) await remote.loadModel('add', options);
      for (const [, options] of forms<UnloadModelOptions>(unloadNulls))
        await remote.unloadModel('optional', options);
      for (const [what, options] of forms<{ ready?: boolean }>({ ready: null }))
        assert.deepEqual(await remote.index(options), await remote.index(), what);
      const none = null as unknown as undefined;
      assert.equal((await remote.statistics(none, none)).length, 1);
      for (const [, options] of forms<{ timeoutMs?: number }>({ timeoutMs: null }))
        await remote.close(options);
    });

    test(`and what is neither is refused in the same words by a server and its client: ${protocol}`, async (t) => {
      const server = await start(t);
      const remote = await connected(t, await addressOf(t, protocol, server));
      for (const wrong of ['yes', 1, {}]) {
        const ready = { ready: wrong } as unknown as { ready: boolean };
        const error = thrown(() => server.index(ready));
        assert.match(error.message, /^expected true or false for index options\.ready but received /);
        assert.equal((await rejection(remote.index(ready))).message, error.message);
        const force = { force: wrong } as unknown as { force: boolean };
        const refused = await rejection(server.loadModel('add', force));
        assert.match(refused.message, /^expected true or false for load options\.force but received /);
        assert.equal((await rejection(remote.loadModel('add', force))).message, refused.message);
      }
    });
  }
});
