/** The addon's functions, typed. `native/binding/` is the other side; nothing else calls them. */

/** Numbers of `native/engine/base/status.h`. */
export interface NativeStatus {
  readonly code: number;
  readonly message: string;
}

/** An input or output as a runtime tells it. */
export interface NativeTensorDescription {
  readonly name: string;
  /** Number of the datatype; 0 where Triton has no name for the type. */
  readonly datatype: number;
  /** The runtime's own word for the type. */
  readonly typeName: string;
  /** Full shape, -1 where dynamic; absent: not even the rank is known. */
  readonly shape?: readonly number[];
  readonly optional: boolean;
  /** The name of each dim, '' where it has none; empty where the runtime has no such names. */
  readonly dimNames: readonly string[];
}

/** What a runtime tells of a model it opened. */
export interface NativeDescription {
  readonly inputs: readonly NativeTensorDescription[];
  readonly outputs: readonly NativeTensorDescription[];
  /** Why outputs may have other rows than inputs, though their dims have one name; '': nothing speaks for it. */
  readonly rowsVary: string;
}

/** A tensor of a complete configuration: `dims` are full, -1 first where the model batches. */
export interface NativeTensorSpec {
  readonly name: string;
  readonly datatype: number;
  readonly dims: readonly number[];
  readonly optional: boolean;
}

/** The dynamic batcher's policy; absent, every request runs alone. */
export interface NativeScheduling {
  readonly maxBatchSize: number;
  readonly preferredBatchSizes: readonly number[];
  readonly maxQueueDelayUs: number;
}

/** An instance of a version. */
export interface NativeInstanceSpec {
  readonly name: string;
  /** Id of a GPU; -1: the CPU. */
  readonly device: number;
}

/** What an opened version needs to serve. */
export interface NativeVersionConfig {
  readonly maxBatchSize: number;
  readonly inputs: readonly NativeTensorSpec[];
  readonly outputs: readonly NativeTensorSpec[];
  readonly scheduling: NativeScheduling | undefined;
  readonly instances: readonly NativeInstanceSpec[];
  /** Batches that are known to end within it may run on the JS thread; 0: none does. */
  readonly inlineBudgetNs: number;
}

/** A count of something and how long it took in all. */
export interface NativeDuration {
  readonly count: number;
  readonly ns: number;
}

/** What a model version did so far. */
export interface NativeStatistics {
  readonly lastInferenceMs: number;
  readonly inferenceCount: number;
  readonly executionCount: number;
  readonly cancelled: number;
  readonly rejected: number;
  readonly success: NativeDuration;
  readonly fail: NativeDuration;
  readonly queue: NativeDuration;
  readonly computeInput: NativeDuration;
  readonly computeInfer: NativeDuration;
  readonly computeOutput: NativeDuration;
  readonly batches: readonly {
    readonly batchSize: number;
    readonly computeInput: NativeDuration;
    readonly computeInfer: NativeDuration;
    readonly computeOutput: NativeDuration;
  }[];
}

/** `native/binding/port_wrap.h`. */
export interface NativePort {
  /** Whether memory is shared with JavaScript; else it is copied, and the methods for that are used. */
  external(): boolean;
  header(): ArrayBuffer;
  submission(): ArrayBuffer;
  /** False without memory. */
  addSlab(): boolean;
  slab(number: number): ArrayBuffer;
  /** Copies a large input into native memory; the block's id, or -1 without memory. */
  stage(bytes: ArrayBufferView): number;
  unstage(id: number): void;
  /**
   * Hands requests to the engine.
   *
   * @param run - Whether batches that are known to be short are run before this returns.
   * @returns How many pages of finished requests the header names then, which no signal announces.
   */
  submit(words: number, run: boolean): NativeStatus | number;
  submitCopies(
    words: number,
    run: boolean,
    submission: Int32Array,
    slabs: readonly Uint8Array[],
  ): NativeStatus | number;
  /**
   * Looks for finished pages for a few microseconds, where that is worth it; to be called after a submission.
   *
   * @returns How many pages the header names then; {@link lookAgain} or {@link looksNoMore}. Unless it is the latter, no
   *   signal announces the next pages, and it is to be called again with the event loop's next turn.
   */
  look(): number;
  cancel(slot: number, generation: number, first: number, count: number): void;
  /**
   * Cancels many: `words` words of the submission area, which has nothing else then, or of an array (where memory is not
   * shared): for each slot, generation, first request and how many.
   */
  cancelMany(words: number, submission?: Int32Array): void;
  /** Forgets a slab, of which no request has a range; `addSlab` uses the lowest number that is free. */
  dropSlab(number: number): void;
  /** Gives back what a burst left. Views of pages that were not handed out since are stale then. */
  shrink(): void;
  page(id: number): ArrayBuffer;
  copyPage(id: number, target: Uint8Array): void;
  /** An output that is too big for its page, in place; undefined where that is forbidden, or too much of it is there. */
  takeLarge(page: number, number: number): ArrayBuffer | undefined;
  /** Its size. */
  largeBytes(page: number, number: number): number;
  /** Copies it; `target` has its size. */
  copyLarge(page: number, number: number, target: Uint8Array): void;
  /** False: the page is not kept. */
  recycle(id: number): boolean;
  acknowledge(epoch: number): void;
  headerWord(index: number): number;
  ref(): void;
  unref(): void;
  detach(): void;
}

/** `NativePort.look` found nothing yet. */
export const lookAgain = -1;
/** `NativePort.look` leaves it to the signal. */
export const looksNoMore = -2;

/** What lies in a model's folder; see `native/engine/server/model_folder.h`. */
export interface NativeFolder {
  /** Why the folder cannot be read; empty: it was. */
  readonly fault: string;
  /** What is in it that no model may have; empty: nothing. */
  readonly refusal: string;
  readonly stamp: string;
  /** Names of the sub-folders, ascending by their bytes. */
  readonly folders: readonly string[];
  /** What lies in the first of them. */
  readonly firstEntries: readonly { readonly name: string; readonly isDirectory: boolean }[];
  /** At most one of these: what config.pbtxt holds, why it cannot be read, or that it has too many bytes. */
  readonly config?: Uint8Array;
  readonly configFault?: string;
  readonly configSize?: number;
}

/** Bytes of the engine's own; `native/binding/bytes_wrap.h`. */
export interface NativeBytes {
  /** 0 when they were released. */
  size(): number;
  /** Into memory of V8's. */
  copy(): Uint8Array;
  /** Loads that were given them have them still. */
  release(): void;
}

/** `native/binding/server_wrap.h`. */
export interface NativeServer {
  id(): number;
  /** `onPages` is told how many pages of finished requests the header names. */
  attach(onPages: (count: number) => void, external: boolean): NativePort | undefined;
  open(
    backend: string,
    name: string,
    version: number,
    path: string,
    settings: Readonly<Record<string, string>>,
    done: (error: NativeStatus | null, uid: number, description: NativeDescription) => void,
    /** The version's files; `path` is then one of them, and nothing is read from disk. */
    files?: Readonly<Record<string, NativeBytes>>,
  ): void;
  /** Lets a version serve; `done` may be called before this returns. */
  start(uid: number, config: NativeVersionConfig, done: (error: NativeStatus | null) => void): void;
  /** Also ends the reading of folders. */
  cancelLoads(): void;
  /** Reads a folder on a loader thread; its configuration only if its stamp is not `knownStamp`. */
  readFolder(
    model: string,
    path: string,
    mostConfigBytes: number,
    knownStamp: string,
    done: (error: NativeStatus | null, folder: NativeFolder) => void,
  ): void;
  /** Gives back to the system what loading has left free in the allocator. */
  returnMemory(done: () => void): void;
  publish(name: string, json: string): void;
  withdraw(name: string): void;
  /** Undefined: no such model; without `json`: its revision is `knownRevision`. */
  read(
    name: string,
    knownRevision: number,
  ): { readonly revision: number; readonly json?: string } | undefined;
  modelNames(): string[];
  retire(uid: number, done: (abandoned: boolean) => void): void;
  /** `done` gets the names of models that were abandoned, 2 s after the limit at the latest. */
  close(timeoutMs: number, done: (abandoned: readonly string[]) => void): void;
  join(): void;
  statistics(uid: number): NativeStatistics | undefined;
  info(uid: number): Readonly<Record<string, string>> | undefined;
  inFlightBytes(): number;
}

/** The GPUs of this machine, as the CUDA driver tells them. */
export interface NativeGpus {
  /** Names, by id. */
  readonly devices: readonly string[];
  /** Why there is none, and what helps; empty where there are some. */
  readonly reason: string;
}

/** What the engine's own code asked of the system, in all threads; see `native/binding/counts.h`. */
export interface NativeCounts {
  /** By `new`, of blocks, of pages and of exceptions. */
  readonly allocations: number;
  /** Mutexes taken; not what a sleeper takes back when it wakes. */
  readonly locks: number;
  /** Of these, the ones that another thread had. */
  readonly contended: number;
  /** Condition variables notified. */
  readonly signals: number;
  /** Waits for one. */
  readonly sleeps: number;
  /** Calls of an event loop. */
  readonly wakes: number;
  /** Of the rest of a thread's time. */
  readonly yields: number;
  /** Questions what a thread has used. */
  readonly usages: number;
  /** Pages taken from the system or given back. */
  readonly maps: number;
}

/** The addon's exports, one set for each environment. */
export interface NativeAddon {
  /**
   * Undefined where the system has no thread for it. `spinCores`: cores that instance threads with nothing to do may spin
   * on; 0: neither they nor JS threads spin.
   */
  createServer(
    loadConcurrency: number,
    maxInFlightBytes: number,
    spinCores: number,
  ): NativeServer | undefined;
  findServer(id: number): NativeServer | undefined;
  /** Copies bytes, which must not be shared with other threads; undefined without memory. */
  keepBytes(bytes: Uint8Array): NativeBytes | undefined;
  /** Cores this process may use: the smaller of affinity and cgroup quota. */
  cores(): number;
  /** Bytes of memory this process may use. */
  memory(): number;
  /** Asks the CUDA driver, once in a process; that call initialises the driver, which takes tenths of a second. */
  gpus(): NativeGpus;
  /** Names of the backends that this build has. */
  backends(): string[];
  /** Tells this engine from others in the process, which other copies of the addon's file have. */
  engineId(): number;
  /** The process exits with `code`: nothing new starts, what runs is asked to end. */
  prepareExit(code: number): void;
  /** Since the process began; of the tests' addon alone, where it can count (Linux, without a sanitizer). */
  counts?(): NativeCounts;
}
