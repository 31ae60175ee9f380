/**
 * The dynamic batcher's rules, written down a second time and in another way than the engine has them: what an idle
 * instance takes of the requests that wait, and what becomes of those that run together.
 */

import type { TritonErrorCode } from '../../src/index.js';
import type { FaultName } from '../faults/harness.js';

/** What a batcher is configured with. */
export interface Policy {
  readonly maxBatchSize: number;
  /** Sizes to which a batch is cut; empty: `maxBatchSize` alone. Undefined: no batching, each request runs alone. */
  readonly preferred: readonly number[] | undefined;
  /** How long requests may wait for company: not at all, for longer than the test, or that time is over for all that wait. */
  readonly delay: 'none' | 'endless' | 'over';
}

/** What the rules look at in a request. */
export interface Waiting {
  readonly rows: number;
  /** Equal for requests that may run together. */
  readonly shape: string;
}

/** How many requests an idle instance takes from the head of the queue; 0: it waits for more. */
export function nextBatch(queue: readonly Waiting[], policy: Policy): number {
  const [first] = queue;
  if (!first || !policy.preferred) return queue.length === 0 ? 0 : 1;
  const { maxBatchSize, delay } = policy;
  const preferred = policy.preferred.length === 0 ? [maxBatchSize] : policy.preferred;
  const other = queue.findIndex(({ shape }) => shape !== first.shape);
  const sums: number[] = [];
  for (const { rows } of other < 0 ? queue : queue.slice(0, other)) sums.push((sums.at(-1) ?? 0) + rows);
  const fitting = sums.filter((sum) => sum <= maxBatchSize);
  const best = fitting.findLastIndex((sum) => preferred.includes(sum)) + 1;
  if (best > 0 && delay !== 'over') return best;
  const full = (fitting.at(-1) ?? 0) >= Math.max(...preferred);
  const waits = delay === 'endless' && !full && fitting.length === queue.length;
  return waits ? 0 : fitting.length;
}

/** Takes batches from the head of `queue` until it is empty, or what is left waits for more. */
export function takeBatches<T extends Waiting>(queue: T[], policy: Policy): T[][] {
  const batches: T[][] = [];
  for (let count = nextBatch(queue, policy); count > 0; count = nextBatch(queue, policy)) {
    batches.push(queue.splice(0, count));
  }
  return batches;
}

/** How a fault ends its own request, whatever runs with it; undefined: with an answer. */
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

/** How a run ends that throws, for all of it that has no answer by then. */
export const thrownEnd: Readonly<Partial<Record<FaultName, TritonErrorCode>>> = {
  throws: 'INTERNAL',
  throws_other: 'INTERNAL',
  lacks_memory: 'UNAVAILABLE',
};

/** What each request of a batch comes to, in order; undefined: an answer. */
export function endsOf(batch: readonly { readonly fault: FaultName }[]): (TritonErrorCode | undefined)[] {
  // What concerns the whole run happens after the others have their answers, in the order of the batch.
  const thrower = batch.findIndex(({ fault }) => fault in thrownEnd);
  const rest = thrownEnd[batch[thrower]?.fault ?? 'none'] ?? 'INTERNAL';
  return batch.map(({ fault }, position) => {
    if (fault in ownEnd) return ownEnd[fault];
    if (fault === 'slow' && (thrower < 0 || position < thrower)) return undefined;
    return rest;
  });
}
