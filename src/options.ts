/** Options of a server. */

import type { NativeCacheOptions } from './addon/native/addon.js';
import type { CacheConfig, PluginCacheSetup, RemoteCacheSetup } from './cache-config.js';
import type { HostPolicies, HostPolicyOptions } from './scheduling/host-policy.js';
import type { RateLimitOptions, RateLimitResource } from './scheduling/rate-limit.js';
import type { ModelCode } from './javascript/model-code.js';
import type { ModelModule, ModelObject, WorkersOptions } from './api/javascript-model.js';
import type { InlineOption, LoadOption, ModelConfigInput } from './config/index.js';
import type { Log, Logger } from './logger.js';
import type { MetricsConfig, ResolvedMetrics } from './metrics/metrics-config.js';
import type { RepositoryAgent } from './registry/agents/repository-agent.js';
import type { ResolvedTrace, TraceConfig } from './trace-config.js';

/** Options of one backend, by key. Triton: `--backend-config=<backend>,<key>=<value>`. */
export type BackendConfig = Readonly<Record<string, string | number | boolean>>;

/** A step of loading, as {@link ServerOptions.onProgress} receives it. */
export interface LoadEvent {
  /** Name of the model. */
  readonly model: string;
  /** The model's namespace; absent for the default one, which is the only one without {@link ServerOptions.modelNamespacing}. */
  readonly namespace?: string | undefined;
  /** The model's version; absent until its versions are known. */
  readonly version?: string | undefined;
  /**
   * The current state of the version, or of the model. A model is 'DOWNLOADING' while files of an object store are
   * copied to this machine. A version is 'WARMING_UP' while it runs the samples of
   * its `model_warmup`.
   */
  readonly state: 'LOADING' | 'DOWNLOADING' | 'WARMING_UP' | 'READY' | 'UNAVAILABLE';
  /**
   * The bytes that were downloaded, and of how many, while the state is 'DOWNLOADING'; absent in the other states. A model of
   * an object store has this state at the start and the end of its download, and from time to time in between.
   */
  readonly download?: { readonly done: number; readonly total: number } | undefined;
  /** Number of models that are ready or have failed. */
  readonly done: number;
  /** Number of models to load. */
  readonly total: number;
}

/**
 * A model that the program passes instead of a repository: as files, as a module that runs on its own threads
 * ({@link ModelModule}), or with its functions ({@link ModelObject}).
 *
 * @example
 * const server = await createServer({ models: { digits: { files: { 'model.onnx': await readFile('digits.onnx') } } } });
 */
export type GivenModel = GivenFiles | ModelModule | ModelObject;

/**
 * A model that the program passes as files.
 *
 * @example
 * const digits: GivenFiles = { files: { 'model.onnx': await readFile('digits.onnx') } };
 */
export interface GivenFiles {
  /** The model's configuration, as in {@link LoadModelOptions} (default: completed from the model's file). */
  readonly config?: ModelConfigInput | string | undefined;
  /** The model's files, as in {@link LoadModelOptions}. They are copied before `createServer` returns. */
  readonly files: Readonly<Record<string, Uint8Array>>;
}

/**
 * Options of {@link createServer}. Most are tritonserver's flags in camelCase.
 *
 * @example
 * const server = await createServer('./models', {
 *   modelControlMode: 'explicit',
 *   loadModels: ['digits'],
 *   onProgress: ({ model, state, done, total }) => console.log(`${done} of ${total}: ${model} ${state}`),
 * });
 */
export interface ServerOptions {
  /**
   * Folders of models, as paths or file URLs, or in object stores, as `s3://bucket/path`, `gs://bucket/path` or
   * `as://account/container/path` (docs/stores.md). At least one is required unless {@link models} is given. A model
   * file such as `digits.onnx` may take the place of a folder: it is served under its name, as version 1.
   * Triton: `--model-repository`.
   */
  readonly modelRepository?: string | URL | readonly (string | URL)[] | undefined;
  /**
   * Folder, as a path or file URL, for files of object stores. Servers and restarts share it; it may be deleted when none runs.
   * The default is `tritonts-models` in the folder that TRITON_AWS_MOUNT_DIRECTORY, TRITON_GCS_MOUNT_DIRECTORY or
   * TRITON_AZURE_MOUNT_DIRECTORY names, or else `tritonts-models-<user id>` in the system's folder for temporary files.
   * Triton has no such option.
   */
  readonly repositoryCacheDirectory?: string | URL | undefined;
  /**
   * How many bytes of files of object stores are kept (default 10,737,418,240, 10 GiB). The files that were used longest ago are
   * removed when others need room; those of loaded models stay, even if they are more. Triton has no such option.
   */
  readonly repositoryCacheBytes?: number | undefined;
  /** Models that the program passes, by name (default: none). Triton has no such option. */
  readonly models?: Readonly<Record<string, GivenModel>> | undefined;
  /**
   * Whether `createServer` rejects if a model cannot be loaded (default true). If false, the other models are
   * served, and the failed model is UNAVAILABLE, with its reason in the index. Triton: `--exit-on-error`.
   */
  readonly exitOnError?: boolean | undefined;
  /**
   * 'none' (default) loads all models, once; 'poll' loads all, and looks again and again for models that were
   * added, changed or removed; 'explicit' loads models only on request. In each mode {@link InferenceServer.rescan}
   * looks once. Triton: `--model-control-mode`.
   */
  readonly modelControlMode?: 'none' | 'poll' | 'explicit' | undefined;
  /**
   * The time between two looks at the repositories in mode 'poll', in milliseconds (default 15,000). With 0 the server
   * looks only when {@link InferenceServer.rescan} is called. Triton: `--repository-poll-secs`.
   */
  readonly repositoryPollMs?: number | undefined;
  /**
   * Whether models of different repositories may have the same name (default false: such models are not loaded). Each
   * repository is a namespace then, named as it is given here. docs/repository.md says which model a name means. Triton:
   * `--model-namespacing`.
   */
  readonly modelNamespacing?: boolean | undefined;
  /**
   * The models to load at start in explicit mode (default: none); `['*']` alone means all. Triton:
   * `--load-model`.
   */
  readonly loadModels?: readonly string[] | undefined;
  /**
   * When models are loaded. 'eager' (default): before `createServer` resolves. 'lazy': at the first request of each, which
   * waits for the load, as do the requests meanwhile. A lazy model counts as ready before that. In mode 'explicit' it is for
   * the models of {@link loadModels}, and for those that were loaded since. A model's own parameter `load` takes
   * precedence. docs/many-models.md explains it. Triton has no such option.
   *
   * @example
   * const server = await createServer('./models', { load: 'lazy', memoryBudgetBytes: 4 * 2 ** 30 });
   */
  readonly load?: LoadOption | undefined;
  /**
   * How many bytes of memory lazy models may take together (default: no limit). Before a load that would not fit, the
   * lazy models that were idle for the longest time are unloaded, except those with the parameter `pinned`. It is measured by how
   * the memory of the process has grown since the start, without the heap of JavaScript. docs/many-models.md explains it. Triton has no such option.
   */
  readonly memoryBudgetBytes?: number | undefined;
  /** The server's name in its metadata (default: 'tritonts'). Triton: `--id`. */
  readonly id?: string | undefined;
  /**
   * Whether the server is ready only when every model that should be served is ready (default true). If false,
   * the server is ready as long as it runs. Triton: `--strict-readiness`.
   */
  readonly strictReadiness?: boolean | undefined;
  /**
   * Whether the server completes configurations from the models' files (default true). Triton:
   * `--disable-auto-complete-config`.
   */
  readonly autoCompleteConfig?: boolean | undefined;
  /**
   * 'cpu' runs models on the CPU if their instance groups say KIND_GPU (default: such models need a GPU).
   * Triton has no such option.
   */
  readonly instanceKind?: 'cpu' | undefined;
  /**
   * The minimum compute capability of GPUs that instances may run on (default 6.0; tritonserver's default
   * depends on its build). Older GPUs are not among the server's devices, and an instance group with KIND_GPU
   * that lists one fails to load. Triton: `--min-supported-compute-capability`.
   */
  readonly minSupportedComputeCapability?: number | undefined;
  /**
   * Size of the pool of pinned host memory for copies to and from GPUs, in bytes (default 268,435,456, 256
   * MiB). If the pool is used up, copies use ordinary memory, which is slower; the metrics count these cases.
   * All servers of the process share the pool; the server that was created last sets its size. Triton:
   * `--pinned-memory-pool-byte-size`.
   */
  readonly pinnedMemoryPoolByteSize?: number | undefined;
  /**
   * Size of each GPU's memory pool for tensors of batches, in bytes (default 67,108,864, 64 MiB), or an object
   * with the size for each GPU id; other GPUs have the default. If a pool is used up, memory is allocated by
   * the driver each time, which is slower; the metrics count these cases. All servers of the process share the
   * pools; the server that was created last sets their sizes. Triton: `--cuda-memory-pool-byte-size`.
   *
   * @example
   * const cudaMemoryPoolByteSize = { 0: 2 ** 30 };
   */
  readonly cudaMemoryPoolByteSize?: number | Readonly<Record<number, number>> | undefined;
  /**
   * How many model versions are loaded at once (default 4, at most 4096). More than the number of cores are
   * loaded at once only if loads wait for longer than 20 ms. Triton: `--model-load-thread-count`.
   */
  readonly modelLoadConcurrency?: number | undefined;
  /**
   * Whether instances share resources, and how many units there are (default: they do not, and the `rate_limiter` of
   * configurations has no effect). docs/queueing.md explains it. Triton: `--rate-limit`, `--rate-limit-resource`.
   *
   * @example
   * const rateLimit = { mode: 'execution_count', resources: [{ name: 'memory', count: 4 }] };
   */
  readonly rateLimit?: RateLimitOptions | undefined;
  /**
   * The cores and NUMA nodes that the threads of instances are bound to, by the name of the policy (default: none). An
   * instance has the policy that `instance_group.host_policy` names, else `cpu`, `gpu_<id>` or `model`, by its kind.
   * docs/performance.md explains it. Triton: `--host-policy`.
   *
   * @example
   * const hostPolicies = { cpu: { cpuCores: '0-3' }, gpu_0: { numaNode: 0 } };
   */
  readonly hostPolicies?: Readonly<Record<string, HostPolicyOptions>> | undefined;
  /**
   * The response cache, for models that say `response_cache { enable: true }` (default: there is none, and they run
   * each request). docs/cache.md explains it. Triton: `--cache-config`.
   *
   * @example
   * const cacheConfig = { local: { size: 64 * 2 ** 20 } };
   */
  readonly cacheConfig?: CacheConfig | undefined;
  /**
   * Folder of response caches that are plug-ins of Triton, as a path or file URL (default: none). `cacheConfig: { <name>:
   * {…} }` loads `<cacheDirectory>/<name>/libtritoncache_<name>.so`, which runs with the rights of the process. Linux with
   * glibc only. Triton: `--cache-directory`.
   */
  readonly cacheDirectory?: string | URL | undefined;
  /**
   * Options by backend (default: none). `onnxruntime.library` is the path of the ONNX Runtime library to use
   * instead of the library in the package onnxruntime-node. `openvino.library`, `tensorflow.library` and
   * `pytorch.library` are those of OpenVINO's and TensorFlow's C libraries and of libtorch, or their folders.
   * Triton: `--backend-config`.
   */
  readonly backendConfig?: Readonly<Record<string, BackendConfig>> | undefined;
  /**
   * Folders, as paths or file URLs, in which models' configurations may name files (default: none): libraries
   * of custom operators, Python environments (`EXECUTION_ENV_PATH`), and profiles to write. The model's own
   * folder is always allowed. For libraries, the folder of the runtime's library is allowed, too. A
   * configuration cannot make the server load code from, or write to, any other path; see docs/security.md.
   * Triton has no such option.
   */
  readonly trustedFolders?: readonly (string | URL)[] | undefined;
  /**
   * Whether links in a repository's folder may lead out of it (default false). Without it a model with such a link is not
   * loaded, unless the link ends in one of the `trustedFolders`. The repository itself may be a link, and links inside of it
   * may lead anywhere inside of it. Triton follows all links.
   */
  readonly outsideLinks?: boolean | undefined;
  /**
   * Folder of backends in JavaScript, as a path or file URL (default: none).
   * `<backendDirectory>/<name>/model.js` (.mjs, .cjs, .ts) serves all models that say `backend: "<name>"`, as
   * if it had been passed to {@link registerBackend}. Triton: `--backend-directory`.
   */
  readonly backendDirectory?: string | URL | undefined;
  /**
   * Folder of repository agents, as a path or file URL (default: none). The default export of
   * `<repositoryAgentDirectory>/<name>/agent.js` (.mjs, .cjs, .ts) is the agent that models name, as if it had been passed
   * to {@link registerRepositoryAgent}. It runs on the event loop of the environment that creates the server. Without such
   * a file, `libtritonrepoagent_<name>.so` in that folder is: a plug-in of Triton, which is called on threads (Linux with
   * glibc only). Triton: `--repoagent-directory`.
   */
  readonly repositoryAgentDirectory?: string | URL | undefined;
  /** Options of the threads that run JavaScript models (default: none). Triton has no such option. */
  readonly workers?: WorkersOptions | undefined;
  /**
   * How long a model's `finalize` may take when the model is unloaded or the server closes, in milliseconds
   * (default 5000), and each function of a repository agent besides `load`. It applies to JavaScript and Python models, and to models that the program passes. After
   * that time the model's thread or process is ended, or is no longer waited for, and a warning names the
   * model. An endless loop in a model on the program's event loop cannot be ended. Triton has no such option.
   */
  readonly finalizeTimeoutMs?: number | undefined;
  /**
   * Number of cores to use, at most 4096 (default: the cores that CPU affinity and cgroup quota allow). Triton
   * has no such option.
   */
  readonly threads?: number | undefined;
  /**
   * How many bytes requests in flight may hold: inputs, parameters, outputs whose size is known, and answers until they are
   * delivered. The default is 1 GiB, or a quarter of the memory limit if that is less. A request that would
   * exceed the limit rejects with UNAVAILABLE; `map` waits instead. Triton has no such option.
   */
  readonly maxInFlightBytes?: number | undefined;
  /**
   * Whether short batches run on the JS thread, which saves waking another thread. 'auto' (default) does so if
   * a batch of its shapes and size is known to take at most 50 µs; 'off' never does; a number is the limit in
   * microseconds. One event-loop tick spends at most that much time on such batches. A model's own parameter
   * `inline` takes precedence. Triton has no such option.
   */
  readonly inline?: 'auto' | 'off' | number | undefined;
  /**
   * Whether requests with the batch's shape join it ahead of waiting requests with other shapes (default true).
   * It applies to models with variable dims and `dynamic_batching`. The oldest waiting request always leads the
   * next batch. If false, a batch ends at the first request with another shape. A model's own parameter
   * `batch_across_shapes` takes precedence; see docs/queueing.md. Triton has no such option.
   */
  readonly batchAcrossShapes?: boolean | undefined;
  /**
   * Whether errors of queued requests show in their stack the line that made the request (default false). It
   * costs about 2.5 µs per request. Triton has no such option.
   */
  readonly captureStacks?: boolean | undefined;
  /** The metrics that {@link InferenceServer.metrics} includes. Triton: `--metrics-config`. */
  readonly metricsConfig?: MetricsConfig | undefined;
  /**
   * How requests are traced at the start (default: they are not). `server.trace` changes it. docs/tracing.md explains it.
   * Triton: `--trace-config`.
   *
   * @example
   * const traceConfig = { level: 'TIMESTAMPS', rate: 1, file: 'trace.json' };
   */
  readonly traceConfig?: TraceConfig | undefined;
  /**
   * Stops loading when it aborts (default: none): `createServer` rejects with CANCELLED, and everything is
   * released.
   */
  readonly signal?: AbortSignal | undefined;
  /**
   * Called at each step of loading (default: none). Its result is ignored. If it throws, the call that loads
   * rejects with the thrown value, and the function is not called again for that call. `createServer` then
   * stops loading and releases everything. `loadModel` rejects only when its load has ended; `index()` shows
   * the outcome.
   */
  readonly onProgress?: ((event: LoadEvent) => void) | undefined;
  /**
   * Takes the server's messages about models (default: errors and warnings go to stderr, one line each). See
   * docs/diagnostics.md. Triton: `--log-error`, `--log-warning`, `--log-info`, `--log-verbose`.
   */
  readonly logger?: Logger | undefined;
}

/** The limits of the memory pools for GPUs. */
export interface GpuMemoryLimits {
  readonly pinnedBytes: number;
  /** The limit of each GPU that is not listed. */
  readonly gpuBytes: number;
  readonly listed: readonly (readonly [id: number, bytes: number])[];
}

/** Options with every default filled in, as the rest of the code receives them. */
export interface ResolvedOptions {
  /** Absolute paths, and addresses of object stores. */
  readonly repositories: readonly string[];
  readonly modelNamespacing: boolean;
  /** The namespaces of these repositories, which are the texts that the user gave; undefined: there are none. */
  readonly namespaces: ReadonlyMap<string, string> | undefined;
  readonly repositoryCacheDirectory: string | undefined;
  readonly repositoryCacheBytes: number;
  /** Models that the program passed, by name. Their content is not checked yet. */
  readonly models: ReadonlyMap<string, GivenModel>;
  readonly exitOnError: boolean;
  readonly modelControlMode: 'none' | 'poll' | 'explicit';
  readonly repositoryPollMs: number;
  readonly loadModels: readonly string[];
  readonly load: LoadOption;
  /** Infinity: there is no limit. */
  readonly memoryBudgetBytes: number;
  readonly id: string;
  readonly strictReadiness: boolean;
  readonly autoCompleteConfig: boolean;
  readonly instanceKind: 'cpu' | undefined;
  readonly minSupportedComputeCapability: number;
  readonly gpuMemory: GpuMemoryLimits;
  readonly modelLoadConcurrency: number;
  /** The resources that the user gives; undefined: there is no rate limiter. */
  readonly rateLimit: readonly RateLimitResource[] | undefined;
  readonly hostPolicies: HostPolicies;
  /** The response cache; undefined: there is none. */
  readonly cache: NativeCacheOptions | undefined;
  /** The cache outside of the engine; undefined: the cache is the engine's own, or there is none. */
  readonly remoteCache: RemoteCacheSetup | PluginCacheSetup | undefined;
  readonly backendConfig: Readonly<Record<string, BackendConfig>>;
  readonly trustedFolders: readonly string[];
  readonly outsideLinks: boolean;
  readonly backendDirectory: string | undefined;
  /** Backends that the program registered before the server was created. */
  readonly registeredBackends: ReadonlyMap<string, ModelCode>;
  readonly repositoryAgentDirectory: string | undefined;
  /** Repository agents that the program registered before the server was created. */
  readonly registeredAgents: ReadonlyMap<string, RepositoryAgent>;
  readonly workers: WorkersOptions;
  readonly finalizeTimeoutMs: number;
  readonly threads: number;
  /** How many cores idle threads may spin on. */
  readonly spinCores: number;
  readonly maxInFlightBytes: number;
  readonly inline: InlineOption;
  readonly batchAcrossShapes: boolean;
  readonly captureStacks: boolean;
  readonly metrics: ResolvedMetrics;
  readonly trace: ResolvedTrace;
  readonly signal: AbortSignal | undefined;
  readonly onProgress: ((event: LoadEvent) => void) | undefined;
  readonly log: Log;
}
