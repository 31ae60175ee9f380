/** Types of the addon's functions. `native/binding/` implements them. Only this package calls them. */

import type { NativeAgentFacts, NativeAgentModel } from './agent.js';
import type { NativePluginCache } from './cache.js';
import type { NativeBytes } from './folder.js';
import type { NativeGpus, NativeGpuPools, NativeGpuSample } from './gpus.js';
import type { NativeInstance } from './instance.js';
import type { NativePythonOptions, NativePython } from './python.js';
import type { NativeServer } from './server.js';
import type { NativeStatus } from './status.js';
import type { NativeHostPolicy } from './version-config.js';

/** How often the engine's own code used the system, over all threads; see `native/binding/counts.h`. */
export interface NativeCounts {
  /** Allocations by `new`, and of blocks, pages and exceptions. */
  readonly allocations: number;
  /** Mutexes locked, except when a sleeping thread locks its mutex again on waking. */
  readonly locks: number;
  /** Of these, the mutexes that another thread held. */
  readonly contended: number;
  /** Condition variables notified. */
  readonly signals: number;
  /** Waits for a condition variable. */
  readonly sleeps: number;
  /** Wake-ups of an event loop. */
  readonly wakes: number;
  /** How often a thread gave up the rest of its time slice. */
  readonly yields: number;
  /** Queries of a thread's resource usage. */
  readonly usages: number;
  /** Calls that mapped or unmapped pages of memory. */
  readonly maps: number;
  /** Bytes copied by calls that copy memory. */
  readonly copied: number;
}

/** The options of the local response cache; see `native/engine/cache/local_cache.h`. */
export interface NativeLocalCacheOptions {
  /** Bytes. */
  readonly size: number;
  /** 0: entries do not expire. */
  readonly ttlMs: number;
  /** Whether equal requests in flight share one run. */
  readonly coalesce: boolean;
}

/** The options of a response cache outside of the engine; see `native/engine/cache/remote_cache.h`. */
export interface NativeRemoteCacheOptions {
  /** How long a request waits for its look-up. */
  readonly timeoutMs: number;
  /** The most bytes of a stored answer. */
  readonly mostBytes: number;
  /** The most bytes of answers that wait for {@link NativeCache.entries}. */
  readonly mostQueued: number;
  /** Whether equal requests in flight share a look-up and a run. */
  readonly coalesce: boolean;
  /** Whether it is a plug-in of Triton, which makes the cache's metrics itself. */
  readonly plugin?: boolean;
}

/** See the two. */
export type NativeCacheOptions = NativeLocalCacheOptions | NativeRemoteCacheOptions;

/** A resource of the rate limiter that the user gives. */
export interface NativeGivenResource {
  readonly name: string;
  readonly count: number;
  /** Undefined: all devices. */
  readonly device?: number | undefined;
}

/** The table of the C API; see `native/include/tritonts.h`. */
export interface NativeApiTable {
  readonly version: number;
  readonly address: bigint;
  /** Undefined if the runtime has no type tags for external values. */
  readonly external?: unknown;
}

/** The exports of the addon. Each environment has its own object. */
export interface NativeAddon {
  /**
   * Creates a server; undefined if the system has no thread for it. `spinCores` is the number of cores that
   * idle instance threads may spin on. If 0, neither instance threads nor JS threads spin. With `resources`, which
   * may be empty, instances pass a rate limiter. With `cache` there is a response cache. With `namespaces` several models
   * may have the same name.
   */
  createServer(
    loadConcurrency: number,
    maxInFlightBytes: number,
    spinCores: number,
    resources: readonly NativeGivenResource[] | undefined,
    cache: NativeCacheOptions | undefined,
    namespaces: boolean,
  ): NativeServer | undefined;
  findServer(id: number): NativeServer | undefined;
  /**
   * Sets the function that makes the error which a call throws if memory is exhausted. Such a call has changed
   * nothing.
   */
  onNoMemory(error: () => Error): void;
  /**
   * Copies bytes, which must not be shared with other threads; undefined while the environment is shutting
   * down.
   */
  keepBytes(bytes: Uint8Array): NativeBytes | undefined;
  /**
   * Reserves entries for the instances of a version of a JavaScript or Python model, by name. Returns the
   * number of the reservation, which the backend's setting `inboxes` passes on.
   *
   * @param runner - What runs an instance, for messages.
   */
  reserveInstances(
    model: string,
    names: readonly string[],
    concurrency: number,
    runner: 'thread' | 'process',
  ): number;
  /**
   * Attaches this environment to an instance; undefined if another environment is attached or the instance is
   * closed.
   *
   * @param wake - Called when there may be a batch.
   * @param holdsLoop - Whether the event loop stays alive while attached.
   * @param cores - Number of cores of the process on which the instance's thread may spin; 0: it does not spin.
   */
  attachInstance(
    number: number,
    index: number,
    wake: () => void,
    holdsLoop: boolean,
    cores: number,
  ): NativeInstance | undefined;
  /**
   * Tells instances that their version is ending. An instance without a thread then no longer delays the
   * version.
   *
   * @param terminate - Whether to fail the requests that the instances run or queue, and all later ones.
   */
  settleInstances(number: number, terminate: boolean): void;
  /** Closes instances and frees their reservation. */
  releaseInstances(number: number): void;
  /**
   * Frees the memory of an array buffer at once; the buffer is empty afterwards. V8 would free it only after
   * marking its whole heap. No running operation may use the buffer.
   */
  dropMemory(buffer: ArrayBuffer): void;
  /**
   * Makes the channel of an instance of a Python model.
   *
   * @param number - The number from {@link reserveInstances}.
   * @param server - Id of the server that the model's calls go to.
   * @returns Undefined if the instance is gone; a text that says why the channel could not be made.
   */
  createPython(
    number: number,
    index: number,
    server: number,
    options: NativePythonOptions,
  ): NativePython | string | undefined;
  /**
   * Begins to open a response cache that is a plug-in of Triton; undefined if the system has no thread for it.
   *
   * @param path - The plug-in.
   * @param tritonLibrary - The library with Triton's functions.
   * @param config - A JSON object.
   * @param changed - Called when there is another state. It does not keep the event loop alive.
   */
  openPluginCache(
    path: string,
    tritonLibrary: string,
    config: string,
    changed: () => void,
  ): NativePluginCache | undefined;
  /**
   * Makes the model of a repository agent that is a plug-in of Triton. Undefined if the environment is shutting down.
   *
   * @param path - The plug-in.
   * @param tritonLibrary - The library with Triton's functions.
   */
  createAgentModel(
    path: string,
    tritonLibrary: string,
    facts: NativeAgentFacts,
  ): NativeAgentModel | undefined;
  /** The number of cores that this process may use: the minimum of CPU affinity and cgroup quota. */
  cores(): number;
  /** The same, but a fraction of a core by a cgroup quota does not count, unless there is nothing else: then it is 1. */
  wholeCores(): number;
  /** Bytes of memory that this process may use. */
  memory(): number;
  /**
   * Upper bounds of the latency histogram's classes, in nanoseconds; one more class lies above the last bound.
   */
  latencyBoundsNs(): number[];
  /**
   * The GPUs that {@link NativeServer.findGpus} of any server of the process has found; undefined if none was
   * called yet.
   */
  gpus(): NativeGpus | undefined;
  /** The GPUs that no longer take work, because the driver reported an error for work in progress. */
  lostGpus(): readonly { readonly id: number; readonly reason: string }[];
  /**
   * Sets the limits of the process's memory pools.
   *
   * @param pinnedBytes - Limit of pinned memory.
   * @param gpuBytes - Limit of the memory of each GPU that is not listed.
   * @param listed - Limits of the listed GPUs: id and bytes.
   */
  limitGpuMemory(
    pinnedBytes: number,
    gpuBytes: number,
    listed: readonly (readonly [id: number, bytes: number])[],
  ): void;
  /** Usage of the process's pools: of pinned memory, and of each GPU by id. */
  gpuPools(): NativeGpuPools;
  /** The GPUs' state at the last sample of {@link NativeServer.watchGpus}, by id; empty if no server watches. */
  gpuSamples(): readonly NativeGpuSample[];
  /** Names of the backends in this build. */
  backends(): string[];
  /** A number that distinguishes this engine from those of other copies of the addon's file in this process. */
  engineId(): number;
  /** The table for native programs in the process. */
  nativeApi(): NativeApiTable;
  /** The answer to a question of {@link NativeServer.ownPlugins}: 0 and a text, or the number of a status and its message. */
  answerPlugin(number: number, code: number, text: string): void;
  /** The metrics that plug-ins have made, as JSON. */
  pluginMetrics(): string;
  /** Opens the library with Triton's functions. Returns null, or why that is impossible. */
  openTritonLibrary(path: string): NativeStatus | null;
  /**
   * Records that the environment has started a child process. If the environment ends before
   * {@link removeChild}, as a terminated worker does, the child and the process group that it leads are killed,
   * and the child is waited for.
   */
  addChild(pid: number): void;
  /**
   * Calls a function that starts processes, and records them as {@link addChild} does. On Linux it also records
   * them if the environment is terminated within the function, when nobody learns their ids.
   */
  keepChildren<T>(start: () => T): T;
  /** Binds the calling thread for good. Returns why that is impossible, or ''. */
  bindThread(policy: NativeHostPolicy): string;
  /**
   * Calls a function while the calling thread is bound, as are the processes that it starts. Returns why that is
   * impossible, in which case the function is not called, or ''.
   */
  underHostPolicy(policy: NativeHostPolicy, call: () => unknown): string;
  /** Records that the environment has waited for the child. */
  removeChild(pid: number): void;
  /**
   * Tells the engine that the process exits with `code`: no new batch starts, and running batches are asked to
   * end.
   */
  prepareExit(code: number): void;
  /**
   * Counts since the process began. Only the tests' build has this, on platforms where it can count (Linux,
   * without a sanitizer).
   */
  counts?(): NativeCounts;
  /**
   * Makes one of this thread's next allocations fail: 1 is the next one, 0 none. Returns how many allocations
   * remained before the previously set failure, or 0 if that failure has happened. Exists if {@link counts}
   * does.
   */
  failAllocation?(number: number): number;
}
