/** How a version's last batches came about, and what limits its throughput. */

import type {
  NativeBatch,
  NativeBatches,
  NativeCacheCounts,
  NativeStatistics,
} from '../../addon/native/statistics.js';

/** Why a batch has no more requests, in the order of the engine's numbers (`ClosedBy`). */
const reasons = ['full', 'preferred', 'delay', 'shape', 'nothingMore', 'priority'] as const;

/**
 * Why a batch has no more requests:
 *
 * - 'full': it has `max_batch_size` rows, or the next request does not fit;
 * - 'preferred': it has a preferred size;
 * - 'delay': its first request has waited for `max_queue_delay_microseconds`;
 * - 'shape': what waits besides has another shape;
 * - 'nothingMore': nothing else waits;
 * - 'priority': what waits besides has another priority level, and may not overtake.
 *
 * @example
 * const reason: BatchReason = 'shape';
 */
export type BatchReason = (typeof reasons)[number];

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

/** What the verdict needs of a version's configuration. */
export interface BatchingConfig {
  readonly name: string;
  readonly version: string;
  /** 0: the model does not batch. */
  readonly maxBatchSize: number;
  /** Whether it has `dynamic_batching`. Without it every request is a batch. */
  readonly dynamic: boolean;
  /** Why it does not batch although it might, and what turns that on. */
  readonly unbatched?: string | undefined;
}

/** From this share of the time on, instances count as busy. */
const busyShare = 0.8;
/** From this share of max_batch_size on, batches count as large. */
const largeShare = 0.75;
/** How many of the last batches' sizes `console.log` shows. */
const mostShown = 12;

/**
 * What the cache and a version that uses it tell; undefined: there is no cache.
 *
 * @param up - Whether a cache outside of the engine answers.
 */
export function explainedCache(
  cache: NativeCacheCounts | undefined,
  version: NativeStatistics | undefined,
  up?: boolean,
): ExplainedCache | undefined {
  if (cache === undefined) return undefined;
  const own = { hits: version?.cacheHit.count ?? 0, misses: version?.cacheMiss.count ?? 0 };
  if ('size' in cache) return { ...own, used: round(cache.used / cache.size), evictions: cache.evictions };
  const { failed, unusable, dropped } = cache;
  return { ...own, ...(up !== undefined && { up }), failed, unusable, dropped };
}

/** What a registry tells of a lazy model. */
type ToldLazy = Omit<ExplainedLazy, 'idleMs'> & { readonly lastUseMs: number | undefined };

/** The same as the public type has it. */
export function explainedLazy(told: ToldLazy | undefined): ExplainedLazy | undefined {
  if (told === undefined) return undefined;
  const { state, pauseMs, bytes, lastUseMs, isPinned, loads, failedLoads, evictions, waits, waitedMs } = told;
  return {
    ...{ state, pauseMs },
    ...(bytes !== undefined && { bytes }),
    ...(lastUseMs !== undefined && { idleMs: Math.max(0, Date.now() - lastUseMs) }),
    ...{ isPinned, loads, failedLoads, evictions, waits, waitedMs },
  };
}

/** The explanation of a lazy model that is not loaded. */
export function explanationAsleep(
  name: string,
  version: string,
  lazy: ExplainedLazy | undefined,
): Explanation {
  const config: BatchingConfig = { name, version, maxBatchSize: 1, dynamic: false };
  const explanation = explanationOf(config, undefined, [], undefined, lazy);
  const summary = {
    loaded: 'The model is lazy, and was unloaded at this moment.',
    loading: 'The model is lazy, and requests wait for its load.',
    asleep: 'The model is lazy, and not loaded: the next request has it loaded.',
    failed: `The model is lazy, and its last load has failed: requests get its error for ${Math.ceil(lazy?.pauseMs ?? 0)} ms.`,
  }[lazy?.state ?? 'asleep'];
  return Object.defineProperty(explanation, 'summary', { value: summary, enumerable: true });
}

/** What a version tells of its batches, as {@link Explanation}; undefined: it is unloaded meanwhile. */
export function explanationOf(
  config: BatchingConfig,
  native: NativeBatches | undefined,
  resources: readonly ExplainedResource[],
  cache?: ExplainedCache,
  lazy?: ExplainedLazy,
): Explanation {
  const none: NativeBatches = { instances: 0, waiting: 0, held: 0, batches: [] };
  const { instances: count, waiting, held, sequences, batches: known } = native ?? none;
  const closedBy: Record<BatchReason, number> = {
    full: 0,
    preferred: 0,
    delay: 0,
    shape: 0,
    nothingMore: 0,
    priority: 0,
  };
  const batches = known.map(explained);
  for (const batch of batches) closedBy[batch.closedBy]++;
  const mean = (value: (batch: ExplainedBatch) => number): number =>
    batches.length === 0 ? 0 : batches.reduce((sum, batch) => sum + value(batch), 0) / batches.length;
  const idleNs = known.length === 0 ? 0 : Math.min(...known.map(({ endedAgoNs }) => endedAgoNs));
  const firstNs = Math.max(0, ...known.map(({ endedAgoNs, runNs }) => endedAgoNs + runNs));
  const runNs = known.reduce((sum, batch) => sum + batch.runNs, 0);
  const windowNs = firstNs - idleNs;
  const figures: Omit<Explanation, 'limit' | 'summary'> = {
    name: config.name,
    version: config.version,
    // An asynchronous instance may have several batches at a time.
    instances: { count, busy: windowNs > 0 ? round(Math.min(count, runNs / windowNs)) : 0 },
    waiting,
    held,
    resources,
    ...(sequences && { sequences }),
    ...(cache && { cache }),
    ...(lazy && { lazy }),
    windowUs: windowNs / 1000,
    idleUs: idleNs / 1000,
    maxBatchSize: Math.max(1, config.maxBatchSize),
    meanBatchSize: round(mean(({ size }) => size)),
    meanWaitUs: round(mean(({ waitUs }) => waitUs)),
    meanRunUs: round(mean(({ runUs }) => runUs)),
    closedBy,
    inline: batches.filter(({ inline }) => inline).length,
    batches,
  };
  const [limit, summary] = verdict(config, figures);
  const { name, version, ...rest } = figures;
  const explanation: Explanation = { name, version, limit, summary, ...rest };
  // 64 batches would hide the sentence. JSON and structuredClone have them all.
  Object.defineProperty(explanation, Symbol.for('nodejs.util.inspect.custom'), {
    value: () => ({ ...explanation, batches: shown(batches) }),
  });
  return explanation;
}

function explained(batch: NativeBatch): ExplainedBatch {
  const closedBy = reasons[batch.closedBy];
  if (closedBy === undefined) throw new RangeError(`the engine has a reason ${batch.closedBy} of batches`);
  return {
    size: batch.rows,
    requests: batch.requests,
    closedBy,
    left: batch.left,
    waitUs: batch.waitNs / 1000,
    runUs: batch.runNs / 1000,
    instance: batch.instance,
    inline: batch.inline,
    running: !batch.ended,
  };
}

function shown(batches: readonly ExplainedBatch[]): string {
  const last = batches.slice(-mostShown).map(({ size, closedBy }) => `${size} ${closedBy}`);
  return `${batches.length}${last.length > 0 ? `, the last: ${last.join(', ')}` : ''}`;
}

/** Three digits are enough for a mean. */
function round(value: number): number {
  return Math.round(value * 1000) / 1000;
}

function milliseconds(us: number): string {
  return `${Number((us / 1000).toPrecision(3))} ms`;
}

/** What limits throughput, and the sentence. */
function verdict(
  { maxBatchSize, dynamic, unbatched }: BatchingConfig,
  figures: Omit<Explanation, 'limit' | 'summary'>,
): [Explanation['limit'], string] {
  const { batches, instances, closedBy, waiting, held, windowUs, idleUs, meanBatchSize, meanWaitUs } =
    figures;
  if (held > 0) {
    const uses = figures.resources.map(({ name, inUse, count }) => `${inUse} of ${count} of '${name}'`);
    return [
      'resources',
      `${held} of ${instances.count} instances wait for resources. In use are ${uses.join(', ')}.`,
    ];
  }
  const { sequences } = figures;
  if (sequences && sequences.backlog > 0) {
    const { backlog, slots, idle } = sequences;
    return [
      'slots',
      `${backlog} sequences wait for one of ${slots} slots, and ${idle} of the sequences in them have no request: ` +
        'end sequences with END, shorten max_sequence_idle_microseconds, or configure more slots.',
    ];
  }
  if (batches.length === 0) {
    return waiting === 0
      ? ['nothing', 'No request has come yet.']
      : ['delay', `${waiting} requests wait, and no batch has begun: they wait for others to join them.`];
  }
  const busy = `${instances.busy} of ${instances.count} instances were busy over the last ${batches.length} batches`;
  if (idleUs > windowUs && idleUs > 0 && waiting === 0)
    return ['callers', `No batch has run for ${milliseconds(idleUs)}: the callers send nothing.`];
  if (instances.busy < busyShare * instances.count) {
    return closedBy.delay * 2 >= batches.length
      ? [
          'delay',
          `${busy}: requests wait ${milliseconds(meanWaitUs)} on average for others to join them, ` +
            `and ${closedBy.delay} batches ran when max_queue_delay_microseconds was over.`,
        ]
      : ['callers', `${busy}: the callers send too little to keep them busy.`];
  }
  const size = `their batches had ${meanBatchSize} of ${maxBatchSize} rows on average`;
  if (maxBatchSize <= 1)
    return [
      'instances',
      unbatched === undefined
        ? `${busy}, and the model takes one request at a time: add an instance, or a faster model.`
        : `${busy}, and the model takes one request at a time. ${unbatched}.`,
    ];
  if (meanBatchSize >= largeShare * maxBatchSize)
    return ['instances', `${busy}, and ${size}: add an instance, or a faster model.`];
  if (!dynamic)
    return ['batching', `${busy}, and ${size}: without dynamic_batching every request is a batch.`];
  // The first of those that are most frequent.
  const often = reasons.reduce((most, reason) => (closedBy[reason] > closedBy[most] ? reason : most));
  const because: Readonly<Record<BatchReason, string>> = {
    full: 'the next request did not fit',
    preferred: 'they had a preferred size',
    delay: 'max_queue_delay_microseconds was over',
    shape: 'the next request had another shape',
    nothingMore: 'nothing else waited, so the callers send too few at a time',
    priority: 'the next request had another priority level',
  };
  return ['batching', `${busy}, and ${size}: ${closedBy[often]} were closed because ${because[often]}.`];
}
