/** Reads `--trace-config` and the flags that it replaces. */

import { invalidArgument } from '../../errors.js';
import {
  checkTraceConfig,
  mostTraceCount,
  mostTraceRate,
  type OpenTelemetryOptions,
  type TraceConfig,
  type TraceLevel,
} from '../../trace-config.js';
import { pair } from './pair.js';
import type { FlagValues } from './parse-flags.js';

const shape = '[mode,]setting=value';

/** What each of Triton's words for levels means, without regard to case. */
const levelWords: ReadonlyMap<string, TraceLevel> = new Map([
  ...['off', 'false'].map((word) => [word, 'OFF'] as const),
  ...['true', 'on', 'min', 'max', 'timestamps'].map((word) => [word, 'TIMESTAMPS'] as const),
  ['tensors', 'TENSORS'],
]);

/** The settings of a mode: of `[mode,]setting=value`, with repeats in order. */
type Given = ReadonlyMap<string, readonly string[]>;

function levelOf(flag: string, text: string): TraceLevel {
  const level = levelWords.get(text.toLowerCase());
  if (level !== undefined) return level;
  throw invalidArgument(`expected OFF, TIMESTAMPS or TENSORS for --${flag} but received '${text}'`);
}

function numberOf(flag: string, text: string, least: number, most: number): number {
  const value = /^-?\d{1,15}$/.test(text) ? Number(text) : NaN;
  if (value >= least && value <= most) return value;
  throw invalidArgument(`expected an integer from ${least} to ${most} for --${flag} but received '${text}'`);
}

/** Puts the flags in the order of their modes. Settings that nothing reads are ignored, as in Triton. */
function given(values: FlagValues, ignored: string[]): Given {
  const known = new Set([
    ...['level', 'rate', 'count', 'mode', 'triton,file', 'triton,log-frequency'],
    ...['url', 'resource', 'bsp_max_queue_size', 'bsp_schedule_delay', 'bsp_max_export_batch_size'].map(
      (setting) => `opentelemetry,${setting}`,
    ),
  ]);
  const all = new Map<string, string[]>();
  for (const text of values.list('trace-config')) {
    const [key, value] = pair('trace-config', text, shape);
    if (known.has(key)) all.set(key, [...(all.get(key) ?? []), value]);
    else ignored.push(`--trace-config=${text}: there is no such setting`);
  }
  return all;
}

/** The last value of a setting, or that of the flag that it replaces. */
function last(all: Given, key: string, old: string, values: FlagValues): string | undefined {
  return all.get(key)?.at(-1) ?? values.text(old);
}

function openTelemetryOptions(all: Given): OpenTelemetryOptions {
  const of = (setting: string): string | undefined => all.get(`opentelemetry,${setting}`)?.at(-1);
  const number = (setting: string, least: number): number | undefined => {
    const text = of(setting);
    const flag = `trace-config=opentelemetry,${setting}`;
    return text === undefined ? undefined : numberOf(flag, text, least, mostTraceCount);
  };
  const resource = (all.get('opentelemetry,resource') ?? []).map((text) =>
    pair('trace-config=opentelemetry,resource', text, '<key>=<value>'),
  );
  return {
    url: of('url'),
    resource: Object.fromEntries(resource),
    maxQueueSize: number('bsp_max_queue_size', 1),
    scheduleDelayMs: number('bsp_schedule_delay', 0),
    maxExportBatchSize: number('bsp_max_export_batch_size', 1),
  };
}

/**
 * The option `traceConfig`.
 *
 * @param ignored - Gets the settings that nothing reads.
 * @throws {@link TritonError} INVALID_ARG for invalid values, and for settings with which no trace could be made.
 */
export function traceConfig(values: FlagValues, ignored: string[]): TraceConfig {
  const all = given(values, ignored);
  const levels = [
    ...(all.get('level') ?? []).map((text) => levelOf('trace-config=level', text)),
    ...values.list('trace-level').map((text) => levelOf('trace-level', text)),
  ];
  const mode: string = all.get('mode')?.at(-1)?.toLowerCase() ?? 'triton';
  if (mode !== 'triton' && mode !== 'opentelemetry')
    throw invalidArgument(`expected triton or opentelemetry for --trace-config=mode but received '${mode}'`);
  const rate = last(all, 'rate', 'trace-rate', values);
  const count = last(all, 'count', 'trace-count', values);
  const common: TraceConfig = {
    // As in Triton, any OFF wins.
    level: levels.length === 0 || levels.includes('OFF') ? 'OFF' : levels,
    rate: rate === undefined ? undefined : numberOf('trace-config=rate', rate, 0, mostTraceRate),
    count: count === undefined ? undefined : numberOf('trace-config=count', count, -1, mostTraceCount),
    mode,
  };
  const ofMode = {
    triton: (): TraceConfig => {
      const frequency = last(all, 'triton,log-frequency', 'trace-log-frequency', values);
      return {
        file: last(all, 'triton,file', 'trace-file', values),
        logFrequency:
          frequency === undefined
            ? undefined
            : numberOf('trace-config=triton,log-frequency', frequency, 0, mostTraceRate),
      };
    },
    opentelemetry: (): TraceConfig => ({ openTelemetry: openTelemetryOptions(all) }),
  };
  const config = { ...common, ...ofMode[mode]() };
  check(config);
  return config;
}

/** Reports what cannot be as an error of the flags, before models are loaded. */
function check(config: TraceConfig): void {
  try {
    checkTraceConfig(config, '/');
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    throw invalidArgument(`--trace-config: ${error.message}`, { cause: error });
  }
}
