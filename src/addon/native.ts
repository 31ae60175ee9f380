/** The addon's functions, typed. `native/binding/` implements them. Only this package calls them. */

/** A status of the engine. `native/engine/base/status.h` has the numbers. */
export interface NativeStatus {
  readonly code: number;
  readonly message: string;
}

/** An input or output, as a runtime describes it. */
export interface NativeTensorDescription {
  readonly name: string;
  /** Number of the datatype; 0 where Triton has no name for the type. */
  readonly datatype: number;
  /** The runtime's own name for the type. */
  readonly typeName: string;
  /** The full shape, -1 for variable dims; absent if not even the rank is known. */
  readonly shape?: readonly number[];
  readonly optional: boolean;
  /** Whether its values are shapes, which the runtime reads in the memory of the processor. */
  readonly isShapeTensor: boolean;
  /** The name of each dim, '' for one without; empty if the runtime has no names of dims. */
  readonly dimNames: readonly string[];
}

/** The inputs and outputs that a runtime found in a model. */
export interface NativeDescription {
  readonly inputs: readonly NativeTensorDescription[];
  readonly outputs: readonly NativeTensorDescription[];
  /**
   * Why outputs may have other rows than inputs although their dims have the same name; '' if nothing
   * suggests it.
   */
  readonly rowsVary: string;
  /** The most rows of a batch, 0 for a model without batches; absent where the model has no such limit. */
  readonly mostRows?: number;
}

/** A tensor of a complete configuration. `dims` are full, with -1 first if the model batches, except of shape tensors. */
export interface NativeTensorSpec {
  readonly name: string;
  readonly datatype: number;
  readonly dims: readonly number[];
  readonly optional: boolean;
  /** What callers see, where that is not `dims`. */
  readonly outer?: readonly number[] | undefined;
  /** Whether its first value is the rows, and not its first dim. */
  readonly rowsInValues: boolean;
}

/** How requests of a level wait; see `native/engine/scheduling/queue_policy.h`. */
export interface NativeQueuePolicy {
  /** Past its time a request goes behind the others; else it ends. */
  readonly delays: boolean;
  /** 0: for ever. */
  readonly defaultTimeoutUs: number;
  readonly allowTimeoutOverride: boolean;
  /** 0: any number. */
  readonly maxQueueSize: number;
}

/** Levels and their policies. */
export interface NativeQueuePolicies {
  /** 0: there are no levels. */
  readonly levels: number;
  readonly defaultLevel: number;
  readonly general: NativeQueuePolicy;
  readonly own: readonly (NativeQueuePolicy & { readonly level: number })[];
}

/** The dynamic batcher's policy. If it is absent, every request runs alone. */
export interface NativeScheduling {
  readonly maxBatchSize: number;
  readonly preferredBatchSizes: readonly number[];
  readonly maxQueueDelayUs: number;
  /** Whether requests of another shape than the batch's are passed over instead of closing it. */
  readonly acrossShapes: boolean;
}

/** An instance of a version. */
export interface NativeInstanceSpec {
  readonly name: string;
  /** Id of a GPU, or -1 for the CPU. */
  readonly device: number;
}

/** An input of a warm-up's sample. */
export interface NativeWarmupInput {
  /** Its position in the model's inputs. */
  readonly input: number;
  readonly datatype: number;
  /** As the model sees it, with 1 first where the model batches. */
  readonly shape: readonly number[];
  /** Bytes of one request. */
  readonly size: number;
  readonly data: 'zero' | 'random' | NativeBytes;
}

/** What every instance runs `count` times before the version serves: `batchSize` equal requests together. */
export interface NativeWarmupSample {
  readonly name: string;
  readonly batchSize: number;
  readonly count: number;
  readonly inputs: readonly NativeWarmupInput[];
}

/** An input or output of a step's model, and the number of the ensemble's tensor that it is. */
export interface NativeMapping {
  readonly name: string;
  readonly tensor: number;
}

/** An ensemble's graph; see `native/engine/ensemble/plan.h`. The first tensors are its inputs, in their order. */
export interface NativeEnsemblePlan {
  readonly maxBatchSize: number;
  readonly inputs: readonly NativeTensorSpec[];
  readonly outputs: readonly NativeTensorSpec[];
  readonly tensors: number;
  /** The name of each tensor in the configuration, for messages. */
  readonly tensorNames: readonly string[];
  /** The tensor of each output. */
  readonly outputTensors: readonly number[];
  readonly steps: readonly {
    readonly model: string;
    readonly inputs: readonly NativeMapping[];
    readonly outputs: readonly NativeMapping[];
    /** Whether each of its responses starts the steps behind it. */
    readonly decoupled: boolean;
  }[];
  /** The most requests in each step, over all requests of the ensemble; 0: no limit. */
  readonly maxInflight: number;
  /** Whether several steps may produce a tensor, and steps without a required input are skipped. */
  readonly conditional: boolean;
}

/** What an opened version needs to serve. */
export interface NativeVersionConfig {
  readonly maxBatchSize: number;
  readonly inputs: readonly NativeTensorSpec[];
  readonly outputs: readonly NativeTensorSpec[];
  readonly scheduling: NativeScheduling | undefined;
  /** Absent: one queue without limits. */
  readonly queue: NativeQueuePolicies | undefined;
  /** Whether responses leave in the order of their requests. */
  readonly preserveOrdering: boolean;
  /** Whether a batch that fails as a whole is run again in halves, if the backend's model may be run again. */
  readonly rerunInHalves: boolean;
  /** Whether a request gets any number of responses. */
  readonly decoupled: boolean;
  readonly instances: readonly NativeInstanceSpec[];
  /** What each instance runs before the version serves. */
  readonly warmup: readonly NativeWarmupSample[];
  /** A batch that is known to end within this time may run on the JS thread; 0: no batch does. */
  readonly inlineBudgetNs: number;
  readonly latencies: NativeLatencyPolicy;
}

/** What is kept of latencies besides their sums; `native/engine/statistics/latencies.h`. */
export interface NativeLatencyPolicy {
  /** Of each phase. */
  readonly histograms: boolean;
  /** Precision of quantiles: classes for each power of two, as a power of two; 0: none are kept. */
  readonly windowBits: number;
  /** Upper bounds of the histogram of first responses; undefined: there is none. */
  readonly firstResponseMs: readonly number[] | undefined;
}

/** A count and a total time. */
export interface NativeDuration {
  readonly count: number;
  readonly ns: number;
}

/** Counters of a model version since it was loaded. */
export interface NativeStatistics {
  readonly lastInferenceMs: number;
  readonly inferenceCount: number;
  readonly executionCount: number;
  readonly cancelled: number;
  readonly rejected: number;
  readonly backendFailed: number;
  /** Not of `fail`: never taken in, mostly because the queue was full. */
  readonly refused: number;
  /** Of `executionCount`: halves of batches that failed as a whole. */
  readonly reruns: number;
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
  /** By the number of the response within its request; empty unless the version is decoupled. */
  readonly responses: readonly {
    readonly computeInfer: NativeDuration;
    readonly computeOutput: NativeDuration;
    readonly success: NativeDuration;
    readonly fail: NativeDuration;
    readonly emptyResponse: NativeDuration;
    readonly cancel: NativeDuration;
  }[];
  readonly memory: readonly {
    readonly type: 'CPU' | 'GPU';
    readonly id: number;
    readonly byteSize: number;
  }[];
}

/** What instances did. */
export interface NativeInstanceMetrics {
  readonly statistics: NativeStatistics;
  /** Counts by class for each phase, one phase after the other; empty if they are not kept. */
  readonly latencies: readonly number[];
  /** Counts by class; empty if they are not kept. */
  readonly firstResponses: readonly number[];
  /** Milliseconds of all first responses together. */
  readonly firstResponseMs: number;
  /** For each phase the quantiles that were asked for, in nanoseconds; empty if they are not kept. */
  readonly quantiles: readonly number[];
}

/**
 * What the metrics of a version show. Its own numbers are those of the instances on the CPU, and of requests that no instance
 * had.
 */
export interface NativeMetrics extends NativeInstanceMetrics {
  /** Requests that are in no run. */
  readonly pending: number;
  /** Of the instances on each GPU. */
  readonly gpus: readonly (NativeInstanceMetrics & { readonly device: number })[];
}

/** How a batch came about; `native/engine/statistics/batch_log.h`. */
export interface NativeBatch {
  readonly rows: number;
  readonly requests: number;
  /** Requests that went on waiting when it was taken. */
  readonly left: number;
  readonly instance: number;
  /** Number of the reason, in `ClosedBy` of `native/engine/scheduling/scheduler.h`. */
  readonly closedBy: number;
  readonly inline: boolean;
  /** Whether its run is done; if not, `runNs` is the time so far. */
  readonly ended: boolean;
  readonly waitNs: number;
  /** From when its instance got it. */
  readonly runNs: number;
  readonly endedAgoNs: number;
}

/** What a version tells of its batches. */
export interface NativeBatches {
  readonly instances: number;
  /** Requests that are in no run. */
  readonly waiting: number;
  /** Those that are done, the one that ended first in front; then those under way. */
  readonly batches: readonly NativeBatch[];
}

/** This environment's connection to an engine; see `native/binding/port_wrap.h`. */
export interface NativePort {
  /**
   * Whether memory is shared with JavaScript. If not, it is copied, by the methods that take or return
   * copies.
   */
  external(): boolean;
  header(): ArrayBuffer;
  submission(): ArrayBuffer;
  /** Adds a slab. False without memory. */
  addSlab(): boolean;
  slab(number: number): ArrayBuffer;
  /**
   * Copies a large input of a request to the version `uid` into native memory. Returns the block's id, or -1
   * without memory.
   */
  stage(bytes: ArrayBufferView, uid: number): number;
  unstage(id: number): void;
  /**
   * Hands requests to the engine.
   *
   * @param run - Whether batches that are known to be short run before this returns.
   * @returns A refusal, or how many pages of responses the header lists now. No signal announces these.
   */
  submit(words: number, run: boolean): NativeStatus | number;
  submitCopies(
    words: number,
    run: boolean,
    submission: Int32Array,
    slabs: readonly Uint8Array[],
  ): NativeStatus | number;
  /**
   * Looks for responses for a few microseconds, if that is worth it. It is called after a submission.
   *
   * @returns How many pages the header lists now, {@link lookAgain} or {@link looksNoMore}. Unless it is
   *   the latter, no signal announces the next pages, and the caller has to look again in the event loop's
   *   next turn.
   */
  look(): number;
  cancel(slot: number, generation: number, first: number, count: number): void;
  /**
   * Cancels many requests. The list has `words` words. It lies in the submission area, which must be empty,
   * or in `submission` if memory is not shared. Each entry is a slot, its generation, the first request and a
   * count.
   */
  cancelMany(words: number, submission?: Int32Array): void;
  /** Drops a slab in which no request has a range. `addSlab` uses the lowest free number. */
  dropSlab(number: number): void;
  /**
   * Frees memory that a burst has left. Views of pages are stale afterwards, except of those that were handed
   * out since.
   */
  shrink(): void;
  page(id: number): ArrayBuffer;
  copyPage(id: number, target: Uint8Array): void;
  /**
   * An output that is too big for its page, without a copy; undefined if that is forbidden, or too much
   * memory is out.
   */
  takeLarge(page: number, number: number): ArrayBuffer | undefined;
  /** The size of that output in bytes. */
  largeBytes(page: number, number: number): number;
  /** Copies that output to `target`, which has its size. */
  copyLarge(page: number, number: number, target: Uint8Array): void;
  /** Gives a page back. False if it is not kept. */
  recycle(id: number): boolean;
  /**
   * Tells that a caller has read responses to a request of a decoupled model. The request may have ended.
   *
   * @param bytes - What they count: {@link streamedBytes} and their outputs.
   */
  read(slot: number, generation: number, position: number, responses: number, bytes: number): void;
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

/** The content of a model's folder; see `native/engine/server/model_folder.h`. */
export interface NativeFolder {
  /** Why the folder cannot be read; empty if it was. */
  readonly fault: string;
  /** An entry that no model may have; empty if there is none. */
  readonly refusal: string;
  readonly stamp: string;
  /** Names of the sub-folders, ascending by their bytes. */
  readonly folders: readonly string[];
  /** A file that was probably meant to be config.pbtxt, which there is none of; '' otherwise. */
  readonly misnamedConfig: string;
  /** The entries of the first version that has any. */
  readonly firstEntries: readonly { readonly name: string; readonly isDirectory: boolean }[];
  /**
   * At most one of the following is set: the bytes of config.pbtxt, why it cannot be read, or its size if it
   * is too large.
   */
  readonly config?: Uint8Array;
  readonly configFault?: string;
  readonly configSize?: number;
}

/** Bytes in native memory; see `native/binding/bytes_wrap.h`. */
export interface NativeBytes {
  /** The number of bytes; 0 after the release. */
  size(): number;
  /** Copies the bytes to memory that V8 owns. */
  copy(): Uint8Array;
  /** Releases them. Loads that were given them keep them until they end. */
  release(): void;
}

/** A server's engine; see `native/binding/server_wrap.h`. */
export interface NativeServer {
  id(): number;
  /**
   * Connects this environment. `onPages` is called with the number of pages of responses that the header
   * lists.
   */
  attach(onPages: (count: number) => void, external: boolean): NativePort | undefined;
  open(
    backend: string,
    name: string,
    version: number,
    path: string,
    settings: Readonly<Record<string, string>>,
    done: (error: NativeStatus | null, uid: number, description: NativeDescription) => void,
    /** The version's files. If they are given, `path` names one of them, and nothing is read from disk. */
    files?: Readonly<Record<string, NativeBytes>>,
  ): void;
  /** Lets a version serve. `done` may be called before this returns. */
  start(uid: number, config: NativeVersionConfig, done: (error: NativeStatus | null) => void): void;
  /** Adds an ensemble, which serves once it is bound. Returns its uid. */
  addEnsemble(name: string, plan: NativeEnsemblePlan, latencies: NativeLatencyPolicy): number;
  /** Binds an ensemble to the versions of its steps. Requests under way keep those that they began with. */
  bindEnsemble(uid: number, versions: readonly number[]): NativeStatus | null;
  /** Cancels loads that have not ended, and the reading of folders. */
  cancelLoads(): void;
  /**
   * Opens a backend's runtime on a loader thread, without a model. `done` gets what {@link NativeServer.info} says of the
   * library.
   */
  openRuntime(
    backend: string,
    settings: Readonly<Record<string, string>>,
    done: (error: NativeStatus | null, info: Readonly<Record<string, string>>) => void,
  ): void;
  /**
   * Asks the CUDA driver for its GPUs, once in a process, on a loader thread: it takes tenths of a second. `done` gets
   * null, or why the driver was not asked.
   */
  findGpus(done: (error: NativeStatus | null) => void): void;
  /** Opens NVIDIA's management library on a loader thread. */
  findNvml(done: (error: NativeStatus | null, found: NativeNvml) => void): void;
  /** Watches the GPUs that were found, from a thread of its own, until the server ends. */
  watchGpus(intervalMs: number): void;
  /**
   * Reads a folder on a loader thread. Its configuration is read only if the folder's stamp is not
   * `knownStamp`.
   */
  readFolder(
    model: string,
    path: string,
    mostConfigBytes: number,
    knownStamp: string,
    done: (error: NativeStatus | null, folder: NativeFolder) => void,
  ): void;
  /** Returns memory to the system that loading has left free in the allocator. */
  returnMemory(done: () => void): void;
  publish(name: string, json: string): void;
  withdraw(name: string): void;
  /**
   * What is published of a model; undefined for an unknown one. Without `json` its revision is
   * `knownRevision`.
   */
  read(
    name: string,
    knownRevision: number,
  ): { readonly revision: number; readonly json?: string } | undefined;
  modelNames(): string[];
  retire(uid: number, done: (abandoned: boolean) => void): void;
  /** Closes the server. `done` gets the names of abandoned models, 2 s after the limit at the latest. */
  close(timeoutMs: number, done: (abandoned: readonly string[]) => void): void;
  join(): void;
  statistics(uid: number): NativeStatistics | undefined;
  metrics(uid: number, quantiles: readonly number[]): NativeMetrics | undefined;
  batches(uid: number): NativeBatches | undefined;
  info(uid: number): Readonly<Record<string, string>> | undefined;
  inFlightBytes(): number;
}

/** An instance of a JavaScript model; see `native/binding/instance_wrap.h` for the words. */
export interface NativeInstance {
  /** Sets the memory for words and bytes, which JavaScript made. */
  setMemory(words: ArrayBuffer, bytes: ArrayBuffer): boolean;
  /** From now on it gets batches. */
  up(): void;
  /**
   * Takes the next batch. Its words are in the memory, and its large inputs in `objects`.
   *
   * @param spin - Whether to look for a batch for a moment, if that is worth it.
   * @returns The number of words, {@link instanceAsleep}, {@link instanceClosed}, {@link instanceNeedsMemory}
   *   or {@link instanceAgain}.
   */
  next(objects: unknown[], spin: boolean): number;
  /** Fails the batch that {@link next} needs memory for, because there is none. */
  refuse(): void;
  /**
   * Gives results of a batch.
   *
   * @param last - Whether the batch has ended.
   * @returns False if the words are malformed.
   */
  answer(slot: number, words: number, objects: readonly unknown[], last: boolean): boolean;
  /** Whether the caller of a request, which has no result yet, has given it up. */
  cancelled(slot: number, request: number): boolean;
  /** Tells that `execute` has returned from a batch whose responses follow. The instance may get another one. */
  part(slot: number): void;
  /**
   * How many responses may be sent to a request now, so that its caller has not too many to read. 0: none, and
   * the wake-up tells when the request is one of {@link readers}. -1: nobody reads.
   */
  room(slot: number, request: number): number;
  /**
   * Writes the requests that may go on to the memory: slot and position of each.
   *
   * @returns How many there are. -1: each one is to be looked at.
   */
  readers(): number;
  /** A number for calls that a request (-1: any) of a batch makes, until that ends; 0: it has ended. */
  caller(slot: number, request: number): number;
  /** Detaches large inputs. */
  detachBuffers(buffers: readonly ArrayBuffer[]): void;
  /** Ends the connection. What it has not answered fails. */
  detach(): void;
}

/** `NativeInstance.next`: there is no batch, and the wake-up will tell of one. */
export const instanceAsleep = 0;
/** `NativeInstance.next`: there will be no batch any more. */
export const instanceClosed = -1;
/** `NativeInstance.next`: the first two words of the memory say how many words and bytes the batch needs. */
export const instanceNeedsMemory = -2;
/** `NativeInstance.next`: the batch has ended meanwhile. Ask again. */
export const instanceAgain = -3;

/** A GPU, as the CUDA driver describes it. */
export interface NativeGpu {
  readonly name: string;
  /** As nvidia-smi writes it. */
  readonly uuid: string;
  readonly memoryBytes: number;
  /** The compute capability is major.minor. */
  readonly major: number;
  readonly minor: number;
  /** Why it cannot be used although the driver lists it; empty: it can. The rest may be empty then. */
  readonly fault: string;
}

/** The GPUs of this machine, as the CUDA driver lists them. */
export interface NativeGpus {
  /** By id. */
  readonly devices: readonly NativeGpu[];
  /** Why there is none, and what helps; empty if there is one. */
  readonly reason: string;
  /** The file of the driver; empty if there is none, or it offers no GPU. */
  readonly driver: string;
  /** The newest version of CUDA that the driver serves, as 1000 times the major and 10 times the minor number. */
  readonly cudaVersion: number;
}

/** NVIDIA's management library; see `native/device/nvml.h`. */
export interface NativeNvml {
  readonly path: string;
  readonly version: string;
  readonly driverVersion: string;
  /** Why it cannot be used; empty: it can. */
  readonly reason: string;
}

/** How a pool is used. */
export interface NativeGpuPool {
  readonly limitBytes: number;
  readonly usedBytes: number;
  /** How often memory without a pool had to do. */
  readonly plainBlocks: number;
}

/** See {@link NativeAddon.gpuPools}. */
export interface NativeGpuPools {
  readonly pinned: NativeGpuPool;
  readonly devices: readonly NativeGpuPool[];
}

/** What a GPU does. What it does not tell is absent. */
export interface NativeGpuSample {
  /** 0 to 1. */
  readonly utilization?: number;
  readonly memoryTotalBytes?: number;
  readonly memoryUsedBytes?: number;
  readonly powerWatts?: number;
  readonly powerLimitWatts?: number;
  /** Since the watch began. */
  readonly energyJoules?: number;
}

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

/** How an instance of a Python model shares memory with its process; `native/backends/python/channel.h`. */
export interface NativePythonOptions {
  /** What lists of the system call the memory. */
  readonly memoryName: string;
  readonly queueSize: number;
  /** Of what each side writes: at first, and in which steps it grows. */
  readonly initialBytes: number;
  readonly growthBytes: number;
  /** On how many cores of the process threads may spin. */
  readonly cores: number;
  /** Whether the memory is a file although the system has memory without one. */
  readonly inFile: boolean;
}

/** The channel of an instance of a Python model; see `native/binding/python_wrap.h`. */
export interface NativePython {
  /** Of the memory, for the process; -1: it was closed. */
  descriptor(): number;
  /** Of the memory of the version's inputs. */
  inputsDescriptor(): number;
  closeDescriptor(): void;
  /**
   * Begins.
   *
   * @param onBroken - Called once when the process has sent what cannot be.
   * @returns False: the instance is closed, or there is no thread for it.
   */
  start(onBroken: (reason: string) => void): boolean;
  /** The process takes batches. */
  up(): void;
  /** Asks the process to finalize and to end. */
  askToEnd(): void;
  /** Asks the process whether its model is ready, which it answers over its socket. */
  askReady(): void;
  /** The process is gone: what it has not answered fails. */
  stop(): void;
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
   * The environment has started a child process, the head of a group. When the environment ends before
   * {@link removeChild}, as a worker does that is terminated, the group is ended, and the child is waited for.
   */
  addChild(pid: number): void;
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
