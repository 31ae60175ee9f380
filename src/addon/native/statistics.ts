/** What the engine counts of a version, and its last batches. */

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
