/** What the server says of a model's batches, and of what limits its throughput. */

/**
 * Why a batch has no more requests:
 *
 * - 'full': it has `max_batch_size` rows, or the next request does not fit;
 * - 'preferred': it has a preferred size;
 * - 'delay': its first request has waited for `max_queue_delay_microseconds`;
 * - 'shape': what waits besides has another shape;
 * - 'nothingMore': nothing else waits;
 * - 'priority': what waits besides has another priority level, and may not overtake;
 * - 'custom': the model's plug-in does not want the next request in it.
 *
 * @example
 * const reason: BatchReason = 'shape';
 */
export type BatchReason = 'full' | 'preferred' | 'delay' | 'shape' | 'nothingMore' | 'priority' | 'custom';

/**
 * A batch of {@link Explanation}.
 *
 * @example
 * const [{ size, closedBy, waitUs, runUs }] = server.explain('digits').batches;
 */
export interface ExplainedBatch {
  /** Its rows, or 1 for a model that does not batch. */
  readonly size: number;
  /** Its requests. */
  readonly requests: number;
  /** Why it has no more. */
  readonly closedBy: BatchReason;
  /** Requests that went on waiting when it was taken. */
  readonly left: number;
  /** How long its first request had waited when an instance took it, in microseconds. */
  readonly waitUs: number;
  /** How long its instance had it, with its halves if it failed, in microseconds; of one that runs, so far. */
  readonly runUs: number;
  /** The number of the instance, from 0. */
  readonly instance: number;
  /** Whether it ran on the JS thread that asked. */
  readonly inline: boolean;
  /** Whether it runs now. */
  readonly running: boolean;
}

/**
 * A resource of {@link Explanation}, which instances share (option `rateLimit`).
 *
 * @example
 * for (const { name, inUse, count } of server.explain('digits').resources) console.log(name, inUse, count);
 */
export interface ExplainedResource {
  /** Its name. */
  readonly name: string;
  /** The device that has it; undefined: it is global. */
  readonly device?: number | undefined;
  /** How many units there are. */
  readonly count: number;
  /** How many of them batches have now. */
  readonly inUse: number;
  /** Instances that wait now, of all models that need it. */
  readonly waiting: number;
}

/**
 * The sequences of {@link Explanation}, of a model with `sequence_batching`.
 *
 * @example
 * const { live, slots, backlog } = server.explain('speech').sequences ?? { live: 0, slots: 0, backlog: 0 };
 */
export interface ExplainedSequences {
  /** Sequences that can be under way at a time, over all instances. */
  readonly slots: number;
  /** Sequences that have a slot now. */
  readonly live: number;
  /** Of these, sequences without a request that waits or runs. They end after `max_sequence_idle_microseconds`. */
  readonly idle: number;
  /** Sequences that wait for a slot. */
  readonly backlog: number;
  /** Sequences that began since the version was loaded. */
  readonly begun: number;
  /** Of these, how many ended because no request came for `max_sequence_idle_microseconds`. */
  readonly idled: number;
  /** How many ended in the backlog, because the time-out of a request was over. */
  readonly expired: number;
  /** How many ended because a waiting request of them was cancelled. */
  readonly cancelled: number;
  /** How many ended because their state could not be kept, mostly for want of memory. */
  readonly broken: number;
  /** Memory of all their states, in bytes. */
  readonly stateBytes: number;
}

/**
 * The response cache of {@link Explanation}, of a model with `response_cache`.
 *
 * @example
 * const { hits, misses } = server.explain('digits').cache ?? { hits: 0, misses: 0 };
 */
export interface ExplainedCache {
  /** Requests to this version that the cache answered. They are in no batch. */
  readonly hits: number;
  /** Requests to this version that ran because the cache had no answer. */
  readonly misses: number;
  /** Of the local cache: how much of it the entries of all models occupy now, 0 to 1. */
  readonly used?: number | undefined;
  /** Of the local cache: entries of all models that made room for others. */
  readonly evictions?: number | undefined;
  /** Of another cache: whether its last look-up succeeded. Undefined on an attached server, too. */
  readonly up?: boolean | undefined;
  /** Of another cache: look-ups of all models that it did not answer, or not in time. */
  readonly failed?: number | undefined;
  /** Of another cache: values that it returned and that were no answer to the request, of all models. */
  readonly unusable?: number | undefined;
  /** Of another cache: answers of all models that were not stored, because it did not answer or was too slow. */
  readonly dropped?: number | undefined;
}

/**
 * A lazy model of {@link Explanation}: one that is loaded at its first request. Its counts are from the start of the server.
 *
 * @example
 * const { state, bytes } = server.explain('digits').lazy ?? { state: 'loaded', bytes: 0 };
 */
export interface ExplainedLazy {
  /**
   * - 'loaded': it is served;
   * - 'loading': requests wait for its load;
   * - 'asleep': the next request has it loaded;
   * - 'failed': its last load has failed, and requests get that error for `pauseMs`.
   */
  readonly state: 'loaded' | 'loading' | 'asleep' | 'failed';
  /** How long requests get the error of its last load without a new one, in milliseconds; 0 otherwise. */
  readonly pauseMs: number;
  /** The estimate of the memory that it takes, in bytes. Undefined without a memory budget, and before its first load. */
  readonly bytes?: number | undefined;
  /** How long ago it was used last, or loaded, in milliseconds; undefined: it is not loaded. */
  readonly idleMs?: number | undefined;
  /** Whether it stays loaded whatever the budget. */
  readonly isPinned: boolean;
  /** Loads that have ended well. */
  readonly loads: number;
  /** Loads that have failed. */
  readonly failedLoads: number;
  /** Unloads for the sake of other models. */
  readonly evictions: number;
  /** Waits of requests, and of `loadModel`, for its loads. */
  readonly waits: number;
  /** The time of these waits, in milliseconds. */
  readonly waitedMs: number;
}

/**
 * How the last batches of a model's version came about, and what limits its throughput. Triton has no counterpart.
 *
 * @example
 * const { limit, summary } = server.explain('digits');
 * if (limit === 'instances') console.log(summary);
 */
export interface Explanation {
  /** The model's name. */
  readonly name: string;
  /** The version, as text; of a lazy model that is not loaded the one that was asked for, or ''. */
  readonly version: string;
  /**
   * What limits throughput now:
   *
   * - 'nothing': no request has come yet, or the model is lazy and not loaded;
   * - 'callers': instances have nothing to do for most of the time;
   * - 'delay': they have nothing to do while requests wait for `max_queue_delay_microseconds`;
   * - 'batching': they are busy, and their batches are small;
   * - 'resources': they have batches that wait for resources which other instances have (option `rateLimit`);
   * - 'slots': sequences wait for a slot, and all slots have sequences;
   * - 'instances': they are busy, and their batches are as large as they get.
   */
  readonly limit: 'nothing' | 'callers' | 'delay' | 'batching' | 'resources' | 'slots' | 'instances';
  /** The same as a sentence, with the figures. */
  readonly summary: string;
  /** The instances. */
  readonly instances: {
    /** How many there are. */
    readonly count: number;
    /** How many of them had a batch on average, over {@link Explanation.windowUs}. */
    readonly busy: number;
  };
  /** Requests that wait now. */
  readonly waiting: number;
  /** Instances whose batch waits for resources of the rate limiter now. */
  readonly held: number;
  /** The resources of the rate limiter that the instances need; empty without one. */
  readonly resources: readonly ExplainedResource[];
  /** The sequences; undefined for a model without `sequence_batching`. */
  readonly sequences?: ExplainedSequences | undefined;
  /** The response cache; undefined for a model that does not use it, and without one. */
  readonly cache?: ExplainedCache | undefined;
  /** The loads of a lazy model; undefined for another one, and on an attached server. */
  readonly lazy?: ExplainedLazy | undefined;
  /** What `batches` span, in microseconds: from when the first was taken to the end of the last. */
  readonly windowUs: number;
  /** Since the last batch ended, in microseconds; 0 while one runs, and if there was none. */
  readonly idleUs: number;
  /** Rows that a batch may have, 1 for a model that does not batch. */
  readonly maxBatchSize: number;
  /** The mean of the sizes of `batches`, to three digits; 0 if there are none. */
  readonly meanBatchSize: number;
  /** The mean of their `waitUs`. */
  readonly meanWaitUs: number;
  /** The mean of their `runUs`. */
  readonly meanRunUs: number;
  /** How many of `batches` have no more requests for each reason. */
  readonly closedBy: Readonly<Record<BatchReason, number>>;
  /** How many of them ran on the JS thread that asked. */
  readonly inline: number;
  /** The last batches, at most 64, in the order in which they ended; then those that run, at most 64. */
  readonly batches: readonly ExplainedBatch[];
}
