/** How long a window has to be for its latencies to be true. All functions are pure. */

/** With few callers, a window is at least as long as this many answers to each of them. */
const mostTurns = 4;
/** With many callers, this many. */
const leastTurns = 2;
/** So many answers in all are enough for percentiles. */
const enoughAnswers = 32;
/** A mean latency may differ by this share from the one of Little's law. */
const mostApart = 0.2;
/** In a window of so many answers to each caller, answers at its ends no longer matter. */
const longTurns = 10;

/** What a window has to say about itself. */
export interface WindowCounts {
  /** Requests that are under way at once. */
  readonly concurrency: number;
  /** Successful answers. */
  readonly requests: number;
  /** Refusals, which come without a latency. */
  readonly refusals: number;
  readonly elapsedMs: number;
  readonly meanMs: number;
}

/**
 * The length of a window.
 *
 * @param windowMs - The wanted length.
 * @param answerMs - The time between two answers to a caller; undefined: it is not known.
 */
export function windowLength(windowMs: number, concurrency: number, answerMs: number | undefined): number {
  const turns = Math.min(mostTurns, Math.max(leastTurns, enoughAnswers / concurrency));
  return Math.max(windowMs, turns * (answerMs ?? 0));
}

/** The time between two answers to a caller, by Little's law: callers by the rate of answers. */
export function turnMs({ concurrency, requests, elapsedMs }: WindowCounts): number {
  return (concurrency * elapsedMs) / Math.max(1, requests);
}

/**
 * Whether a window is long enough. In a closed loop the mean latency is the time between two answers to a caller. Where they
 * differ, the window saw only a part of a turn, such as the answers to the first callers of a queue.
 */
export function isSettled(counts: WindowCounts): boolean {
  const { concurrency, requests, refusals, meanMs } = counts;
  if (refusals > 0 || requests >= longTurns * concurrency) return true;
  const turn = turnMs(counts);
  return Math.abs(meanMs - turn) <= mostApart * turn;
}
