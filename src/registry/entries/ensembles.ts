/**
 * The ensembles of a server: which models they need, in which order these are loaded, and what happens to an
 * ensemble when one of its models is loaded again or unloaded. The same for JavaScript models that require others,
 * but these call them by their names, and nothing happens to them.
 */

import type { NativeServer } from '../../addon/native/server.js';
import type { NativeLatencyPolicy } from '../../addon/native/version-config.js';
import { statusError } from '../../addon/status.js';
import {
  fieldError,
  finishConfig,
  tritonDefaults,
  type ConfigSource,
  type ModelConfig,
  type PreparedConfig,
} from '../../config/index.js';
import { compileEnsemble, failedStep } from '../../ensemble/compile.js';
import { composingModels, graphText, type ComposingVersion } from '../../ensemble/composing.js';
import { requiresField } from '../../backends/required-models.js';
import {
  invalidArgument,
  reasonOfPart,
  TritonError,
  type TritonErrorCode,
  type TritonErrorReason,
} from '../../errors.js';
import type { Wait } from '../../waits.js';
import { retire } from '../loading/load-version.js';
import type { ModelEntry } from './model-entry.js';
import { servedVersions } from './model-entry.js';
import type { VersionDescriptor } from './published.js';

/** What the ensembles need of their registry. */
export interface EnsembleHost {
  readonly server: NativeServer;
  readonly entryOf: (model: string) => ModelEntry | undefined;
  /** What is kept of the latencies of a model with this configuration. */
  readonly latenciesOf: (config: ModelConfig) => NativeLatencyPolicy;
  /** Loads a model, if it is not loaded yet. `load` waits for it. */
  readonly loadPart: (model: string, load: Wait) => Promise<void>;
}

/** A version of an ensemble that is open in the engine. */
interface OpenEnsemble {
  readonly name: string;
  readonly uid: number;
  readonly config: ModelConfig;
  readonly source: ConfigSource;
  readonly models: readonly string[];
}

/** A version of a model in JavaScript or Python that requires others. */
interface Requiring {
  readonly name: string;
  readonly models: readonly string[];
}

/** See the head of this file. */
export class Ensembles {
  readonly #host: EnsembleHost;
  /** By uid. */
  readonly #open: Map<number, OpenEnsemble> = new Map();
  /** By uid. */
  readonly #requiring: Map<number, Requiring> = new Map();
  /** Which loads wait for which models. */
  readonly #waits: Map<string, Set<string>> = new Map();

  constructor(host: EnsembleHost) {
    this.#host = host;
  }

  /**
   * Loads the models that an ensemble needs.
   *
   * @param load - The load of the ensemble.
   * @throws {@link TritonError} UNAVAILABLE if one of them cannot be loaded, INVALID_ARG if it needs the
   *   ensemble itself.
   */
  async loadParts({ config, source }: PreparedConfig, load: Wait): Promise<void> {
    const models = composingModels(config);
    const { name } = config;
    for (const model of models) {
      const chain = this.#chain(model, name);
      if (chain === undefined) continue;
      throw new TritonError(
        'INVALID_ARG',
        `model '${name}': an ensemble cannot need itself: ${[name, ...chain].join(' → ')}\n${graphText(config)}`,
        { model: name },
      );
    }
    await this.#loadAll(name, models, load, (model, reason) => failedStep(config, source, model, reason));
  }

  /**
   * Loads the models that a model in JavaScript or Python requires.
   *
   * @param load - The load of that model.
   * @throws {@link TritonError} UNAVAILABLE if one of them cannot be loaded, INVALID_ARG if there is no such model or
   *   it needs this one.
   */
  async loadRequired(
    { config, source }: PreparedConfig,
    models: readonly string[],
    load: Wait,
  ): Promise<void> {
    const { name } = config;
    const fault = (code: TritonErrorCode, text: string, cause?: unknown): TritonError =>
      fieldError(code, source, requiresField, text, {
        model: name,
        reason: code === 'UNAVAILABLE' ? reasonOfPart(cause) : undefined,
        cause,
      });
    for (const model of models) {
      if (!this.#host.entryOf(model)) throw fault('INVALID_ARG', `no repository has a model '${model}'`);
      const chain = this.#chain(model, name);
      if (chain) throw fault('INVALID_ARG', `a model cannot require itself: ${[name, ...chain].join(' → ')}`);
    }
    await this.#loadAll(name, models, load, (model, reason) =>
      fault('UNAVAILABLE', `model '${model}' could not be loaded: ${reason.message}`, reason),
    );
  }

  /** Notes that a version of a model in JavaScript or Python is open, until {@link forget}. */
  noteRequired(uid: number, name: string, models: readonly string[]): void {
    if (models.length === 0) return;
    this.#requiring.set(uid, { name, models });
    this.#runsOn(name, models);
  }

  async #loadAll(
    name: string,
    models: readonly string[],
    load: Wait,
    failed: (model: string, reason: Error) => Error,
  ): Promise<void> {
    this.#waits.set(name, new Set(models));
    try {
      const results = await Promise.allSettled(
        models.map(async (model) => {
          if (this.#host.entryOf(model)) await this.#host.loadPart(model, load);
        }),
      );
      results.forEach((result, i) => {
        if (result.status === 'fulfilled') return;
        const reason: unknown = result.reason;
        throw failed(models[i] ?? '', reason instanceof Error ? reason : new Error(String(reason)));
      });
    } finally {
      this.#waits.delete(name);
    }
  }

  /** The models over which a model waits for another; undefined if it does not. */
  #chain(from: string, to: string, passed: ReadonlySet<string> = new Set()): string[] | undefined {
    if (from === to) return [to];
    if (passed.has(from)) return undefined;
    const next = this.#waits.get(from) ?? this.partsOf(from);
    for (const model of next) {
      const rest = this.#chain(model, to, new Set([...passed, from]));
      if (rest) return [from, ...rest];
    }
    return undefined;
  }

  /** The models that an open ensemble or JavaScript model needs. */
  partsOf(name: string): readonly string[] {
    return this.#users().flatMap((one) => (one.name === name ? one.models : []));
  }

  /** All that need others. */
  #users(): Requiring[] {
    return [...this.#open.values(), ...this.#requiring.values()];
  }

  /**
   * Opens a version of an ensemble, whose models are loaded, and binds it to these.
   *
   * @throws {@link TritonError} INVALID_ARG or UNSUPPORTED, with all problems and the graph.
   */
  open(prepared: PreparedConfig): VersionDescriptor {
    const begin = performance.now();
    const { server } = this.#host;
    const finished = finishConfig(prepared, undefined, tritonDefaults);
    const { source } = prepared;
    const compiled = compileEnsemble(finished.config, source, (model) => this.#find(model));
    const { config, plan, versions, labels } = compiled;
    const { batchSizeCompleted } = finished;
    const notes = [...finished.notes, ...compiled.notes];
    const uid = server.addEnsemble(config.name, plan, this.#host.latenciesOf(config));
    const models = composingModels(config);
    this.#open.set(uid, { name: config.name, uid, config, source, models });
    this.#runsOn(config.name, models);
    const uids = versions.map((version) => version.uid);
    const error = server.bindEnsemble(uid, uids);
    if (error) {
      this.forget(uid);
      void retire(server, uid);
      throw statusError(error, { model: config.name });
    }
    const loadSeconds = (performance.now() - begin) / 1000;
    const takesIds = versions.some((version) => version.takesIds === true);
    return { uid, config, notes, batchSizeCompleted, takesIds, labels, instances: [], loadSeconds };
  }

  #runsOn(name: string, models: readonly string[]): void {
    const entries = models.flatMap((model) => this.#host.entryOf(model) ?? []);
    this.#host.entryOf(name)?.runsOn(entries);
  }

  /** A version is retired. */
  forget(uid: number): void {
    this.#open.delete(uid);
    this.#requiring.delete(uid);
  }

  /** Whether an open version of this name is an ensemble. */
  has(name: string): boolean {
    return [...this.#open.values()].some((one) => one.name === name);
  }

  /** Names of the ensembles and JavaScript models that need a model, sorted. */
  usersOf(model: string): string[] {
    const users = this.#users().filter(({ models }) => models.includes(model));
    return [...new Set(users.map(({ name }) => name))].sort();
  }

  /**
   * Other versions of a model are served now. The ensembles that need it are bound to these. One that does
   * not fit them is served no more.
   *
   * @param what - What happened to the model, for the reason.
   * @param why - The reason of the error that took the model out of service.
   */
  changed(model: string, what = 'was loaded again', why?: TritonErrorReason): void {
    const { server } = this.#host;
    for (const ensemble of [...this.#open.values()]) {
      const { name, uid, config, source } = ensemble;
      if (!ensemble.models.includes(model)) continue;
      try {
        const { versions, config: complete } = compileEnsemble(config, source, (one) => this.#find(one));
        const uids = versions.map((version) => version.uid);
        const error = server.bindEnsemble(uid, uids);
        if (error) throw statusError(error, { model: name });
        if (complete !== config) {
          throw invalidArgument(
            `model '${name}': one of its shape tensors has changed; reload the ensemble`,
            {
              model: name,
            },
          );
        }
      } catch (error) {
        this.#end(
          ensemble,
          `model '${model}' ${what}: ${error instanceof Error ? error.message : String(error)}`,
          why,
        );
      }
    }
  }

  /** Takes an ensemble out of service. */
  #end({ name, uid }: OpenEnsemble, reason: string, errorReason: TritonErrorReason | undefined): void {
    const entry = this.#host.entryOf(name);
    this.forget(uid);
    if (entry) {
      const { versions } = entry.published();
      entry.stamp = '';
      entry.publish({
        state: '',
        reason: '',
        versions: versions.map((one) =>
          one.descriptor?.uid === uid
            ? { version: one.version, state: 'UNAVAILABLE', reason, errorReason }
            : one,
        ),
      });
    }
    void retire(this.#host.server, uid);
    this.changed(name, 'is not served any more', errorReason);
  }

  /** The served versions of a model, newest first. */
  #find(model: string): readonly ComposingVersion[] | undefined {
    const entry = this.#host.entryOf(model);
    if (!entry) return undefined;
    return entry
      .published()
      .versions.flatMap(({ version, state, descriptor }) =>
        state === 'READY' && descriptor ? [{ ...descriptor, version }] : [],
      )
      .sort((a, b) => b.version - a.version);
  }
}

/** Whether a model is served. */
export function isServed(entry: ModelEntry): boolean {
  return servedVersions(entry.published()).length > 0;
}
