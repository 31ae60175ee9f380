/** The figures of a load level: a number of requests at once, or a rate. */

import { significant } from '../plot/numbers.js';
import type { ProcessUse } from './process-usage.js';
import type { SliceFigures } from './recording.js';
import type { ServerSide } from './server-side.js';
import type { WindowFigures } from './stability.js';
import type { Tally } from './tally.js';

/** What the load is. */
export interface LevelLoad {
  readonly mode: 'concurrency' | 'request rate';
  /** Requests at once, or requests a second. */
  readonly value: number;
}

/** The measurement of a level. */
export interface Level extends LevelLoad {
  /** Whether the last windows agreed. */
  readonly stable: boolean;
  /** Whether a window was above the latency threshold. */
  readonly aboveThreshold: boolean;
  /** Whether the measurement was ended by a signal, or by a failed request, before it was complete. */
  readonly cut: boolean;
  /** The rows of a request. */
  readonly batch: number;
  /** The merged windows. */
  readonly tally: Tally;
  /** All windows, in the order measured. */
  readonly windows: readonly WindowFigures[];
  /** The slices of the merged windows. */
  readonly slices: readonly SliceFigures[];
  /** Undefined if the server has no statistics. */
  readonly server: ServerSide | undefined;
  /** Other models that take part, by name. */
  readonly composing: ReadonlyMap<string, ServerSide>;
  readonly use: ProcessUse;
}

/** A level in words: `concurrency 8`, or `500 requests/s`. */
export function levelText({ mode, value }: LevelLoad): string {
  return mode === 'concurrency' ? `concurrency ${value}` : `${significant(value)} requests/s`;
}

/** Inferences a second: rows of successful requests. */
export function throughputOf({ tally, batch }: Pick<Level, 'tally' | 'batch'>): number {
  return tally.requestRate * batch;
}

/** The latency that stability and the threshold are about, in milliseconds. */
export function decidingLatencyMs(tally: Tally, percentile: number | undefined): number {
  return percentile === undefined ? tally.latency.meanMs : tally.latency.percentileMs(percentile);
}
