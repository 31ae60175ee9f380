/** Trace settings that clients may read and change, under Triton's names and with its texts. */

import { invalidArgument, TritonError } from '../../errors.js';
import { printableLine } from '../../printable.js';
import type { TraceSetting, TraceUpdate, Tracing } from '../../server/trace/server-trace.js';
import { mostTraceCount, mostTraceRate, type TraceLevel } from '../../trace-config.js';

/** Changes that clients may make. */
export type TraceChanges = Omit<TraceUpdate, 'file'>;

/** The settings of Triton's calls: texts, and a list of the levels. */
export type TraceReply = Readonly<Record<string, string | readonly string[]>>;

/** Changes trace settings for endpoints whose own `InferenceServer` cannot. */
export interface TraceControl {
  /**
   * Changes the given settings, and returns all settings.
   *
   * @param changes - Undefined: only read the settings.
   * @param model - Undefined: those of all models without their own.
   */
  change(changes: TraceChanges | undefined, model: string | undefined): TraceSetting | Promise<TraceSetting>;
}

/** What changes the settings of the server itself. */
export function controlOf(tracing: Tracing): TraceControl {
  return {
    change: (changes, model) =>
      changes === undefined ? tracing.settings(model) : tracing.update(changes, model),
  };
}

/** A name with its values; null: clear the setting. */
export type GivenSetting = readonly [name: string, values: readonly string[] | null];

/**
 * Reads changes. As in Triton, unknown names are ignored, and the file cannot be changed.
 *
 * @throws {@link TritonError} INVALID_ARG for wrong values, UNSUPPORTED for the file.
 */
export function readTraceChanges(given: Iterable<GivenSetting>): TraceChanges {
  const changes: { -readonly [K in keyof TraceChanges]: TraceChanges[K] } = {};
  for (const [name, values] of given) {
    switch (name) {
      case 'trace_file':
        throw new TritonError(
          'UNSUPPORTED',
          'trace file location can not be updated through network protocol',
        );
      case 'trace_level': {
        const levels = values === null ? null : readLevels(values);
        if (levels !== undefined) changes.level = levels;
        break;
      }
      case 'trace_rate':
        changes.rate = values === null ? null : readNumber(name, values, 0, mostTraceRate);
        break;
      case 'trace_count':
        changes.count = values === null ? null : readNumber(name, values, -1, mostTraceCount);
        break;
      case 'log_frequency':
        changes.logFrequency = values === null ? null : readNumber(name, values, 0, mostTraceRate);
    }
  }
  return changes;
}

/** The known levels of a list; undefined if there is none, which changes nothing. */
function readLevels(values: readonly string[]): readonly TraceLevel[] | undefined {
  if (values.includes('OFF') && values.length > 1)
    throw invalidArgument("Expect only one trace level 'OFF' is specified");
  const known = (['OFF', 'TIMESTAMPS', 'TENSORS'] as const).filter((level) => values.includes(level));
  return known.length === 0 ? undefined : known;
}

/** The smallest value of a C++ int: what is below it, Triton does not call a count. */
const leastInt = -(2 ** 31);

function readNumber(name: string, values: readonly string[], least: number, most: number): number {
  const [text = ''] = values;
  if (values.length !== 1) throw invalidArgument(`expect only 1 value for '${name}'`);
  // As in Triton, what follows the digits does not count.
  const digits = /^\s*([+-]?\d+)/.exec(text)?.[1];
  const got = `got: ${printableLine(text.slice(0, 256))}`;
  if (digits === undefined) throw invalidArgument(`Unable to parse '${name}', ${got}`);
  const value = Number(digits);
  if (name === 'trace_count' && value < least && value >= leastInt)
    throw invalidArgument(`Unable to parse '${name}'. Expecting value >= -1, ${got}`);
  if (value < least || value > most) {
    throw invalidArgument(`Unable to parse '${name}', value is out of range [ ${least}, ${most} ], ${got}`);
  }
  return value + 0; // -0 is 0.
}

/** The settings as Triton's calls return them, in its order. */
export function traceReply(setting: TraceSetting): TraceReply {
  const { level, rate, count, mode, file, logFrequency, openTelemetry } = setting;
  const common = { trace_level: level, trace_rate: `${rate}`, trace_count: `${count}` };
  if (mode === 'triton')
    return { ...common, log_frequency: `${logFrequency}`, trace_file: file, trace_mode: mode };
  if (openTelemetry === undefined) return { ...common, trace_mode: mode };
  const resource = Object.entries(openTelemetry.resource).map(([key, value]) => `${key}=${value}`);
  return {
    ...common,
    trace_mode: mode,
    bsp_max_export_batch_size: `${openTelemetry.maxExportBatchSize}`,
    bsp_max_queue_size: `${openTelemetry.maxQueueSize}`,
    bsp_schedule_delay: `${openTelemetry.scheduleDelayMs}`,
    resource: resource.join(','),
    url: openTelemetry.url,
  };
}
