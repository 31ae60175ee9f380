/** `server.trace`: reads and changes the trace settings of a server. */

import type { NativeTracing } from '../../addon/native/trace.js';
import { expected, readOptions } from '../../argument-checks.js';
import { invalidArgument } from '../../errors.js';
import type { Log } from '../../logger.js';
import { printableLine } from '../../printable.js';
import {
  isOff,
  mostTraceCount,
  mostTraceRate,
  readTraceFile,
  readTraceLevels,
  readTraceNumber,
  type ResolvedOpenTelemetry,
  type ResolvedTrace,
  type TraceFields,
  type TraceLevel,
  type TraceMode,
} from '../../trace-config.js';
import { FaultWatch } from './fault-watch.js';
import { SpanPump } from './span-pump.js';
import type { SpanSink } from './span-sink.js';
import { TraceSettings, type FieldChanges } from './trace-settings.js';
import type { TraceState } from './trace-state.js';

/** Trace settings: of one model, or of all models without their own. */
export interface TraceSetting {
  /** What is traced. */
  readonly level: readonly TraceLevel[];
  /** Each how many requests one is traced. */
  readonly rate: number;
  /** How many traces are made from the time of the setting on; -1: no limit. */
  readonly count: number;
  readonly mode: TraceMode;
  /** The file of the traces; empty: none. */
  readonly file: string;
  /** After how many traces a file is written; 0: one file. Without effect in mode 'opentelemetry'. */
  readonly logFrequency: number;
  /** How the server itself sends spans; absent if it does not. */
  readonly openTelemetry?: ResolvedOpenTelemetry | undefined;
}

/**
 * Changes of trace settings. What is absent stays. `null` makes a model follow the settings of all models again, and
 * those of all models what the server began with.
 *
 * @example
 * server.trace.update({ level: 'TIMESTAMPS', rate: 100 });
 */
export interface TraceUpdate {
  readonly level?: TraceLevel | readonly TraceLevel[] | null | undefined;
  readonly rate?: number | null | undefined;
  readonly count?: number | null | undefined;
  readonly logFrequency?: number | null | undefined;
  readonly file?: string | null | undefined;
}

/** The trace settings of a server. Triton: the extension `trace`. */
export interface Tracing {
  /**
   * Returns the settings.
   *
   * @param model - The model whose settings are returned (default: those of all models without their own).
   * @throws {@link TritonError} INVALID_ARG for a model that is not ready, NOT_FOUND for one that no repository has.
   */
  settings(model?: string): TraceSetting;
  /**
   * Changes settings, and returns all of them. The requests are counted anew.
   *
   * @param update - The changes.
   * @param model - The model whose settings are changed (default: those of all models without their own).
   * @throws {@link TritonError} INVALID_ARG for wrong settings, for settings with which no trace could be made, and for a
   *   model that is not ready; NOT_FOUND for one that no repository has. Nothing is changed then.
   */
  update(update: TraceUpdate, model?: string): TraceSetting;
}

/** Whether a model is ready. */
type ReadyCheck = (model: string) => boolean;

const keys = ['level', 'rate', 'count', 'logFrequency', 'file'] as const;

/** The trace settings of servers, for their endpoints. */
const ofServers = new WeakMap<object, ServerTrace>();

/** The trace settings of a server; undefined for a connection to another environment's server. */
export function traceOf(server: object): ServerTrace | undefined {
  return ofServers.get(server);
}

/** How a server traces. */
export interface TracingParts {
  readonly config: ResolvedTrace;
  /** Where spans go; undefined if traces are no spans. */
  readonly spans: SpanSink | undefined;
  readonly log: Log;
}

/** The only implementation of {@link Tracing}. */
export class ServerTrace implements Tracing {
  readonly #config: ResolvedTrace;
  readonly #settings: TraceSettings;
  readonly #state: TraceState;
  readonly #isReady: ReadyCheck;
  readonly #faults: FaultWatch;
  readonly #pump: SpanPump | undefined;

  /**
   * @param server - Whose settings they are, for {@link traceOf}.
   * @param state - Tells all environments whether requests may be traced.
   * @param isReady - Throws for a model that no repository has.
   */
  constructor(
    server: object,
    { config, spans, log }: TracingParts,
    native: NativeTracing,
    state: TraceState,
    isReady: ReadyCheck,
  ) {
    this.#config = config;
    this.#settings = new TraceSettings(config, native);
    this.#state = state;
    this.#isReady = isReady;
    this.#faults = new FaultWatch(server, native, log);
    this.#pump = spans && new SpanPump(server, native, spans);
    ofServers.set(server, this);
    this.#tell();
  }

  settings(model?: string): TraceSetting {
    return this.#settingOf(this.#settings.of(this.#checkModel(model)));
  }

  update(update: TraceUpdate, model?: string): TraceSetting {
    const changes = this.#read(update);
    const name = this.#checkModel(model);
    this.#settings.update(name, changes);
    this.#tell();
    return this.#settingOf(this.#settings.of(name));
  }

  /** Takes the last traces, after the server has closed. */
  async close(): Promise<void> {
    this.#faults.close();
    await this.#pump?.close();
  }

  #tell(): void {
    const { isOn } = this.#settings;
    if (isOn) this.#faults.start();
    this.#state.set(isOn ? this.#config.mode : undefined);
  }

  #read(update: unknown): FieldChanges {
    const path = 'trace settings';
    // Unlike elsewhere, null is not the same as absent.
    const given = update ?? {};
    readOptions<TraceUpdate>(given, keys, path);
    const { level, rate, count, logFrequency, file } = given as Readonly<Record<string, unknown>>;
    const { mode } = this.#config;
    // As in Triton, logFrequency may be set there, too. It has no effect.
    if (mode === 'opentelemetry' && file !== undefined)
      throw invalidArgument(`${path}.file needs mode 'triton'; in mode 'opentelemetry' spans are sent`);
    const number = (value: unknown, least: number, most: number, key: string): number | null =>
      value === null ? null : readTraceNumber(value, least, most, `${path}.${key}`);
    return {
      ...(level !== undefined && { level: level === null ? null : readTraceLevels(level, `${path}.level`) }),
      ...(rate !== undefined && { rate: number(rate, 0, mostTraceRate, 'rate') }),
      ...(count !== undefined && { count: number(count, -1, mostTraceCount, 'count') }),
      ...(logFrequency !== undefined && {
        logFrequency: number(logFrequency, 0, mostTraceRate, 'logFrequency'),
      }),
      ...(file !== undefined && { file: file === null ? null : readTraceFile(file, `${path}.file`) }),
    };
  }

  #checkModel(model: unknown): string | undefined {
    if (model === undefined || model === null) return undefined;
    if (typeof model !== 'string' || model === '') throw expected('a model name', 'model', model);
    if (!this.#isReady(model)) throw unknownModel(model);
    return model;
  }

  #settingOf({ level, rate, count, logFrequency, file }: TraceFields): TraceSetting {
    const { mode, openTelemetry } = this.#config;
    const names: TraceLevel[] = isOff(level) ? ['OFF'] : [];
    if (level.timestamps) names.push('TIMESTAMPS');
    if (level.tensors) names.push('TENSORS');
    return { level: names, rate, count, mode, file, logFrequency, ...(openTelemetry && { openTelemetry }) };
  }
}

/** Triton's error for a model that is not ready. */
export function unknownModel(model: string): Error {
  return invalidArgument(`Request for unknown model : ${printableLine(model)}`, { model });
}
