/** Creates servers. */

import { loadSpared } from '../../addon/load.js';
import type { NativeServer } from '../../addon/native/server.js';
import { IdleWatch } from '../sequences/idle-watch.js';
import { EngineConnection } from '../../dispatch/engine-connection.js';
import { checkObject, show } from '../../argument-checks.js';
import { invalidArgument, TritonError, unavailable } from '../../errors.js';
import { registeredCaches } from '../../cache/registered-caches.js';
import { channelName } from '../lazy/wake-channel.js';
import type { ModelHost } from '../../javascript/model-server.js';
import type { ModelKey } from '../../model-key.js';
import type { Registry as ModelsOfServer } from '../../registry/registry.js';
import type { AskedRegistry } from '../plugins/plugin-questions.js';
import { registeredBackends } from '../../javascript/versions/registered-backends.js';
import { registeredAgents } from '../../registry/agents/registered-agents.js';
import { lazy } from '../../lazy.js';
import type { ResolvedOptions, ServerOptions } from '../../options.js';
import { takeOptions } from './given-options.js';
import type { SpanSink } from '../trace/span-sink.js';
import { traceBytes } from '../trace/trace-state.js';
import { ownHandle } from '../../server-handle.js';
import { InferenceServer, newServer } from '../inference-server.js';
import type * as creationParts from './creation.js';

/**
 * Starts a server: reads model repositories in Triton's layout and loads their models. Triton: starting
 * `tritonserver`.
 *
 * Everything that is given is copied before this returns. Relative paths start at the working directory of
 * that moment.
 *
 * @param source - Folder of models, or several, as paths or file URLs. A model file (`digits.onnx`) is
 *   served under its name, as version 1.
 * @param options - See {@link ServerOptions} for each option and its default.
 * @returns The server, when the models that it should load are ready.
 * @throws {@link TritonError} INVALID_ARG for wrong options, NOT_FOUND for a folder that does not exist,
 *   CANCELLED by `options.signal`. If models cannot be loaded, one error lists each with its reason, and its
 *   `cause` is an AggregateError of their errors. It also rejects with whatever `options.onProgress` throws.
 *   Everything is released then.
 *
 * @example
 * const server = await createServer('./models');
 * const { outputs } = await server.model('digits').infer({ image: new Float32Array(64) });
 * await server.close();
 */
export function createServer(
  source: string | URL | readonly (string | URL)[],
  options?: Omit<ServerOptions, 'modelRepository'>,
): Promise<InferenceServer>;
/**
 * Starts a server, with all options in one object.
 *
 * @throws {@link TritonError} INVALID_ARG, NOT_FOUND and CANCELLED, as with a source in front.
 *
 * @example
 * const server = await createServer({ modelRepository: ['./models', './more'], modelControlMode: 'explicit' });
 */
export function createServer(options: ServerOptions): Promise<InferenceServer>;
export function createServer(
  source: string | URL | readonly (string | URL)[] | ServerOptions,
  options?: Omit<ServerOptions, 'modelRepository'>,
): Promise<InferenceServer> {
  return create(source, options);
}

/**
 * Starts a server with another engine than the addon's, which runs models of this program only. No thread of another
 * environment can attach to it.
 *
 * @param engine - Makes the engine, from the checked options.
 * @param parts - What creation needs, read beforehand.
 * @throws {@link TritonError} As {@link createServer}.
 */
export function createWith(
  options: ServerOptions,
  engine: (options: ResolvedOptions) => NativeServer,
  parts: typeof creationParts,
): Promise<InferenceServer> {
  return create(options, undefined, { engine, parts });
}

// The class must not import this module, because this module imports the class.
Object.defineProperty(InferenceServer, 'create', { value: createServer });

/** Neither an import of the package nor an attached server needs it. */
const creation = lazy(() => import('./creation.js'));

async function create(
  source: string | URL | readonly (string | URL)[] | ServerOptions,
  given?: Omit<ServerOptions, 'modelRepository'> | null,
  other?: {
    readonly engine: (options: ResolvedOptions) => NativeServer;
    readonly parts: typeof creationParts;
  },
): Promise<InferenceServer> {
  const options = given ?? undefined;
  const isSource = typeof source === 'string' || source instanceof URL || Array.isArray(source);
  if (!isSource && (typeof (source as unknown) !== 'object' || (source as unknown) === null)) {
    throw invalidArgument(
      `expected the path of a model repository, or options, but received ${show(source)}`,
    );
  }
  if (!isSource && options !== undefined) {
    throw invalidArgument('options are given twice: as the first argument and as the second');
  }
  if (options !== undefined) {
    checkObject(options, 'options');
    if (((options as ServerOptions).modelRepository ?? undefined) !== undefined) {
      throw invalidArgument(
        'the model repository is given twice: as the first argument and as options.modelRepository',
      );
    }
  }
  // Array.isArray does not narrow readonly arrays.
  const all = isSource
    ? { ...options, modelRepository: source as string | URL | readonly (string | URL)[] }
    : (source as ServerOptions);
  const taken = takeOptions(all);
  const registered = registeredBackends();
  const caches = registeredCaches();
  const agents = registeredAgents();
  const {
    askForGpus,
    answerPlugins,
    asksForGpus,
    checkAgentDirectory,
    checkBackendDirectory,
    createdWith,
    createEngine,
    limitGpuMemory,
    openSpanSink,
    openCache,
    Registry,
    resolveOptions,
    sourcesOf,
    usableDevices,
  } = other?.parts ?? (await creation());
  // The options ask it for cores, and a test server of this process may have spared it.
  if (other === undefined) loadSpared();
  const resolved = resolveOptions(taken.options, taken.workingDirectory, registered, caches, agents);
  const { signal } = resolved;
  throwIfAborted(signal);
  await checkBackendDirectory(resolved);
  await checkAgentDirectory(resolved);
  const cache = await openCache(resolved, signal);
  let spans: SpanSink | undefined;
  const native = await createdWith(cache, () => {
    spans = openSpanSink(resolved.trace, resolved.log);
    return (other?.engine ?? createEngine)(resolved);
  });
  // Models do not keep a server that the program has dropped.
  const made: { server?: WeakRef<InferenceServer> } = {};
  const { captureStacks, strictReadiness, metrics } = resolved;
  const trace = new SharedArrayBuffer(traceBytes);
  const lazyChannel = channelName();
  const shared = { captureStacks, name: resolved.id, strictReadiness, metrics, trace, lazyChannel };
  const host: ModelHost = {
    handle: other === undefined ? ownHandle(native, shared) : undefined,
    server: (): InferenceServer => {
      const known = made.server?.deref();
      if (known) return known;
      throw unavailable('CLOSED', 'the server is closed');
    },
    wake: (key: ModelKey): Promise<void> => registry.wake(key, true),
  };
  const registry: ModelsOfServer = new Registry(native, resolved, host, sourcesOf(native, resolved));
  const connection = EngineConnection.attach(native, {
    ...resolved,
    onSequence: new IdleWatch(native).begun,
  });
  const server = newServer({
    native,
    connection,
    registry,
    cache,
    explicit: resolved.modelControlMode === 'explicit',
    waiting: resolved.maxInFlightBytes,
    ...shared,
    tracing: { config: resolved.trace, spans, log: resolved.log },
    repositories: [...resolved.repositories, ...resolved.models.keys()],
    devices: () => usableDevices(resolved),
  });
  made.server = new WeakRef(server);
  answerPlugins(native, made.server, strictReadiness, resolved.log, askedOf(new WeakRef(registry)));
  const cancel = (): void => {
    registry.cancelLoads();
    // This also ends loads that do not return. The caller gets the signal's error, not that of the close.
    server.close({ timeoutMs: 0 }).catch(() => undefined);
  };
  signal?.addEventListener('abort', cancel, { once: true });
  try {
    // Metadata and metrics tell of GPUs also if no model wants one.
    await Promise.all([registry.scan(), askForGpus(native, resolved)]);
    throwIfAborted(signal);
    if (asksForGpus(resolved)) limitGpuMemory(resolved.gpuMemory);
    if (metrics.gpus && asksForGpus(resolved)) native.watchGpus(metrics.intervalMs);
    await registry.loadAll();
    throwIfAborted(signal);
    return server;
  } catch (error) {
    await server.close({ timeoutMs: 0 }).catch(() => undefined);
    throwIfAborted(signal);
    throw error;
  } finally {
    signal?.removeEventListener('abort', cancel);
  }
}

function throwIfAborted(signal: AbortSignal | undefined): void {
  if (signal?.aborted === true) {
    throw new TritonError('CANCELLED', 'starting the server was cancelled by options.signal', {
      cause: signal.reason,
    });
  }
}

/** What plug-ins' questions need of a registry, which this does not keep. */
function askedOf(known: WeakRef<ModelsOfServer>): AskedRegistry {
  const registry = (): ModelsOfServer => {
    const found = known.deref();
    if (found) return found;
    throw unavailable('CLOSED', 'the server is closed');
  };
  return {
    wake: async (key, isUrgent) => {
      await registry().wake(key, isUrgent);
    },
    asLoadOf: (name, call) => registry().asLoadOf(name, call),
  };
}
