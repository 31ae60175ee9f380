/** The engine's counters of a version, and its last batches. */

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
  /** Not part of `fail`: requests that were never accepted, mostly because the queue was full. */
  readonly refused: number;
  /** Part of `executionCount`: runs of half a batch that had failed as a whole. */
  readonly reruns: number;
  readonly success: NativeDuration;
  readonly fail: NativeDuration;
  readonly queue: NativeDuration;
  readonly computeInput: NativeDuration;
  readonly computeInfer: NativeDuration;
  readonly computeOutput: NativeDuration;
  /** Part of `success`: requests that the response cache answered. */
  readonly cacheHit: NativeDuration;
  readonly cacheMiss: NativeDuration;
  readonly batches: readonly {
    readonly batchSize: number;
    readonly computeInput: NativeDuration;
    readonly computeInfer: NativeDuration;
    readonly computeOutput: NativeDuration;
  }[];
  /** Indexed by the number of the response within its request; empty unless the version is decoupled. */
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

/** A response cache outside of the engine; see `native/engine/cache/remote_cache.h`. Counted from the server's start. */
export interface NativeRemoteCacheCounts {
  readonly hits: number;
  readonly misses: number;
  /** Part of the misses: what was stored was no answer to the request. */
  readonly unusable: number;
  /** Look-ups without a result. */
  readonly failed: number;
  /** Answers that were not stored, because the cache did not answer, or too many waited for it. */
  readonly dropped: number;
  readonly lookupNs: number;
  /** Whether it is a plug-in of Triton, which has metrics of its own. */
  readonly plugin: boolean;
}

/** The local response cache; see `native/engine/cache/local_cache.h`. */
export interface NativeLocalCacheCounts {
  /** The most bytes of its entries. */
  readonly size: number;
  /** The bytes of its entries. */
  readonly used: number;
  readonly entries: number;
  /** These are counted from the server's start. */
  readonly hits: number;
  readonly misses: number;
  readonly evictions: number;
  readonly lookupNs: number;
  readonly insertionNs: number;
}

/** Counters of a version's instances. */
export interface NativeInstanceMetrics {
  readonly statistics: NativeStatistics;
  /** Counts by class, for one phase after the other; empty if no histograms are kept. */
  readonly latencies: readonly number[];
  /** Counts by class; empty if no histogram is kept. */
  readonly firstResponses: readonly number[];
  /** The sum over all first responses, in milliseconds. */
  readonly firstResponseMs: number;
  /** The requested quantiles for each phase, in nanoseconds; empty if none are kept. */
  readonly quantiles: readonly number[];
}

/** A version's sequences; see `native/engine/scheduling/sequence_counts.h`. */
export interface NativeSequences {
  readonly slots: number;
  readonly live: number;
  readonly idle: number;
  readonly backlog: number;
  /** These are counted from the version's start. */
  readonly begun: number;
  readonly idled: number;
  readonly expired: number;
  readonly cancelled: number;
  readonly broken: number;
  readonly stateBytes: number;
}

/**
 * The numbers behind a version's metrics. Its own counters cover the instances on the CPU, and requests that no
 * instance received.
 */
export interface NativeMetrics extends NativeInstanceMetrics {
  /** Requests that are in no run. */
  readonly pending: number;
  /** Undefined: the model has no sequences. */
  readonly sequences: NativeSequences | undefined;
  /** Counters of the instances on each GPU. */
  readonly gpus: readonly (NativeInstanceMetrics & { readonly device: number })[];
}

/** How a batch was formed; see `native/engine/statistics/batch_log.h`. */
export interface NativeBatch {
  readonly rows: number;
  readonly requests: number;
  /** Requests that kept waiting when the batch was taken. */
  readonly left: number;
  readonly instance: number;
  /** Number of the reason in `ClosedBy` of `native/engine/scheduling/scheduler.h`. */
  readonly closedBy: number;
  readonly inline: boolean;
  /** Whether the batch's run is done. If not, `runNs` is the time so far. */
  readonly ended: boolean;
  readonly waitNs: number;
  /** Counted from when the instance received the batch. */
  readonly runNs: number;
  readonly endedAgoNs: number;
}

/** A resource of the rate limiter. */
export interface NativeResource {
  readonly name: string;
  /** Undefined: the resource is global. */
  readonly device?: number | undefined;
  readonly count: number;
  readonly inUse: number;
  /** Instances that wait, of those that need it. */
  readonly waiting: number;
}

/** A version's latest batches. */
export interface NativeBatches {
  readonly instances: number;
  /** Requests that are in no run. */
  readonly waiting: number;
  /** Instances whose batch waits at the rate limiter. */
  readonly held: number;
  /** Undefined: the model has no sequences. */
  readonly sequences?: NativeSequences | undefined;
  /** Batches that are done, ordered by when they ended, earliest first; then running batches. */
  readonly batches: readonly NativeBatch[];
}

/** See the two. */
export type NativeCacheCounts = NativeLocalCacheCounts | NativeRemoteCacheCounts;
