/** The server's option `traceConfig`. */

import { resolve } from 'node:path';
import { expected, readList, readOptions } from './argument-checks.js';
import { invalidArgument } from './errors.js';
import { isKeyed } from './keyless.js';

/**
 * What is traced of a request: 'TIMESTAMPS' its way through the server, 'TENSORS' its tensors, 'OFF' nothing.
 */
export type TraceLevel = 'OFF' | 'TIMESTAMPS' | 'TENSORS';

/** Where traces go: to a file in Triton's format, or to OpenTelemetry. */
export type TraceMode = 'triton' | 'opentelemetry';

/**
 * Traces of requests. docs/tracing.md explains them. Triton: `--trace-config`.
 *
 * @example
 * const server = await createServer('./models', {
 *   traceConfig: { level: 'TIMESTAMPS', rate: 1, file: 'trace.json' },
 * });
 */
export interface TraceConfig {
  /** What is traced (default 'OFF'). 'OFF' must stand alone. */
  readonly level?: TraceLevel | readonly TraceLevel[] | undefined;
  /**
   * Each how many requests one is traced (default 1000). 0 is allowed only in mode 'opentelemetry': then only the
   * requests are traced that continue a caller's trace.
   */
  readonly rate?: number | undefined;
  /** How many traces are made (default -1: no limit). */
  readonly count?: number | undefined;
  /** Where traces go (default 'triton': to {@link file}). It cannot be changed later. */
  readonly mode?: TraceMode | undefined;
  /** The file of the traces, in mode 'triton' (default: none, so that `level` must be 'OFF'). */
  readonly file?: string | undefined;
  /**
   * After how many traces a file is written, in mode 'triton'; its name ends with an index (default 0: one file, which
   * is complete when the server closes).
   */
  readonly logFrequency?: number | undefined;
  /**
   * Sends spans by OTLP over HTTP, in mode 'opentelemetry' (default: spans go to the tracer provider that the program
   * has registered with `@opentelemetry/api`). It needs the packages `@opentelemetry/sdk-trace-base`,
   * `@opentelemetry/exporter-trace-otlp-http` and `@opentelemetry/resources`.
   */
  readonly openTelemetry?: OpenTelemetryOptions | undefined;
}

/**
 * How spans are sent.
 *
 * @example
 * const openTelemetry: OpenTelemetryOptions = { url: 'http://collector:4318/v1/traces' };
 */
export interface OpenTelemetryOptions {
  /** The address of the collector (default `http://localhost:4318/v1/traces`). */
  readonly url?: string | undefined;
  /**
   * Attributes of the resource, in addition to those of the variable OTEL_RESOURCE_ATTRIBUTES (default:
   * `service.name` is `triton-inference-server`).
   */
  readonly resource?: Readonly<Record<string, string>> | undefined;
  /** How many spans wait at most; further ones are dropped (default: OTEL_BSP_MAX_QUEUE_SIZE, or 2048). */
  readonly maxQueueSize?: number | undefined;
  /** How long spans wait for others, in milliseconds (default: OTEL_BSP_SCHEDULE_DELAY, or 5000). */
  readonly scheduleDelayMs?: number | undefined;
  /** How many spans are sent at once (default: OTEL_BSP_MAX_EXPORT_BATCH_SIZE, or 512). */
  readonly maxExportBatchSize?: number | undefined;
}

/** {@link OpenTelemetryOptions} with every default filled in. */
export interface ResolvedOpenTelemetry {
  readonly url: string;
  readonly resource: Readonly<Record<string, string>>;
  readonly maxQueueSize: number;
  readonly scheduleDelayMs: number;
  readonly maxExportBatchSize: number;
}

/** The levels as a set. None: tracing is off. */
export interface TraceLevels {
  readonly timestamps: boolean;
  readonly tensors: boolean;
}

/** The settings that can be given for all models, and for one. */
export interface TraceFields {
  readonly level: TraceLevels;
  readonly rate: number;
  readonly count: number;
  readonly logFrequency: number;
  /** As it was given; empty: none. */
  readonly file: string;
}

/** {@link TraceConfig} with every default filled in. */
export interface ResolvedTrace {
  readonly mode: TraceMode;
  readonly start: TraceFields;
  /** The folder that relative paths of files start from. */
  readonly base: string;
  /** Undefined: spans go to the program's own provider. */
  readonly openTelemetry: ResolvedOpenTelemetry | undefined;
}

/** The largest rate and frequency. */
export const mostTraceRate: number = 2 ** 32 - 1;
/** The largest count. */
export const mostTraceCount: number = 2 ** 31 - 1;

const levels: readonly string[] = ['OFF', 'TIMESTAMPS', 'TENSORS'] satisfies TraceLevel[];

/**
 * Reads levels that a program gives.
 *
 * @throws {@link TritonError} INVALID_ARG for anything but levels, and for 'OFF' beside others.
 */
export function readTraceLevels(value: unknown, path: string): TraceLevels {
  const what = "'OFF', 'TIMESTAMPS', 'TENSORS', or an array of these";
  const list = Array.isArray(value) ? readList(value, what, path) : [value];
  for (const one of list) {
    if (typeof one !== 'string' || !levels.includes(one)) throw expected(what, path, one);
  }
  if (list.length === 0) throw expected(what, path, 'an empty array');
  if (list.includes('OFF') && list.length > 1)
    throw invalidArgument(`${path}: Expect only one trace level 'OFF' is specified`);
  return { timestamps: list.includes('TIMESTAMPS'), tensors: list.includes('TENSORS') };
}

/** Whether nothing is traced. */
export function isOff({ timestamps, tensors }: TraceLevels): boolean {
  return !timestamps && !tensors;
}

/**
 * Reads an integer that a program gives.
 *
 * @throws {@link TritonError} INVALID_ARG.
 */
export function readTraceNumber(value: unknown, least: number, most: number, path: string): number {
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= least && value <= most)
    return value;
  throw expected(`an integer from ${least} to ${most}`, path, value);
}

/**
 * Reads the path of a trace file.
 *
 * @throws {@link TritonError} INVALID_ARG.
 */
export function readTraceFile(value: unknown, path: string): string {
  if (typeof value === 'string' && !value.includes('\0')) return value;
  throw expected('the path of a file', path, value);
}

/** Why traces cannot be made with these settings; undefined: they can, or tracing is off. */
export function whyInvalid({ level, rate, count, file }: TraceFields, mode: TraceMode): string | undefined {
  if (isOff(level)) return undefined;
  if (rate === 0 && mode === 'triton') return 'sample rate must be non-zero';
  if (file === '' && mode === 'triton') return 'trace file name is not given';
  return count === 0 ? 'trace count must be non-zero' : undefined;
}

/** Triton's defaults. */
const defaults = { rate: 1000, count: -1, logFrequency: 0, file: '' };

const keys = ['level', 'rate', 'count', 'mode', 'file', 'logFrequency', 'openTelemetry'] as const;

/**
 * Checks the option `traceConfig`.
 *
 * @param base - The folder that relative paths start from.
 * @throws {@link TritonError} INVALID_ARG.
 */
export function checkTraceConfig(options: unknown, base: string): ResolvedTrace {
  const path = 'options.traceConfig';
  const given = readOptions<TraceConfig>(options, keys, path);
  const { mode = 'triton' } = given;
  if (mode !== 'triton' && mode !== 'opentelemetry')
    throw expected("'triton' or 'opentelemetry'", `${path}.mode`, mode);
  const start: TraceFields = {
    level: readTraceLevels(given.level ?? 'OFF', `${path}.level`),
    rate: readTraceNumber(given.rate ?? defaults.rate, 0, mostTraceRate, `${path}.rate`),
    count: readTraceNumber(given.count ?? defaults.count, -1, mostTraceCount, `${path}.count`),
    logFrequency: readTraceNumber(
      given.logFrequency ?? defaults.logFrequency,
      0,
      mostTraceRate,
      `${path}.logFrequency`,
    ),
    file: readTraceFile(given.file ?? defaults.file, `${path}.file`),
  };
  if (mode === 'triton' && given.openTelemetry !== undefined)
    throw invalidArgument(`${path}.openTelemetry needs mode: 'opentelemetry'`);
  if (mode === 'opentelemetry' && (given.file !== undefined || given.logFrequency !== undefined))
    throw invalidArgument(
      `${path}.file and logFrequency need mode: 'triton'; in mode 'opentelemetry' spans are sent`,
    );
  const why = whyInvalid(start, mode);
  if (why !== undefined) throw invalidArgument(`${path}: Attempting to set invalid trace setting :${why}`);
  return {
    mode,
    start,
    base,
    openTelemetry:
      given.openTelemetry === undefined
        ? undefined
        : openTelemetryOf(given.openTelemetry, `${path}.openTelemetry`),
  };
}

const openTelemetryKeys = [
  'url',
  'resource',
  'maxQueueSize',
  'scheduleDelayMs',
  'maxExportBatchSize',
] as const;

function openTelemetryOf(options: unknown, path: string): ResolvedOpenTelemetry {
  const given = readOptions<OpenTelemetryOptions>(options, openTelemetryKeys, path);
  const { url = 'http://localhost:4318/v1/traces', resource = {} } = given;
  if (typeof url !== 'string' || !isHttp(url)) throw expected('an http: or https: URL', `${path}.url`, url);
  const attributes = new Map<string, string>([['service.name', 'triton-inference-server']]);
  for (const [name, value] of resourceOfEnvironment()) attributes.set(name, value);
  if (!isKeyed(resource)) throw expected('an object of strings', `${path}.resource`, resource);
  for (const [name, value] of Object.entries(resource) as [string, unknown][]) {
    if (typeof value !== 'string') throw expected('a string', `${path}.resource['${name}']`, value);
    attributes.set(name, value);
  }
  const number = (
    key: 'maxQueueSize' | 'scheduleDelayMs' | 'maxExportBatchSize',
    variable: string,
    otherwise: number,
  ): number =>
    readTraceNumber(
      given[key] ?? numberOfEnvironment(variable) ?? otherwise,
      key === 'scheduleDelayMs' ? 0 : 1,
      mostTraceCount,
      `${path}.${key}`,
    );
  const maxQueueSize = number('maxQueueSize', 'OTEL_BSP_MAX_QUEUE_SIZE', 2048);
  const maxExportBatchSize = number('maxExportBatchSize', 'OTEL_BSP_MAX_EXPORT_BATCH_SIZE', 512);
  if (maxExportBatchSize > maxQueueSize) {
    throw invalidArgument(
      `${path}.maxExportBatchSize: expected at most maxQueueSize, ${maxQueueSize}, but received ${maxExportBatchSize}`,
    );
  }
  return {
    url,
    resource: Object.fromEntries(attributes),
    maxQueueSize,
    scheduleDelayMs: number('scheduleDelayMs', 'OTEL_BSP_SCHEDULE_DELAY', 5000),
    maxExportBatchSize,
  };
}

function isHttp(url: string): boolean {
  return URL.canParse(url) && /^https?:$/.test(new URL(url).protocol);
}

/** A number of the environment; undefined if the variable is not set, or is no number, as in OpenTelemetry. */
function numberOfEnvironment(variable: string): number | undefined {
  const text = process.env[variable];
  return text !== undefined && /^\d{1,9}$/.test(text) ? Number(text) : undefined;
}

/** The attributes of OTEL_RESOURCE_ATTRIBUTES and OTEL_SERVICE_NAME. Parts that are not `key=value` are left out. */
function resourceOfEnvironment(): [string, string][] {
  const found: [string, string][] = [];
  for (const part of (process.env['OTEL_RESOURCE_ATTRIBUTES'] ?? '').split(',')) {
    const at = part.indexOf('=');
    if (at > 0) found.push([part.slice(0, at).trim(), decoded(part.slice(at + 1).trim())]);
  }
  const name = process.env['OTEL_SERVICE_NAME'];
  if (name !== undefined && name !== '') found.push(['service.name', name]);
  return found;
}

/** Values are percent-encoded. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** The path of a trace file as the engine opens it. */
export function traceFilePath(file: string, base: string): string {
  return file === '' ? '' : resolve(base, file);
}
