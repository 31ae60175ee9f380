/** Options of a server. */

import type { ModelCode } from './javascript/model-code.js';
import type { ModelModule, ModelObject, WorkersOptions } from './api/javascript-model.js';
import type { InlineOption, ModelConfigInput } from './config/index.js';
import type { Log, Logger } from './logger.js';
import type { MetricsConfig, ResolvedMetrics } from './metrics/metrics-config.js';

/** Options of one backend, by key. Triton: `--backend-config=<backend>,<key>=<value>`. */
export type BackendConfig = Readonly<Record<string, string | number | boolean>>;

/** A step of loading, as {@link ServerOptions.onProgress} is told of it. */
export interface LoadEvent {
  /** Name of the model. */
  readonly model: string;
  /** The model's version; absent until its versions are known. */
  readonly version?: string | undefined;
  /**
   * The state that the version, or the model, has now. A version is 'WARMING_UP' while it runs the samples of
   * its `model_warmup`.
   */
  readonly state: 'LOADING' | 'WARMING_UP' | 'READY' | 'UNAVAILABLE';
  /** Number of models that are ready or have failed. */
  readonly done: number;
  /** Number of models to load. */
  readonly total: number;
}

/**
 * A model that the program gives instead of a repository: as files, as a module that runs on threads of its own
 * ({@link ModelModule}), or with its functions ({@link ModelObject}).
 *
 * @example
 * const server = await createServer({ models: { digits: { files: { 'model.onnx': await readFile('digits.onnx') } } } });
 */
export type GivenModel = GivenFiles | ModelModule | ModelObject;

/**
 * A model that the program gives as files.
 *
 * @example
 * const digits: GivenFiles = { files: { 'model.onnx': await readFile('digits.onnx') } };
 */
export interface GivenFiles {
  /**
   * Its configuration, as in {@link LoadModelOptions} (default: everything is completed from the model's
   * file).
   */
  readonly config?: ModelConfigInput | string | undefined;
  /** Its files, as in {@link LoadModelOptions}. They are copied before `createServer` returns. */
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
   * Folders of models, as paths or file URLs. One is needed unless {@link models} are given. A model file
   * such as `digits.onnx` may take a folder's place: it is served under its name, as version 1. Triton:
   * `--model-repository`.
   */
  readonly modelRepository?: string | URL | readonly (string | URL)[] | undefined;
  /** Models that the program gives, by name (default: none). Triton has no such option. */
  readonly models?: Readonly<Record<string, GivenModel>> | undefined;
  /**
   * Whether `createServer` rejects when a model cannot be loaded (default true). With false the other models
   * are served, and that one is UNAVAILABLE, with its reason in the index. Triton: `--exit-on-error`.
   */
  readonly exitOnError?: boolean | undefined;
  /**
   * 'none' (default) loads all models, once; 'explicit' loads models only on request. Triton:
   * `--model-control-mode`.
   */
  readonly modelControlMode?: 'none' | 'explicit' | undefined;
  /**
   * The models to load at the start, in explicit mode (default: none); `['*']` alone means all. Triton:
   * `--load-model`.
   */
  readonly loadModels?: readonly string[] | undefined;
  /** The server's name in its metadata (default: 'tritonts'). Triton: `--id`. */
  readonly id?: string | undefined;
  /**
   * Whether the server is ready only when every model is that should be served (default true). With false it is
   * ready while it is up. Triton: `--strict-readiness`.
   */
  readonly strictReadiness?: boolean | undefined;
  /**
   * Whether what a configuration leaves out is completed from the model's file (default true). Triton:
   * `--disable-auto-complete-config`.
   */
  readonly autoCompleteConfig?: boolean | undefined;
  /**
   * 'cpu' runs models on the CPU whose instance groups say KIND_GPU (default: they need a GPU). Triton has no
   * such option.
   */
  readonly instanceKind?: 'cpu' | undefined;
  /**
   * The oldest GPUs that instances may be on, by their compute capability (default 6.0; tritonserver's is that of its
   * build). Others are not among the server's devices, and KIND_GPU that lists one fails. Triton:
   * `--min-supported-compute-capability`.
   */
  readonly minSupportedComputeCapability?: number | undefined;
  /**
   * Bytes of memory of the host that are pinned for copies to GPUs and back (default 268,435,456, 256 MiB). Where they
   * do not suffice, copies use plain memory, which is slower, and counted in the metrics. The pool is the process':
   * of several servers, the one that was created last says it. Triton: `--pinned-memory-pool-byte-size`.
   */
  readonly pinnedMemoryPoolByteSize?: number | undefined;
  /**
   * Bytes of the memory of each GPU that are kept for tensors of batches (default 67,108,864, 64 MiB), or bytes by
   * the GPU's id; those that are not named have the default. Where they do not suffice, the driver is asked each
   * time, which is slower, and counted in the metrics. The pools are the process': of several servers, the one that was
   * created last says it. Triton: `--cuda-memory-pool-byte-size`.
   *
   * @example
   * const cudaMemoryPoolByteSize = { 0: 2 ** 30 };
   */
  readonly cudaMemoryPoolByteSize?: number | Readonly<Record<number, number>> | undefined;
  /**
   * How many model versions are loaded at once (default 4). More than there are cores are loaded at once only
   * where loads wait for longer than 20 ms; 4096 at most. Triton: `--model-load-thread-count`.
   */
  readonly modelLoadConcurrency?: number | undefined;
  /**
   * Options by backend (default: none). `onnxruntime.library` is the path of the ONNX Runtime library to use
   * instead of the one in the package onnxruntime-node. Triton: `--backend-config`.
   */
  readonly backendConfig?: Readonly<Record<string, BackendConfig>> | undefined;
  /**
   * Folders, as paths or file URLs, that models' configurations may name files in (default: none): libraries
   * of operators to load, environments of Python (`EXECUTION_ENV_PATH`), and profiles to write. The model's own folder is always allowed, and so is the ONNX
   * Runtime library's folder for libraries. Everything else in a repository can neither load code from a
   * place of its choice nor write to one; see docs/security.md. Triton has no such option.
   */
  readonly trustedFolders?: readonly (string | URL)[] | undefined;
  /**
   * Folder of backends in JavaScript, as a path or file URL (default: none): `<backendDirectory>/<name>/model.js`
   * (.mjs, .cjs, .ts) serves all models that say `backend: "<name>"`, as if {@link registerBackend} had been
   * given it. Triton: `--backend-directory`.
   */
  readonly backendDirectory?: string | URL | undefined;
  /** Options of the threads that run JavaScript models (default: none). Triton has no such option. */
  readonly workers?: WorkersOptions | undefined;
  /**
   * How long `finalize` of a model may take when the model is unloaded or the server closes, in milliseconds (default 5000):
   * of JavaScript and Python models and of those of the program. Then its thread or process is ended, or it is waited for
   * no more, and a warning names the model. Nothing ends an endless loop of a model of the program, which holds its
   * event loop. Triton has no such option.
   */
  readonly finalizeTimeoutMs?: number | undefined;
  /** Number of cores to use, 4096 at most (default: what affinity and cgroup quota leave). Triton has no such option. */
  readonly threads?: number | undefined;
  /**
   * How many bytes requests in flight may hold: their inputs, the outputs whose size is known, and answers
   * until they are delivered. The default is 1 GiB, or a quarter of the memory limit if that is less. A
   * request beyond it rejects with UNAVAILABLE; `map` waits instead. Triton has no such option.
   */
  readonly maxInFlightBytes?: number | undefined;
  /**
   * Whether short batches run on the JS thread, which saves waking another thread. 'auto' (default) does this
   * for batches that are known, from their shapes and size, to take 50 µs or less; 'off' never does; a number
   * is the limit in microseconds. At most that much time is spent this way in one tick. A model's own
   * parameter `inline` takes precedence. Triton has no such option.
   */
  readonly inline?: 'auto' | 'off' | number | undefined;
  /**
   * Whether requests of a batch's shape join it from behind waiting requests of other shapes (default true),
   * in models with variable dims under `dynamic_batching`. The oldest request that waits always leads the
   * next batch. With false, a batch ends at the first request of another shape. A model's own parameter
   * `batch_across_shapes` takes precedence; see docs/queueing.md. Triton has no such option.
   */
  readonly batchAcrossShapes?: boolean | undefined;
  /**
   * Whether errors of queued requests show, in their stack, the line that made the request (default false).
   * It costs about 2.5 µs a request. Triton has no such option.
   */
  readonly captureStacks?: boolean | undefined;
  /** Which metrics {@link InferenceServer.metrics} shows. Triton: `--metrics-config`. */
  readonly metricsConfig?: MetricsConfig | undefined;
  /**
   * Stops loading (default: nothing does): `createServer` rejects with CANCELLED, and everything is released.
   */
  readonly signal?: AbortSignal | undefined;
  /**
   * Called at each step of loading (default: nothing is called). If it throws, the call that loads rejects
   * with that, and it is not called again for that call: `createServer` stops loading and releases
   * everything; `loadModel` rejects when its load has ended, and `index()` tells how. What it returns is
   * ignored.
   */
  readonly onProgress?: ((event: LoadEvent) => void) | undefined;
  /**
   * Takes the server's messages about models (default: errors and warnings go to stderr, one line each). See
   * docs/diagnostics.md. Triton: `--log-error`, `--log-warning`, `--log-info`, `--log-verbose`.
   */
  readonly logger?: Logger | undefined;
}

/** The limits of the pools of memory for GPUs. */
export interface GpuMemoryLimits {
  readonly pinnedBytes: number;
  /** Of each GPU that is not listed. */
  readonly gpuBytes: number;
  readonly listed: readonly (readonly [id: number, bytes: number])[];
}

/** Options with every default filled in, as the rest of the code receives them. */
export interface ResolvedOptions {
  readonly repositories: readonly string[];
  /** Given models by name. Their content is not checked yet. */
  readonly models: ReadonlyMap<string, GivenModel>;
  readonly exitOnError: boolean;
  readonly modelControlMode: 'none' | 'explicit';
  readonly loadModels: readonly string[];
  readonly id: string;
  readonly strictReadiness: boolean;
  readonly autoCompleteConfig: boolean;
  readonly instanceKind: 'cpu' | undefined;
  readonly minSupportedComputeCapability: number;
  readonly gpuMemory: GpuMemoryLimits;
  readonly modelLoadConcurrency: number;
  readonly backendConfig: Readonly<Record<string, BackendConfig>>;
  readonly trustedFolders: readonly string[];
  readonly backendDirectory: string | undefined;
  /** Backends that the program registered before the server was created. */
  readonly registeredBackends: ReadonlyMap<string, ModelCode>;
  readonly workers: WorkersOptions;
  readonly finalizeTimeoutMs: number;
  readonly threads: number;
  readonly maxInFlightBytes: number;
  readonly inline: InlineOption;
  readonly batchAcrossShapes: boolean;
  readonly captureStacks: boolean;
  readonly metrics: ResolvedMetrics;
  readonly signal: AbortSignal | undefined;
  readonly onProgress: ((event: LoadEvent) => void) | undefined;
  readonly log: Log;
}
