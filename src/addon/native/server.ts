/** The engine of a server. */

import type { ModelKey } from '../../model-key.js';
import type { NativeCache, NativePluginCache } from './cache.js';
import type { NativeFolder, NativeBytes } from './folder.js';
import type { NativeNvml } from './gpus.js';
import type { NativePort } from './port.js';
import type { NativeStatistics, NativeMetrics, NativeBatches, NativeCacheCounts, NativeResource } from './statistics.js';
import type { NativeStatus } from './status.js';
import type { NativeTracing } from './trace.js';
import type { NativeDescription, NativeEnsemblePlan, NativeHostPolicy, NativeInstanceSpec, NativeVersionConfig, NativeLatencyPolicy } from './version-config.js';

/** A region of shared memory. */
export interface NativeRegion {
  readonly id: number;
  readonly name: string;
  readonly key: string;
  readonly offset: number;
  readonly byteSize: number;
  readonly own: boolean;
  /** The GPU whose memory it is; undefined: the host's. */
  readonly device?: number;
}

/** A server's engine; see `native/binding/server_wrap.h`. */
export interface NativeServer extends NativeTracing {
  id(): number;
  /**
   * Connects this environment. `onPages` is called with the number of pages of responses that the header lists.
   */
  attach(onPages: (count: number) => void, external: boolean): NativePort | undefined;
  open(
    backend: string,
    name: string,
    version: number,
    path: string,
    settings: Readonly<Record<string, string>>,
    done: (error: NativeStatus | null, uid: number, description: NativeDescription) => void,
    /** The version's files. If given, `path` names one of them, and nothing is read from disk. */
    files?: Readonly<Record<string, NativeBytes>>,
    /** What each instance's threads are bound to. The thread that loads the model is bound to all of it. */
    hostPolicies?: readonly (NativeHostPolicy | undefined)[],
  ): void;
  /** Lets a version serve. `done` may be called before this returns. */
  start(uid: number, config: NativeVersionConfig, done: (error: NativeStatus | null) => void): void;
  /**
   * Changes the instances of a version that serves: removes those with these numbers, and adds others. `done` gets the
   * numbers of the new ones. The first instances have the numbers from 0. UNSUPPORTED: they cannot be changed in place.
   */
  changeInstances(
    uid: number,
    removed: readonly number[],
    added: readonly NativeInstanceSpec[],
    done: (error: NativeStatus | null, numbers: readonly number[]) => void,
  ): void;
  /** What is known of the last sequence of a correlation id; see `sequence-fates.ts`. */
  sequenceFate(uid: number, id: bigint | string): number;
  /** Adds an ensemble. It serves once it is bound. Returns its uid. */
  addEnsemble(name: string, version: number, plan: NativeEnsemblePlan, latencies: NativeLatencyPolicy): number;
  /**
   * Binds an ensemble to the versions of its steps. Requests in flight keep the versions that they began with.
   *
   * @param identity - As {@link NativeVersionConfig.identity}, of the ensemble with these versions.
   */
  bindEnsemble(uid: number, versions: readonly number[], identity: string): NativeStatus | null;
  /** Cancels loads in progress, and the reading of folders. */
  cancelLoads(): void;
  /**
   * Opens a backend's runtime on a loader thread, without a model. `done` receives the library's part of
   * {@link NativeServer.info}.
   */
  openRuntime(
    backend: string,
    settings: Readonly<Record<string, string>>,
    done: (error: NativeStatus | null, info: Readonly<Record<string, string>>) => void,
  ): void;
  /**
   * Asks the CUDA driver for its GPUs, once per process, on a loader thread, because it takes tenths of a
   * second. `done` receives null, or why the driver was not asked.
   */
  findGpus(done: (error: NativeStatus | null) => void): void;
  /** Opens NVIDIA's management library on a loader thread. */
  findNvml(done: (error: NativeStatus | null, found: NativeNvml) => void): void;
  /** Watches the GPUs that were found, on its own thread, until the server closes. */
  watchGpus(intervalMs: number): void;
  /**
   * Reads a folder on a loader thread, and its configuration if that has at most `mostConfigBytes`.
   *
   * @param linkRoots - The folders in which links must end; empty: they may end anywhere.
   * @param checkedStamp - The stamp of an earlier read with the same roots: with the same stamp no link to a file is resolved.
   */
  readFolder(
    model: string,
    path: string,
    mostConfigBytes: number,
    linkRoots: readonly string[],
    checkedStamp: string,
    done: (error: NativeStatus | null, folder: NativeFolder) => void,
  ): void;
  /** Returns memory to the system that loading left free in the allocator. */
  returnMemory(done: () => void): void;
  publish(model: ModelKey, json: string): void;
  withdraw(model: ModelKey): void;
  /**
   * The published state of a model; undefined for an unknown model. `json` is absent if the revision is still
   * `knownRevision`.
   */
  read(
    model: ModelKey,
    knownRevision: number,
  ): { readonly revision: number; readonly json?: string } | undefined;
  /**
   * The published model that a name alone means: the one namespace's that has it. Undefined if there is none. With
   * namespaces it is a status then: INVALID_ARG for a name that was never published, NOT_FOUND for one that has gone;
   * and INVALID_ARG if several namespaces have it.
   */
  resolveModel(name: string): ModelKey | NativeStatus | undefined;
  /** The published models, sorted by name, then by namespace. */
  modelKeys(): ModelKey[];
  retire(uid: number, done: (abandoned: boolean) => void): void;
  /** Whether a version has no request, no run and no ensemble that uses it. True for one that has ended. */
  isIdle(uid: number): boolean;
  /** Closes the server. `done` receives the names of abandoned models, at most 2 s after the time limit. */
  close(timeoutMs: number, done: (abandoned: readonly string[]) => void): void;
  join(): void;
  statistics(uid: number): NativeStatistics | undefined;
  metrics(uid: number, quantiles: readonly number[]): NativeMetrics | undefined;
  batches(uid: number): NativeBatches | undefined;
  info(uid: number): Readonly<Record<string, string>> | undefined;
  inFlightBytes(): number;
  /** The resources of the rate limiter. */
  resources(): readonly NativeResource[];
  /** The response cache; undefined: there is none. */
  cache(): NativeCacheCounts | undefined;
  /**
   * Attaches this environment, which owns the server, to the cache outside of the engine. Undefined if there is no memory.
   * `wake` is called when there is something to take.
   */
  attachCache(wake: () => void): NativeCache | undefined;
  /**
   * Has a plug-in of Triton, which was opened, serve the cache outside of the engine. Returns whether the system has threads
   * for it.
   */
  attachPluginCache(cache: NativePluginCache): boolean;
  /**
   * Lets plug-ins and native programs ask this environment, which owns the server, until {@link join}.
   *
   * @param strict - Whether the server is ready only if all its models are.
   * @param levels - The levels that the log shows, as bits in the order of `TRITONSERVER_LogLevel`.
   * @param answer - Returns the answer, why there is none, or undefined if {@link NativeAddon.answerPlugin} has it later.
   *   The number 0 stands for a caller on this thread, which cannot wait for that. The load of the model `asker` waits for
   *   the answer; '' if none is known to.
   */
  ownPlugins(
    strict: boolean,
    levels: number,
    answer: (
      kind: string,
      asked: string,
      files: Readonly<Record<string, Uint8Array>>,
      number: number,
      asker: string,
    ) => string | NativeStatus | undefined,
    log: (level: number, message: string) => void,
  ): void;
  /**
   * Registers `size` bytes of an existing file, such as one of shared memory, from `offset` on. The requests of
   * all environments may then name them. The file is mapped, so all programs that map it share its bytes.
   * A sparse file gets all its pages at once, which takes about half a second for each GiB. The server's close unregisters it.
   *
   * @param name - No other registered region may have it.
   * @param key - The name of the shared memory, which {@link regions} returns.
   * @param own - Whether the program made the memory. {@link regions} returns it, too. The file is removed when the
   *   region ends: when it is unregistered, and with the server, however that ends.
   * @returns The region's id, or why it cannot be registered.
   */
  registerRegion(
    name: string,
    path: string,
    offset: number,
    size: number,
    key: string,
    own: boolean,
  ): NativeStatus | number;
  /** The registered region with a name; undefined if there is none. */
  findRegion(name: string): Pick<NativeRegion, 'id' | 'byteSize' | 'own' | 'device'> | undefined;
  /**
   * Registers memory of a GPU that another process has allocated. The GPU is opened first if need be. Fails as UNSUPPORTED
   * where there is none.
   *
   * @param handle - The driver's handle, 64 bytes.
   */
  registerCudaRegion(
    name: string,
    handle: Uint8Array,
    device: number,
    size: number,
    done: (error: NativeStatus | null, id: number) => void,
  ): void;
  /** Whether requests to a version have an input in place at this offset of a region. */
  readsRegion(uid: number, input: number, region: number, offset: number): boolean;
  /** Whether all of a version's instances are on the region's GPU, so that its outputs are copied there without the host. */
  writesRegion(uid: number, region: number): boolean;
  /**
   * Keeps a region for this environment: it counts as in use, and {@link readRegion} and {@link writeRegion} know it after
   * it was unregistered. False: there is no such region.
   */
  holdRegion(region: number): boolean;
  /** Ends one {@link holdRegion}. */
  releaseRegion(region: number): void;
  /** Copies bytes of a region. They count as in flight until `done` is called. */
  readRegion(
    region: number,
    offset: number,
    size: number,
    done: (error: NativeStatus | null, bytes: Uint8Array<ArrayBuffer>) => void,
  ): void;
  /** Copies bytes to a region, as {@link readRegion}. They may change once this has returned. */
  writeRegion(
    region: number,
    offset: number,
    bytes: Uint8Array,
    done: (error: NativeStatus | null) => void,
  ): void;
  /** All regions by id, and those that are unregistered and still in use, whose id is 0. */
  regions(): readonly NativeRegion[];
  /**
   * An ArrayBuffer over a region's bytes, which stay mapped as long as it lives. Undefined if there is no such region,
   * if a GPU has its memory, if the runtime forbids foreign memory, and for more than 4 GiB.
   */
  mapRegion(id: number): ArrayBuffer | undefined;
  /**
   * Unregisters a region. Requests in flight keep its memory. Returns false if there is no such region.
   */
  unregisterRegion(id: number): boolean;
}
