/** A run as a JSON file, and back as far as `--compare` needs it. */

import { availableParallelism, cpus } from 'node:os';
import { show } from '../../argument-checks.js';
import { invalidArgument, TritonError } from '../../errors.js';
import { thrownText } from '../../thrown-text.js';
import { packageVersion } from '../../version.js';
import type { DurationHistogram } from '../measure/histogram.js';
import { throughputOf, type Level } from '../measure/level.js';
import type { SliceFigures } from '../measure/recording.js';
import type { ServerSide } from '../measure/server-side.js';
import type { PerfRun } from '../run.js';
import { cellsOf, choiceOf, partsOf, percentilesOf } from './columns.js';

/** A number of the file's form; it changes if a program that reads the old form would misread the new one. */
const format = 1;

const us = (ms: number): number => Number((ms * 1000).toFixed(3));

function durations(histogram: DurationHistogram, percentile: number | undefined): object | undefined {
  if (histogram.count === 0) return undefined;
  return {
    count: histogram.count,
    mean: us(histogram.meanMs),
    deviation: us(histogram.deviationMs),
    least: us(histogram.leastMs),
    greatest: us(histogram.greatestMs),
    ...Object.fromEntries(
      percentilesOf(percentile).map((one) => [`p${one}`, us(histogram.percentileMs(one))]),
    ),
  };
}

function serverOf(side: ServerSide): object {
  return {
    inferences: side.inferences,
    executions: side.executions,
    requests: side.counts.success,
    cacheHits: side.counts.cache_hit,
    queueUs: side.meanUs('queue'),
    inputUs: side.meanUs('compute_input'),
    inferUs: side.meanUs('compute_infer'),
    outputUs: side.meanUs('compute_output'),
    batches: Object.fromEntries([...side.batches].sort(([a], [b]) => a - b)),
  };
}

function levelOf(level: Level, { percentile, streaming }: PerfRun): object {
  const { tally, server, composing, use } = level;
  const choice = choiceOf([level], percentile, streaming, true);
  return {
    mode: level.mode,
    value: level.value,
    stable: level.stable,
    aboveThreshold: level.aboveThreshold,
    cut: level.cut,
    seconds: tally.elapsedMs / 1000,
    requests: tally.requests,
    responses: streaming ? tally.responses : undefined,
    sequences: tally.sequences > 0 ? tally.sequences : undefined,
    refused: [...tally.refused].map(([message, count]) => ({ message, count })),
    inferencesPerSecond: throughputOf(level),
    latencyUs: durations(tally.latency, percentile),
    firstResponseUs: durations(tally.first, percentile),
    betweenResponsesUs: durations(tally.gaps, percentile),
    latenessUs: durations(tally.lateness, percentile),
    partsUs: partsOf(level),
    columns: Object.fromEntries(cellsOf(level, choice)),
    server: server && serverOf(server),
    composing: Object.fromEntries([...composing].map(([name, side]) => [name, serverOf(side)])),
    process: {
      cores: use.cores,
      residentBytes: use.residentBytes,
      eventLoopDelayUs: durations(use.loopDelay, undefined),
    },
    windows: level.windows,
    slices: level.slices,
  };
}

/** The file's text. */
export function jsonOf(run: PerfRun): string {
  const { model, kind, place, batch, streaming, sequences, sharedMemory, percentile, levels, failure } = run;
  const value = {
    tool: 'tritonts perf',
    version: packageVersion,
    format,
    date: new Date().toISOString(),
    machine: {
      cpu: cpus()[0]?.model ?? '',
      cores: availableParallelism(),
      platform: `${process.platform}-${process.arch}`,
      node: process.version,
    },
    model,
    kind,
    place,
    batch,
    streaming,
    sequences,
    sharedMemory: sharedMemory ? 'system' : 'none',
    percentile,
    levels: levels.map((level) => levelOf(level, run)),
    ...(failure !== undefined && { error: errorOf(failure.error) }),
  };
  return `${JSON.stringify(value, undefined, 2)}\n`;
}

function errorOf(error: unknown): object {
  return error instanceof TritonError ? error.toJSON() : { message: thrownText(error) };
}

/** A level of another run. */
export interface ReadLevel {
  readonly mode: string;
  readonly value: number;
  readonly inferencesPerSecond: number;
  readonly slices: readonly SliceFigures[];
}

/** Another run. */
export interface ReadRun {
  readonly model: string;
  /** How its requests travelled; undefined: the file does not say. */
  readonly kind?: string | undefined;
  readonly batch: number;
  readonly levels: readonly ReadLevel[];
}

type Members = Readonly<Record<string, unknown>>;
const isObject = (value: unknown): value is Members =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/**
 * Reads a file that {@link jsonOf} has written.
 *
 * @param file - Its name, for errors.
 * @throws {@link TritonError} INVALID_ARG if the text has another form.
 */
export function readRun(file: string, text: string): ReadRun {
  const wrong = (what: string, value: unknown): Error =>
    invalidArgument(
      `--compare: ${file} is not a file of tritonts perf --json: expected ${what} but received ${show(value)}`,
    );
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw invalidArgument(`--compare: ${file} is not JSON: ${thrownText(cause)}`, { cause });
  }
  if (!isObject(value) || value['tool'] !== 'tritonts perf')
    throw wrong("an object with the tool 'tritonts perf'", value);
  if (value['format'] !== format) throw wrong(`format ${format}`, value['format']);
  const number = (member: unknown, name: string): number => {
    // JSON may have numbers that are too large, which become Infinity.
    if (typeof member === 'number' && Number.isFinite(member)) return member;
    throw wrong(`a finite number for '${name}'`, member);
  };
  const list = (member: unknown, name: string): readonly Members[] => {
    if (Array.isArray(member) && member.every(isObject)) return member;
    throw wrong(`a list of objects for '${name}'`, member);
  };
  return {
    model: String(value['model']),
    kind: typeof value['kind'] === 'string' ? value['kind'] : undefined,
    batch: number(value['batch'], 'batch'),
    levels: list(value['levels'], 'levels').map((level) => ({
      mode: String(level['mode']),
      value: number(level['value'], 'value'),
      inferencesPerSecond: number(level['inferencesPerSecond'], 'inferencesPerSecond'),
      slices: list(level['slices'], 'slices').map((slice) => ({
        requestsPerSecond: number(slice['requestsPerSecond'], 'requestsPerSecond'),
        meanMs: number(slice['meanMs'], 'meanMs'),
        p99Ms: number(slice['p99Ms'], 'p99Ms'),
      })),
    })),
  };
}
