/** Interleaved rounds: every contestant has a turn in each round, so that all run under the same conditions. */
import type { Contestant } from '../contestants/contestant.js';
import { difference, sum, type Histogram } from '../reports/histogram.js';
import { LoopDelay } from './loop-delay.js';
import { measure, type Load } from './measure.js';
import type { ContestantName, ContestantRow, DelayRow, Latency, OurName, Round } from '../reports/results.js';
import { estimate, median, ratio, type Estimate } from '../reports/statistics.js';

/** The contestants in the order of a round. No contestant is always first, or always follows the same other one. */
export function turnOrder<T>(contestants: readonly T[], round: number): T[] {
  const turn = round % Math.max(1, contestants.length);
  const order = [...contestants.slice(turn), ...contestants.slice(0, turn)];
  return round % 2 === 0 ? order : order.reverse();
}

/** The measurements of a contestant. */
interface Kept {
  readonly rounds: Round[];
  readonly batches: Histogram[];
}

/**
 * Measures all contestants under one load.
 *
 * @param progress - Called before each turn.
 */
export async function runLoad(
  contestants: readonly Contestant[],
  load: Load,
  rounds: number,
  progress: (text: string) => void,
): Promise<ContestantRow[]> {
  const kept = new Map<Contestant, Kept>(
    contestants.map((contestant) => [contestant, { rounds: [], batches: [] }]),
  );
  // Round -1 warms up compilers and caches, and is not kept.
  for (let round = -1; round < rounds; round++) {
    for (const contestant of turnOrder(contestants, round + 1)) {
      progress(`round ${Math.max(0, round + 1)} of ${rounds}: ${contestant.name}`);
      const turn = await takeTurn(contestant, round < 0 ? { ...load, windowMs: load.windowMs / 4 } : load);
      if (round < 0) continue;
      kept.get(contestant)?.rounds.push(turn.round);
      if (turn.batches) kept.get(contestant)?.batches.push(turn.batches);
    }
  }
  return [...kept].map(([contestant, { rounds: own, batches }]) => ({
    contestant: contestant.name,
    rounds: own,
    requestsPerSecond: estimate(own.map(rate)),
    latency: medianLatency(own),
    batches: batches.length > 0 ? sum(batches) : undefined,
    ratios: isOurs(contestant.name) ? {} : ratiosTo(kept, own),
  }));
}

/** Whether a contestant is tritonts. */
export function isOurs(name: ContestantName): name is OurName {
  return name === 'tritonts' || name === 'tritonts, inline off';
}

function ratiosTo(kept: ReadonlyMap<Contestant, Kept>, own: readonly Round[]): ContestantRow['ratios'] {
  const ratios: Partial<Record<OurName, Estimate>> = {};
  for (const [{ name }, { rounds }] of kept) {
    if (isOurs(name)) ratios[name] = ratio(rounds.map(rate), own.map(rate));
  }
  return ratios;
}

async function takeTurn(
  contestant: Contestant,
  load: Load,
): Promise<{ round: Round; batches: Histogram | undefined }> {
  if (contestant.kind === 'loop') {
    return { round: await contestant.measure(load.windowMs), batches: undefined };
  }
  const before = contestant.batches?.();
  const round = await measure(contestant, load);
  const after = contestant.batches?.();
  return { round, batches: before && after ? difference(after, before) : undefined };
}

function rate({ requestsPerSecond }: Round): number {
  return requestsPerSecond;
}

function medianLatency(rounds: readonly Round[]): Latency | undefined {
  const latencies = rounds.flatMap(({ latency }) => (latency ? [latency] : []));
  if (latencies.length === 0) return undefined;
  return {
    p50: median(latencies.map(({ p50 }) => p50)),
    p95: median(latencies.map(({ p95 }) => p95)),
    p99: median(latencies.map(({ p99 }) => p99)),
  };
}

/** A contestant at work, or none, while timers are measured. */
export interface DelayContestant {
  readonly name: DelayRow['contestant'];
  /** Works for about this time. */
  readonly work: (milliseconds: number) => Promise<unknown>;
}

/** Measures how late timers come while each contestant works. */
export async function runDelays(
  contestants: readonly DelayContestant[],
  what: Pick<DelayRow, 'model' | 'outstanding'>,
  milliseconds: number,
  rounds: number,
  progress: (text: string) => void,
): Promise<DelayRow[]> {
  const seen = contestants.map((contestant) => ({
    contestant,
    delays: [] as ReturnType<LoopDelay['stop']>[],
  }));
  for (let round = 0; round < rounds; round++) {
    for (const { contestant, delays } of turnOrder(seen, round)) {
      progress(`round ${round + 1} of ${rounds}: timers beside ${contestant.name}`);
      const watch = new LoopDelay();
      await contestant.work(milliseconds);
      delays.push(watch.stop());
    }
  }
  return seen.map(({ contestant, delays }) => ({
    ...what,
    contestant: contestant.name,
    p99: estimate(delays.map(({ p99 }) => p99)),
    longest: estimate(delays.map(({ longest }) => longest)),
    timeLine: delays.at(-1)?.samples ?? [],
  }));
}
