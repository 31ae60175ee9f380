/**
 * The trace settings of a server: those of all models, and those of single ones. A model's own settings stay; those
 * that it does not have follow the ones of all models. The rules and texts are Triton's.
 */

import type { NativeTraceSetting } from '../../addon/native/trace.js';
import { invalidArgument } from '../../errors.js';
import {
  isOff,
  traceFilePath,
  whyInvalid,
  type ResolvedTrace,
  type TraceFields,
} from '../../trace-config.js';

/** Changes: null goes back to the setting of all models, or to that of the server's start. */
export type FieldChanges = { readonly [K in keyof TraceFields]?: TraceFields[K] | null };

type Own = Partial<TraceFields>;

/** Passes settings to the engine. */
export interface TraceTarget {
  /** See `NativeTracing.setTrace`. */
  setTrace(model: string, setting: NativeTraceSetting | null): void;
}

const fieldNames = [
  'level',
  'rate',
  'count',
  'logFrequency',
  'file',
] as const satisfies (keyof TraceFields)[];

function changed(own: Own, changes: FieldChanges): Own {
  const entries = fieldNames.flatMap((name): [string, unknown][] => {
    const change = changes[name];
    const value = change === undefined ? own[name] : (change ?? undefined);
    return value === undefined ? [] : [[name, value]];
  });
  return Object.fromEntries(entries);
}

/** See the head of this file. */
export class TraceSettings {
  readonly #config: ResolvedTrace;
  readonly #target: TraceTarget;
  #general: Own = {};
  #models: Map<string, Own> = new Map();
  /** The models, '' for all, whose setting the engine has, so that it can keep what is left of their counts. */
  readonly #passed: Set<string> = new Set();

  /** Passes the settings of the start to the engine. */
  constructor(config: ResolvedTrace, target: TraceTarget) {
    this.#config = config;
    this.#target = target;
    if (!isOff(config.start.level)) this.#pass('', config.start, true);
  }

  /** Whether requests of any model may be traced. */
  get isOn(): boolean {
    return [undefined, ...this.#models.keys()].some((model) => !isOff(this.of(model).level));
  }

  /** The settings of a model; undefined: of all models without their own. */
  of(model: string | undefined): TraceFields {
    const general = { ...this.#config.start, ...this.#general };
    return model === undefined ? general : { ...general, ...this.#models.get(model) };
  }

  /**
   * Changes settings. Either all are changed or, if it throws, none.
   *
   * @throws {@link TritonError} INVALID_ARG for settings with which no trace could be made.
   */
  update(model: string | undefined, changes: FieldChanges): void {
    const models = new Map(this.#models);
    let general = this.#general;
    if (model === undefined) {
      general = changed(general, changes);
    } else {
      const own = changed(models.get(model) ?? {}, changes);
      if (Object.keys(own).length === 0) models.delete(model);
      else models.set(model, own);
    }
    const all: TraceFields = { ...this.#config.start, ...general };
    const affected = model === undefined ? ['', ...mirroring(models)] : models.has(model) ? [model] : [];
    const fieldsOf = (name: string): TraceFields => ({ ...all, ...(name === '' ? {} : models.get(name)) });
    for (const name of affected) {
      const why = whyInvalid(fieldsOf(name), this.#config.mode);
      if (why !== undefined) throw invalidArgument(`Attempting to set invalid trace setting :${why}`);
    }
    // The engine may refuse them for a lack of threads or memory.
    for (const name of affected) {
      const isOwn = name === (model ?? '');
      const mirrors = name !== '' && models.get(name)?.count === undefined;
      this.#pass(name, fieldsOf(name), changes.count !== undefined && (isOwn || mirrors));
    }
    if (model !== undefined && !models.has(model) && this.#passed.delete(model))
      this.#target.setTrace(model, null);
    this.#general = general;
    this.#models = models;
  }

  /** @param anew - Whether the count starts anew, rather than with what is left of it. */
  #pass(model: string, fields: TraceFields, anew: boolean): void {
    const { level, rate, count, logFrequency, file } = fields;
    const { mode, base } = this.#config;
    const spans = mode === 'opentelemetry';
    if (model === '' && isOff(level) && !this.#passed.has('')) return; // As at the start.
    this.#target.setTrace(model, {
      timestamps: level.timestamps,
      // Tensors are no part of spans.
      tensors: level.tensors && !spans,
      rate,
      count: anew || !this.#passed.has(model) ? count : undefined,
      file: spans ? '' : traceFilePath(file, base),
      logFrequency: spans ? 0 : logFrequency,
      spans,
    });
    this.#passed.add(model);
  }
}

/** The models that follow the general settings in anything. */
function mirroring(models: ReadonlyMap<string, Own>): string[] {
  return [...models].filter(([, own]) => Object.keys(own).length < fieldNames.length).map(([model]) => model);
}
