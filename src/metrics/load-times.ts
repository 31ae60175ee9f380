/** How long the phases of loads took, for the metrics of the server that loads. */

import type { NativeServer } from '../addon/native/server.js';

/**
 * The phases, in their order:
 * - listing: a repository is asked for its models, also by polls;
 * - reading: a model's configuration is read, and which versions it has;
 * - agents: the repository agents that it names prepare its files;
 * - download: its files are made local. Those of a folder are, already;
 * - open: a version's file is opened by its runtime, or its processes and threads start;
 * - start: its instances are made, and warmed up.
 */
export const loadPhases = ['listing', 'reading', 'agents', 'download', 'open', 'start'] as const;

/** One of {@link loadPhases}. */
export type LoadPhase = (typeof loadPhases)[number];

/** The upper bounds of the buckets, in seconds. */
export const loadBounds: readonly number[] = [0.001, 0.01, 0.1, 1, 10, 60, 600];

/** What was counted of a phase. */
export interface PhaseTimes {
  /** One more than there are bounds. */
  readonly counts: number[];
  /** Seconds. */
  sum: number;
}

/** The times of a server's loads. */
export type LoadTimes = ReadonlyMap<LoadPhase, PhaseTimes>;

const timesOfServers = new WeakMap<NativeServer, LoadTimes>();

/** The times of a server's loads; undefined before its first load, and for a server that is only attached. */
export function loadTimesOf(server: NativeServer): LoadTimes | undefined {
  return timesOfServers.get(server);
}

/** Does a part of a load, and counts how long it took, also if it fails. */
export async function timed<T>(server: NativeServer, phase: LoadPhase, work: () => Promise<T>): Promise<T> {
  const begun = performance.now();
  try {
    return await work();
  } finally {
    note(server, phase, (performance.now() - begun) / 1000);
  }
}

function note(server: NativeServer, phase: LoadPhase, seconds: number): void {
  let times = timesOfServers.get(server);
  if (!times) {
    times = new Map(
      loadPhases.map((one) => [one, { counts: Array<number>(loadBounds.length + 1).fill(0), sum: 0 }]),
    );
    timesOfServers.set(server, times);
  }
  const of = times.get(phase);
  if (!of) return;
  const bucket = loadBounds.findIndex((bound) => seconds <= bound);
  const at = bucket < 0 ? loadBounds.length : bucket;
  of.counts[at] = (of.counts[at] ?? 0) + 1;
  of.sum += seconds;
}
