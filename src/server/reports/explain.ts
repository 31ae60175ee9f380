/** How a version's last batches came about, and what limits its throughput. */

import type {
  NativeBatch,
  NativeBatches,
  NativeCacheCounts,
  NativeStatistics,
} from '../../addon/native/statistics.js';
import type {
  BatchReason,
  ExplainedBatch,
  ExplainedCache,
  ExplainedLazy,
  ExplainedResource,
  Explanation,
} from '../../api/explanation.js';

/** Why a batch has no more requests, in the order of the engine's numbers (`ClosedBy`). */
const reasons: readonly BatchReason[] = [
  'full',
  'preferred',
  'delay',
  'shape',
  'nothingMore',
  'priority',
  'custom',
];

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
  /** How it runs more slowly than it might, and what makes it faster. */
  readonly detour?: string | undefined;
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
    custom: 0,
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
  const [limit, sentence] = verdict(config, figures);
  // Busy instances are the reason to look for a faster way.
  const isSlow = config.detour !== undefined && (limit === 'instances' || limit === 'batching');
  const summary = isSlow ? `${sentence} Besides, ${config.detour}.` : sentence;
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
    custom: 'the plug-in did not want the next request with them',
  };
  return ['batching', `${busy}, and ${size}: ${closedBy[often]} were closed because ${because[often]}.`];
}
