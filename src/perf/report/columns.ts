/** A level's figures in perf_analyzer's columns. */

import { throughputOf, type Level } from '../measure/level.js';
import type { Part, ServerSide } from '../measure/server-side.js';

/** The percentiles of all reports. */
const percentiles = [50, 90, 95, 99] as const;

/** The percentiles of a run, ascending. */
export function percentilesOf(extra: number | undefined): readonly number[] {
  return [...new Set([...percentiles, ...(extra === undefined ? [] : [extra])])].sort((a, b) => a - b);
}

/** The mean parts of a request's way, in microseconds. */
export interface LatencyParts {
  readonly sendUs: number;
  readonly receiveUs: number;
  /** From the call to the answer, without sending and receiving. */
  readonly waitUs: number;
  /** Undefined if the server has no statistics. */
  readonly server:
    | {
        readonly requestUs: number;
        /** The part of the server's time that is in none of the others. */
        readonly overheadUs: number;
        readonly queueUs: number;
        readonly inputUs: number;
        readonly inferUs: number;
        readonly outputUs: number;
        readonly cacheHitUs: number;
        readonly cacheMissUs: number;
        /** The part of the wait outside of the server's measured time. */
        readonly networkUs: number;
      }
    | undefined;
}

/** The parts of a level. */
export function partsOf({ tally, server, composing }: Level): LatencyParts {
  const perRequest = (ms: number): number => (tally.requests > 0 ? (ms * 1000) / tally.requests : 0);
  const sendUs = perRequest(tally.sendMs);
  const receiveUs = perRequest(tally.receiveMs);
  const waitUs = Math.max(0, tally.latency.meanMs * 1000 - sendUs - receiveUs);
  if (server === undefined) return { sendUs, receiveUs, waitUs, server: undefined };
  const steps = [...composing.values()];
  const part = (name: Part): number => server.meanUs(name) || ofSteps(server, steps, name);
  const queueUs = part('queue');
  const inputUs = part('compute_input');
  const inferUs = part('compute_infer');
  const outputUs = part('compute_output');
  const requestUs = server.meanUs('success');
  const cacheHitUs = server.meanUs('cache_hit');
  const cacheMissUs = server.meanUs('cache_miss');
  const told = queueUs + inputUs + inferUs + outputUs + cacheHitUs + cacheMissUs;
  return {
    sendUs,
    receiveUs,
    waitUs,
    server: {
      requestUs,
      overheadUs: Math.max(0, requestUs - told),
      queueUs,
      inputUs,
      inferUs,
      outputUs,
      cacheHitUs,
      cacheMissUs,
      // Both sides are measured by different clocks, so that it may be less than nothing.
      networkUs: Math.max(0, waitUs - told),
    },
  };
}

/** The time that a request spends in the steps of an ensemble, whose own statistics may lack it. */
function ofSteps(server: ServerSide, steps: readonly ServerSide[], name: Part): number {
  const count = server.counts.success;
  return count > 0 ? steps.reduce((sum, step) => sum + step.ns[name], 0) / count / 1000 : 0;
}

/** What the columns depend on besides a level. */
export interface ColumnChoice {
  readonly percentile: number | undefined;
  readonly streaming: boolean;
  /** `--verbose-csv`. */
  readonly verbose: boolean;
  /** Whether the response cache answered requests, in any level. */
  readonly cache: boolean;
  /** Whether the server has statistics, in any level. */
  readonly server: boolean;
}

/** Chooses the columns for some levels. */
export function choiceOf(
  levels: readonly Level[],
  percentile: number | undefined,
  streaming: boolean,
  verbose: boolean,
): ColumnChoice {
  const cached = ({ server }: Level): boolean =>
    server !== undefined && server.counts.cache_hit + server.counts.cache_miss > 0;
  return {
    percentile,
    streaming,
    verbose,
    cache: levels.some(cached),
    server: levels.some(({ server }) => server !== undefined),
  };
}

/** A number in perf_analyzer's reports: microseconds are whole. */
type Cell = readonly [column: string, value: number];

/** The cells of a level, in perf_analyzer's order. */
export function cellsOf(level: Level, choice: ColumnChoice): readonly Cell[] {
  const { tally, mode, value } = level;
  const parts = partsOf(level);
  const { server } = parts;
  const us = Math.round;
  const none = choice.server ? 0 : undefined;
  const ofServer = (column: string, part: number | undefined): Cell[] => {
    const told = part ?? none;
    return told === undefined ? [] : [[column, us(told)]];
  };
  return [
    [mode === 'concurrency' ? 'Concurrency' : 'Request Rate', decimals(value)],
    ['Inferences/Second', decimals(throughputOf(level))],
    ...(choice.streaming
      ? [['Response Throughput', decimals(tally.responses / (tally.elapsedMs / 1000))] satisfies Cell]
      : []),
    ['Client Send', us(parts.sendUs)],
    ...ofServer('Network+Server Send/Recv', server?.networkUs),
    ...ofServer('Server Queue', server?.queueUs),
    ...ofServer('Server Compute Input', server?.inputUs),
    ...ofServer('Server Compute Infer', server?.inferUs),
    ...ofServer('Server Compute Output', server?.outputUs),
    ...(choice.cache
      ? [
          ...ofServer('Server Cache Hit', server?.cacheHitUs),
          ...ofServer('Server Cache Miss', server?.cacheMissUs),
        ]
      : []),
    ['Client Recv', us(parts.receiveUs)],
    ...percentilesOf(choice.percentile).map((percent): Cell => [
      `p${percent} latency`,
      us(tally.latency.percentileMs(percent) * 1000),
    ]),
    ...(choice.verbose
      ? ([
          // With a percentile, perf_analyzer leaves the mean out.
          ...(choice.percentile === undefined
            ? [['Avg latency', us(tally.latency.meanMs * 1000)] satisfies Cell]
            : []),
          ['request/response', us(parts.sendUs + parts.receiveUs)],
          ['response wait', us(parts.waitUs)],
        ] satisfies Cell[])
      : []),
  ];
}

function decimals(value: number): number {
  return Number(value.toFixed(value < 10 ? 3 : 2));
}
