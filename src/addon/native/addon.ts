/** The addon's functions, typed. `native/binding/` implements them. Only this package calls them. */

import type { NativeBytes } from './folder.js';
import type { NativeGpus, NativeGpuPools, NativeGpuSample } from './gpus.js';
import type { NativeInstance } from './instance.js';
import type { NativePythonOptions, NativePython } from './python.js';
import type { NativeServer } from './server.js';

/** How often the engine's own code used the system, in all threads; see `native/binding/counts.h`. */
export interface NativeCounts {
  /** Allocations: by `new`, of blocks, of pages and of exceptions. */
  readonly allocations: number;
  /** Mutexes locked, except those that a sleeper locks again when it wakes. */
  readonly locks: number;
  /** The ones of these that another thread held. */
  readonly contended: number;
  /** Condition variables notified. */
  readonly signals: number;
  /** Waits for a condition variable. */
  readonly sleeps: number;
  /** Wake-ups of an event loop. */
  readonly wakes: number;
  /** How often a thread gave the rest of its time slice away. */
  readonly yields: number;
  /** Queries of a thread's resource usage. */
  readonly usages: number;
  /** Mappings of pages from the system, and their ends. */
  readonly maps: number;
  /** Bytes that were copied by a call. */
  readonly copied: number;
}

/** The exports of the addon. Each environment has its own. */
export interface NativeAddon {
  /**
   * Creates a server; undefined if the system has no thread for it. `spinCores` is the number of cores that
   * idle instance threads may spin on. With 0 neither they nor JS threads spin.
   */
  createServer(
    loadConcurrency: number,
    maxInFlightBytes: number,
    spinCores: number,
  ): NativeServer | undefined;
  findServer(id: number): NativeServer | undefined;
  /** Sets the function whose result a call throws if it finds no memory. Such a call has changed nothing. */
  onNoMemory(error: () => Error): void;
  /** Copies bytes, which must not be shared with other threads; undefined while the environment ends. */
  keepBytes(bytes: Uint8Array): NativeBytes | undefined;
  /**
   * Reserves places for the instances of a version of a model in JavaScript or Python, by name. Returns their number,
   * which the backend's setting `inboxes` names.
   *
   * @param runner - What an instance is run by, for messages.
   */
  reserveInstances(
    model: string,
    names: readonly string[],
    concurrency: number,
    runner: 'thread' | 'process',
  ): number;
  /**
   * Attaches this environment to an instance; undefined if another one has it or it is closed.
   *
   * @param wake - Called when there may be a batch.
   * @param holdsLoop - Whether the event loop stays alive meanwhile.
   * @param cores - On how many cores of the process its thread may spin; 0: it does not.
   */
  attachInstance(
    number: number,
    index: number,
    wake: () => void,
    holdsLoop: boolean,
    cores: number,
  ): NativeInstance | undefined;
  /**
   * Tells instances that their version ends. Those without a thread hold nothing up any more.
   *
   * @param terminate - Whether what they run or wait for fails, and whatever comes.
   */
  settleInstances(number: number, terminate: boolean): void;
  /** Closes instances, and forgets their number. */
  releaseInstances(number: number): void;
  /**
   * Frees the memory of an array buffer at once, which is empty then. V8 would do that when it has marked its whole heap. Nothing
   * that is under way may use it.
   */
  dropMemory(buffer: ArrayBuffer): void;
  /**
   * Makes the channel of an instance of a Python model.
   *
   * @param number - That of {@link reserveInstances}.
   * @param server - Id of the server that its calls go to.
   * @returns Undefined: the instance is gone. A text: why there is none.
   */
  createPython(
    number: number,
    index: number,
    server: number,
    options: NativePythonOptions,
  ): NativePython | string | undefined;
  /** The number of cores that this process may use: the smaller of affinity and cgroup quota. */
  cores(): number;
  /** Bytes of memory this process may use. */
  memory(): number;
  /** Upper bounds of the classes of latencies, in nanoseconds; there is one more class above the last. */
  latencyBoundsNs(): number[];
  /** What {@link NativeServer.findGpus} has found, of any server of the process; undefined: nothing yet. */
  gpus(): NativeGpus | undefined;
  /** The GPUs that take no work any more, because the driver reported an error for work that it had taken. */
  lostGpus(): readonly { readonly id: number; readonly reason: string }[];
  /**
   * Sets the limits of the process' pools.
   *
   * @param pinnedBytes - Of pinned memory.
   * @param gpuBytes - Of the memory of each GPU that is not listed.
   * @param listed - Ids of GPUs, and bytes.
   */
  limitGpuMemory(
    pinnedBytes: number,
    gpuBytes: number,
    listed: readonly (readonly [id: number, bytes: number])[],
  ): void;
  /** How the process' pools are used: of pinned memory, and of each GPU by id. */
  gpuPools(): NativeGpuPools;
  /** What the GPUs did when {@link NativeServer.watchGpus} looked last, by id; empty if nobody watches. */
  gpuSamples(): readonly NativeGpuSample[];
  /** Names of the backends that this build has. */
  backends(): string[];
  /** A number that tells this engine from those of other copies of the addon's file in this process. */
  engineId(): number;
  /**
   * The environment has started a child process. When the environment ends before {@link removeChild}, as a
   * worker does that is terminated, the child is ended with the group that it heads, and is waited for.
   */
  addChild(pid: number): void;
  /**
   * Calls a function that starts processes, and adds them, as {@link addChild} does. On Linux also where the
   * environment is terminated within the function, so that nobody learns their numbers.
   */
  keepChildren<T>(start: () => T): T;
  /** The environment has waited for the child. */
  removeChild(pid: number): void;
  /**
   * Tells the engine that the process exits with `code`: nothing new starts, and running batches are asked to
   * end.
   */
  prepareExit(code: number): void;
  /**
   * Counts since the process began. Only the tests' addon has this, where it can count (Linux, without a
   * sanitizer).
   */
  counts?(): NativeCounts;
  /**
   * Makes one of this thread's next allocations fail: 1 is the next one, 0 none. Returns how many were left
   * until the one that was set before, or 0 if that one has failed. It exists if {@link counts} does.
   */
  failAllocation?(number: number): number;
}
