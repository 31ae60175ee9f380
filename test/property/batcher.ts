/**
 * The rules of the dynamic batcher, written a second time and differently from the engine: which waiting
 * requests an idle instance takes, and the outcomes of requests that run together.
 */

import type { TritonErrorCode } from '../../src/index.js';
import type { FaultName } from '../faults/harness.js';

/** The configuration of a batcher. */
export interface Policy {
  readonly maxBatchSize: number;
  /**
   * Sizes that a batch is cut to. An empty list means only `maxBatchSize`; undefined means that each request
   * runs alone.
   */
  readonly preferred: readonly number[] | undefined;
  /**
   * How long requests may wait for others: not at all, longer than the test, or a time that is over for all
   * that wait.
   */
  readonly delay: 'none' | 'endless' | 'over';
  /** Whether requests of other shapes are passed over. */
  readonly acrossShapes: boolean;
}

/** The facts about a request that the rules use. */
export interface Waiting {
  readonly rows: number;
  /** Requests with equal shapes may run together. */
  readonly shape: string;
}

/** The requests of the queue that an idle instance takes; none if it waits for more. */
export function nextBatch<T extends Waiting>(queue: readonly T[], policy: Policy): readonly T[] {
  const [first] = queue;
  if (!first || !policy.preferred) return queue.slice(0, 1);
  const { maxBatchSize, delay, acrossShapes } = policy;
  const preferred = policy.preferred.length === 0 ? [maxBatchSize] : policy.preferred;
  const other = queue.findIndex(({ shape }) => shape !== first.shape);
  const near = acrossShapes || other < 0 ? queue : queue.slice(0, other);
  const alike = near.filter(({ shape }) => shape === first.shape);
  const others = queue.filter(({ shape }) => shape !== first.shape);
  const sums: number[] = [];
  for (const { rows } of alike) sums.push((sums.at(-1) ?? 0) + rows);
  const fitting = sums.filter((sum) => sum <= maxBatchSize);
  const best = fitting.findLastIndex((sum) => preferred.includes(sum)) + 1;
  if (best > 0 && delay !== 'over') return alike.slice(0, best);
  const full = (fitting.at(-1) ?? 0) >= Math.max(...preferred);
  // Requests of other shapes close a batch at once, or across shapes when there are enough of them for a batch.
  const enough = acrossShapes ? Math.min(...preferred) : 1;
  const closed = fitting.length < alike.length || others.reduce((sum, { rows }) => sum + rows, 0) >= enough;
  return delay === 'endless' && !full && !closed ? [] : alike.slice(0, fitting.length);
}

/** Takes batches out of `queue` until it is empty, or until the rest waits for more. */
export function takeBatches<T extends Waiting>(queue: T[], policy: Policy): T[][] {
  const batches: T[][] = [];
  for (let batch = nextBatch(queue, policy); batch.length > 0; batch = nextBatch(queue, policy)) {
    batches.push([...batch]);
    for (const one of batch) queue.splice(queue.indexOf(one), 1);
  }
  return batches;
}

/** The outcome of a request with a fault, whatever runs with it; undefined: an answer. */
export const ownEnd: Readonly<Partial<Record<FaultName, TritonErrorCode | undefined>>> = {
  none: undefined,
  answers_twice: undefined,
  other_thread: undefined,
  wrong_request: undefined,
  fails: 'INTERNAL',
  unavailable: 'UNAVAILABLE',
  wrong_rows: 'INTERNAL',
  negative_dim: 'INTERNAL',
  unknown_output: 'INTERNAL',
  wrong_datatype: 'INTERNAL',
  too_few_bytes: 'INTERNAL',
  too_many_bytes: 'INTERNAL',
  allocates_too_much: 'UNAVAILABLE',
};

/** The outcome of all unanswered requests of a run that throws. */
export const thrownEnd: Readonly<Partial<Record<FaultName, TritonErrorCode>>> = {
  throws: 'INTERNAL',
  throws_other: 'INTERNAL',
  lacks_memory: 'UNAVAILABLE',
};

/** The outcomes of a batch's requests, in order; undefined: an answer. */
export function endsOf(batch: readonly { readonly fault: FaultName }[]): (TritonErrorCode | undefined)[] {
  // Faults of the whole run come after the other answers, in the order of the batch.
  const thrower = batch.findIndex(({ fault }) => fault in thrownEnd);
  const rest = thrownEnd[batch[thrower]?.fault ?? 'none'] ?? 'INTERNAL';
  return batch.map(({ fault }, position) => {
    if (fault in ownEnd) return ownEnd[fault];
    if (fault === 'slow' && (thrower < 0 || position < thrower)) return undefined;
    return rest;
  });
}
