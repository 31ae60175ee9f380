/** Measures classifiers in turns, with all images asked for at once, over and over. */
import { LoopDelay } from '../../bench/loop-delay.js';
import { ascending, median, percentile } from '../../bench/statistics.js';
import type { Classifier } from './classifiers.js';
import type { Digit } from './data.js';

/** How one classifier did; milliseconds. */
export interface Comparison {
  readonly name: string;
  /** Median of the rounds. */
  readonly requestsPerSecond: number;
  /** From call to answer, over all rounds. */
  readonly p50: number;
  readonly p95: number;
  readonly p99: number;
  /** The longest that a timer of the event loop had to wait. */
  readonly longestStall: number;
}

/** How long to measure. */
export interface Turns {
  /** Turns of each classifier. */
  readonly rounds: number;
  /** Length of a turn at least; it ends with the answers to all images. */
  readonly turnMs: number;
}

/** What the turns of one classifier left. */
class Kept {
  readonly rates: number[] = [];
  readonly latencies: number[] = [];
  longestStall = 0;
}

/** Asks for all images at once; resolves with the digits. */
export function classifyAll(classifier: Classifier, digits: readonly Digit[]): Promise<number[]> {
  return Promise.all(digits.map((digit) => classifier.classify(digit)));
}

/** How many answers are right. */
export function countRight(answers: readonly number[], digits: readonly Digit[]): number {
  return digits.filter(({ label }, i) => label === answers[i]).length;
}

/**
 * Compares classifiers: in each round every one has a turn, so that all meet the same machine.
 *
 * @param progress - Told before each turn.
 */
export async function compare(
  classifiers: readonly Classifier[],
  digits: readonly Digit[],
  { rounds, turnMs }: Turns,
  progress: (text: string) => void = () => undefined,
): Promise<Comparison[]> {
  const all = classifiers.map((classifier) => ({ classifier, kept: new Kept() }));
  // Once unmeasured: for compilers and caches.
  for (const { classifier } of all) await classifyAll(classifier, digits);
  for (let round = 1; round <= rounds; round++) {
    for (const { classifier, kept } of all) {
      progress(`round ${round} of ${rounds}: ${classifier.name}`);
      await takeTurn(classifier, digits, turnMs, kept);
    }
  }
  return all.map(({ classifier, kept }) => {
    const latencies = ascending(kept.latencies);
    return {
      name: classifier.name,
      requestsPerSecond: median(kept.rates),
      p50: percentile(latencies, 0.5),
      p95: percentile(latencies, 0.95),
      p99: percentile(latencies, 0.99),
      longestStall: kept.longestStall,
    };
  });
}

async function takeTurn(
  classifier: Classifier,
  digits: readonly Digit[],
  turnMs: number,
  kept: Kept,
): Promise<void> {
  const ask = async (digit: Digit): Promise<void> => {
    const asked = performance.now();
    await classifier.classify(digit);
    kept.latencies.push(performance.now() - asked);
  };
  const watch = new LoopDelay();
  const start = performance.now();
  let answers = 0;
  let now = start;
  do {
    await Promise.all(digits.map(ask));
    answers += digits.length;
    now = performance.now();
  } while (now < start + turnMs);
  kept.rates.push((1000 * answers) / (now - start));
  kept.longestStall = Math.max(kept.longestStall, watch.stop().longest);
}
