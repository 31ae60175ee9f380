/** Options of a server. */

import type { InlineOption, ModelConfigInput } from './config/index.js';

/** Options of one backend: strings, numbers or booleans by key. Triton: `--backend-config=<backend>,<key>=<value>`. */
export type BackendConfig = Readonly<Record<string, string | number | boolean>>;

/** A step of loading, for progress lines. */
export interface LoadEvent {
  /** Name of the model. */
  readonly model: string;
  /** Absent while the model's versions are not known yet. */
  readonly version?: string | undefined;
  /** What it has come to. */
  readonly state: 'LOADING' | 'READY' | 'UNAVAILABLE';
  /** Models that are ready or have failed. */
  readonly done: number;
  /** Models to load. */
  readonly total: number;
}

/**
 * A model that the program gives, in place of a repository.
 *
 * @example
 * const server = await createServer({ models: { digits: { files: { 'model.onnx': await readFile('digits.onnx') } } } });
 */
export interface GivenModel {
  /** As in {@link LoadModelOptions}; default: all is completed from the model's file. */
  readonly config?: ModelConfigInput | string | undefined;
  /** As in {@link LoadModelOptions}. Copied before `createServer` returns. */
  readonly files: Readonly<Record<string, Uint8Array>>;
}

/**
 * Options of {@link createServer}; most are tritonserver's flags in camelCase.
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
   * Folders of models, as paths or file URLs; needed unless there are {@link models}. A model file in place of a folder,
   * such as `digits.onnx`, is served under its name, as version 1. Triton: `--model-repository`.
   */
  readonly modelRepository?: string | URL | readonly (string | URL)[] | undefined;
  /** Models that the program gives, by name. */
  readonly models?: Readonly<Record<string, GivenModel>> | undefined;
  /**
   * Whether `createServer` rejects when a model cannot be loaded (default true); otherwise the others are served and
   * that one is UNAVAILABLE with its reason in the index. Triton: `--exit-on-error`.
   */
  readonly exitOnError?: boolean | undefined;
  /** 'none' (default): all models are loaded, once; 'explicit': only on request. Triton: `--model-control-mode`. */
  readonly modelControlMode?: 'none' | 'explicit' | undefined;
  /** In explicit mode, what to load at the start; `['*']` alone: all. Triton: `--load-model`. */
  readonly loadModels?: readonly string[] | undefined;
  /**
   * Whether what a config leaves out is completed from the model's file (default true). Triton:
   * `--disable-auto-complete-config`.
   */
  readonly autoCompleteConfig?: boolean | undefined;
  /** 'cpu' runs models whose instance groups say KIND_GPU on the CPU; by default they need a GPU. */
  readonly instanceKind?: 'cpu' | undefined;
  /**
   * Model versions that are loaded at once (default 4); more than there are cores only where loads wait for longer than
   * 20 ms. Triton: `--model-load-thread-count`.
   */
  readonly modelLoadConcurrency?: number | undefined;
  /**
   * Options by backend. `onnxruntime.library`: path of the ONNX Runtime library to use instead of the one that the
   * package onnxruntime-node carries. Triton: `--backend-config`.
   */
  readonly backendConfig?: Readonly<Record<string, BackendConfig>> | undefined;
  /**
   * Folders, as paths or file URLs, in which a model's configuration may name libraries of operators to load and profiles
   * to write, besides the model's own folder and, for libraries, that of the ONNX Runtime library. Nothing else that a
   * repository says loads code from, or writes to, places of its choice; see docs/security.md.
   */
  readonly trustedFolders?: readonly (string | URL)[] | undefined;
  /** Cores to use (default: what affinity and cgroup quota leave). */
  readonly threads?: number | undefined;
  /**
   * Bytes that requests in flight hold: their inputs, known outputs, and answers until they are delivered (default: 1 GiB,
   * or a quarter of the memory limit where that is less). A request beyond it rejects with UNAVAILABLE; `map` waits instead.
   */
  readonly maxInFlightBytes?: number | undefined;
  /**
   * Whether short batches run on the JS thread, which saves waking another one: 'auto' (default) runs those there that
   * are known, by their shapes and size, to take 50 µs or less; 'off' none; a number is that many microseconds. At
   * most that much time is spent so in one tick. A model's own parameter `inline` wins.
   */
  readonly inline?: 'auto' | 'off' | number | undefined;
  /**
   * Whether failures after queueing carry the line that made the request in their stack, at the cost of about 2.5 µs a
   * request (default false).
   */
  readonly captureStacks?: boolean | undefined;
  /** Gives up loading: `createServer` rejects with CANCELLED, with everything released. */
  readonly signal?: AbortSignal | undefined;
  /**
   * Told of each step of loading. What it throws rejects the call that loads, and it is told nothing more of that call:
   * `createServer` gives up the other models and releases everything; `loadModel` rejects when its load has ended, and
   * `index()` tells how. What it returns is not looked at.
   */
  readonly onProgress?: ((event: LoadEvent) => void) | undefined;
}

/** Options with every default in place; what the rest of the code receives. */
export interface ResolvedOptions {
  readonly repositories: readonly string[];
  /** Given models by name; what is in them is not checked yet. */
  readonly models: ReadonlyMap<string, GivenModel>;
  readonly exitOnError: boolean;
  readonly modelControlMode: 'none' | 'explicit';
  readonly loadModels: readonly string[];
  readonly autoCompleteConfig: boolean;
  readonly instanceKind: 'cpu' | undefined;
  readonly modelLoadConcurrency: number;
  readonly backendConfig: Readonly<Record<string, BackendConfig>>;
  readonly trustedFolders: readonly string[];
  readonly threads: number;
  readonly maxInFlightBytes: number;
  readonly inline: InlineOption;
  readonly captureStacks: boolean;
  readonly signal: AbortSignal | undefined;
  readonly onProgress: ((event: LoadEvent) => void) | undefined;
}
