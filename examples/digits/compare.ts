/** Measures classifiers in turns: callers who each ask for their next item when they have the answer for the last. */
import { LoopDelay } from '../../bench/measuring/loop-delay.js';
import { ascending, median, percentile } from '../../bench/reports/statistics.js';
import type { Digit } from './data.js';

/** Something that can be asked again and again. */
export interface Contestant<Item, Answer = unknown> {
  readonly name: string;
  classify(item: Item): Promise<Answer>;
}

/** The results of a classifier, in milliseconds. */
export interface Comparison {
  readonly name: string;
  /** Median of the rounds. */
  readonly requestsPerSecond: number;
  /** From call to answer, over all rounds. */
  readonly p50: number;
  readonly p99: number;
  /** How late timers of the event loop were, over all rounds. */
  readonly lateP50: number;
  readonly lateP99: number;
  readonly longestStall: number;
}

/** How long to measure, and with how many callers. */
export interface Turns {
  /** Callers at work at the same time. */
  readonly callers: number;
  /** Turns of each classifier. */
  readonly rounds: number;
  /** Length of a turn at least; it ends with the answers to what was asked until then. */
  readonly turnMs: number;
}

/** The measurements of a classifier. */
class Kept {
  readonly rates: number[] = [];
  readonly latencies: Latencies = new Latencies();
  readonly late: number[] = [];
}

/** Times in memory outside of V8's heap: an array of numbers that grows would be collected while we measure. */
class Latencies {
  #values = new Float64Array(1 << 20);
  #count = 0;

  add(value: number): void {
    if (this.#count === this.#values.length) {
      const longer = new Float64Array(2 * this.#count);
      longer.set(this.#values);
      this.#values = longer;
    }
    this.#values[this.#count++] = value;
  }

  sorted(): Float64Array {
    return ascending(this.#values.subarray(0, this.#count));
  }
}

/** Asks about all items at once; resolves with the answers. */
export function classifyAll<Item, Answer>(
  classifier: Contestant<Item, Answer>,
  items: readonly Item[],
): Promise<Answer[]> {
  return Promise.all(items.map((item) => classifier.classify(item)));
}

/** The number of right answers. */
export function countRight(answers: readonly number[], digits: readonly Digit[]): number {
  return digits.filter(({ label }, i) => label === answers[i]).length;
}

/**
 * Compares classifiers. Each has a turn in every round, so that all meet the same machine.
 *
 * @param progress - Called before each turn.
 */
export async function compare<Item>(
  classifiers: readonly Contestant<Item>[],
  items: readonly Item[],
  turns: Turns,
  progress: (text: string) => void = () => undefined,
): Promise<Comparison[]> {
  const all = classifiers.map((classifier) => ({ classifier, kept: new Kept() }));
  // A first, unmeasured run warms up compilers and caches.
  for (const { classifier } of all) await classifyAll(classifier, items);
  for (let round = 1; round <= turns.rounds; round++) {
    for (const { classifier, kept } of all) {
      progress(`round ${round} of ${turns.rounds}: ${classifier.name}`);
      await takeTurn(classifier, items, turns, kept);
    }
  }
  return all.map(({ classifier, kept }) => {
    const latencies = kept.latencies.sorted();
    const late = ascending(kept.late);
    return {
      name: classifier.name,
      requestsPerSecond: median(kept.rates),
      p50: percentile(latencies, 0.5),
      p99: percentile(latencies, 0.99),
      lateP50: percentile(late, 0.5),
      lateP99: percentile(late, 0.99),
      longestStall: percentile(late, 1),
    };
  });
}

async function takeTurn<Item>(
  classifier: Contestant<Item>,
  items: readonly Item[],
  { callers, turnMs }: Turns,
  kept: Kept,
): Promise<void> {
  const watch = new LoopDelay();
  const start = performance.now();
  const end = start + turnMs;
  let answers = 0;
  const call = async (first: number): Promise<void> => {
    let next = first;
    let asked = performance.now();
    // A turn may be over before the last caller begins. Each asks once at least.
    do {
      const item = items[next % items.length];
      if (item === undefined) throw new RangeError('there is nothing to ask about');
      await classifier.classify(item);
      const answered = performance.now();
      kept.latencies.add(answered - asked);
      answers += 1;
      asked = answered;
      next += callers;
    } while (asked < end);
  };
  await Promise.all(Array.from({ length: callers }, (_, caller) => call(caller)));
  kept.rates.push((1000 * answers) / (performance.now() - start));
  for (const { late } of watch.stop().samples) kept.late.push(late);
}
