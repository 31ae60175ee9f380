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
  printConfigJson,
  tritonDefaults,
  type ConfigSource,
  type ModelConfig,
  type PreparedConfig,
} from '../../config/index.js';
import { ensembleIdentity } from '../../cache/identity.js';
import { withoutCache, type ResolvedCache } from '../../cache-config.js';
import { compileEnsemble, failedStep, type CompiledEnsemble } from '../../ensemble/compile.js';
import { composingModels, graphText, type ComposingVersion } from '../../ensemble/composing.js';
import { requiresField } from '../../backends/required-models.js';
import {
  invalidArgument,
  reasonOfPart,
  TritonError,
  unavailable,
  type TritonErrorCode,
  type TritonErrorReason,
} from '../../errors.js';
import { keyText, type ModelKey } from '../../model-key.js';
import type { Wait } from '../../waits.js';
import { retire } from '../loading/load-version.js';
import type { ModelEntry } from './model-entry.js';
import { isServed } from './model-entry.js';
import type { VersionDescriptor } from './published.js';
import { thrownText } from '../../thrown-text.js';

/** What the ensembles need of their registry. */
export interface EnsembleHost {
  readonly server: NativeServer;
  /**
   * The model of a name; undefined if there is none.
   *
   * @param own - The namespace of the ensemble that names it.
   * @throws {@link TritonError} INVALID_ARG if several other namespaces have it.
   */
  readonly resolve: (name: string, own?: string) => ModelEntry | undefined;
  /** What is kept of the latencies of a model with this configuration. */
  readonly latenciesOf: (config: ModelConfig) => NativeLatencyPolicy;
  /** The server's response cache. */
  readonly caches: ResolvedCache;
  /** Loads a model, if it is not loaded yet. `load` waits for it. */
  readonly loadPart: (model: ModelEntry, load: Wait) => Promise<void>;
}

/** A version of an ensemble that is open in the engine. */
interface OpenEnsemble {
  readonly entry: ModelEntry;
  readonly uid: number;
  readonly config: ModelConfig;
  readonly source: ConfigSource;
  readonly version: number;
  /** The models that its steps mean now. */
  parts: readonly ModelEntry[];
  /** The versions to which its steps are bound. */
  steps: readonly number[];
  /** Stands for its content with these; '': it is not known. */
  identity: string;
}

/** A version of a model in JavaScript or Python that requires others. */
interface Requiring {
  readonly entry: ModelEntry;
  readonly parts: readonly ModelEntry[];
}

/** See the head of this file. */
export class Ensembles {
  readonly #host: EnsembleHost;
  /** By uid. */
  readonly #open: Map<number, OpenEnsemble> = new Map();
  /** By uid. */
  readonly #requiring: Map<number, Requiring> = new Map();
  /** The same by model: the search for circles asks for those of one model. */
  readonly #byEntry: Map<ModelEntry, Set<Requiring>> = new Map();
  /** The served models that loads need, until these have ended. Nobody unloads them meanwhile. */
  readonly #held: Map<ModelEntry, Set<ModelEntry>> = new Map();
  /** The names of the models that the last load of a model asked for. */
  readonly #needed: WeakMap<ModelEntry, readonly string[]> = new WeakMap();
  /** Which loads wait for which models. */
  readonly #waits: Map<ModelEntry, readonly ModelEntry[]> = new Map();

  /** Is told of an ensemble that is served no more, and why. */
  onEnded: ((entry: ModelEntry, reason: string) => void) | undefined;

  constructor(host: EnsembleHost) {
    this.#host = host;
  }

  /**
   * Loads the models that an ensemble needs. A step means the model of the ensemble's namespace, else the only one
   * of its name.
   *
   * @param load - The load of the ensemble.
   * @returns The models. Those that no repository has are left out.
   * @throws {@link TritonError} UNAVAILABLE if one of them cannot be loaded, INVALID_ARG if it needs the
   *   ensemble itself, or if several other namespaces have it.
   */
  async loadParts(
    entry: ModelEntry,
    { config, source }: PreparedConfig,
    load: Wait,
  ): Promise<readonly ModelEntry[]> {
    const parts: ModelEntry[] = [];
    const passed = new Set<ModelEntry>();
    const names = composingModels(config);
    this.#needed.set(entry, names);
    for (const name of names) {
      const part = resolveStep(config, source, name, () => this.#partOf(entry.key, name));
      if (!part) continue;
      parts.push(part);
      const chain = this.#chain(part, entry, passed);
      if (chain === undefined) continue;
      throw new TritonError(
        'INVALID_ARG',
        `model '${entry.text}': an ensemble cannot need itself: ${chainText(entry, chain)}\n${graphText(config)}`,
        { model: entry.name },
      );
    }
    await this.#loadAll(entry, parts, load, (part, reason) => failedStep(config, source, part.name, reason));
    return parts;
  }

  /**
   * Loads the models that a model in JavaScript or Python requires. It calls them by their names alone, so each must
   * be the only one of its name.
   *
   * @param load - The load of that model.
   * @returns The models.
   * @throws {@link TritonError} UNAVAILABLE if one of them cannot be loaded, INVALID_ARG if there is no such model,
   *   there are several, or it needs this one.
   */
  async loadRequired(
    entry: ModelEntry,
    { source }: PreparedConfig,
    names: readonly string[],
    load: Wait,
  ): Promise<readonly ModelEntry[]> {
    this.#needed.set(entry, names);
    if (names.length === 0) return [];
    const fault = (code: TritonErrorCode, text: string, cause?: unknown): TritonError =>
      fieldError(code, source, requiresField, text, {
        model: entry.name,
        reason: code === 'UNAVAILABLE' ? reasonOfPart(cause) : undefined,
        cause,
      });
    const parts: ModelEntry[] = [];
    const passed = new Set<ModelEntry>();
    for (const name of names) {
      let part: ModelEntry | undefined;
      try {
        part = this.#host.resolve(name);
      } catch (error) {
        throw fault('INVALID_ARG', thrownText(error));
      }
      if (!part) throw fault('INVALID_ARG', `no repository has a model '${name}'`);
      parts.push(part);
      const chain = this.#chain(part, entry, passed);
      if (chain) throw fault('INVALID_ARG', `a model cannot require itself: ${chainText(entry, chain)}`);
    }
    await this.#loadAll(entry, parts, load, (part, reason) =>
      fault('UNAVAILABLE', `model '${part.text}' could not be loaded: ${reason.message}`, reason),
    );
    return parts;
  }

  /** Notes that a version of a model in JavaScript or Python is open, until {@link forget}. */
  noteRequired(uid: number, entry: ModelEntry, parts: readonly ModelEntry[]): void {
    if (parts.length > 0) this.#note(this.#requiring, uid, { entry, parts });
    // Without parts, too: an earlier version may have required models.
    entry.runsOn(parts);
  }

  /** The names of the models that a model needed when it was loaded last, or was to be. */
  neededBy(entry: ModelEntry): readonly string[] {
    return this.#needed.get(entry) ?? [];
  }

  /** A load has ended: its versions, if there are any, need their models themselves now. */
  endLoad(entry: ModelEntry): void {
    this.#held.delete(entry);
  }

  async #loadAll(
    entry: ModelEntry,
    parts: readonly ModelEntry[],
    load: Wait,
    failed: (part: ModelEntry, reason: Error) => Error,
  ): Promise<void> {
    const held = new Set<ModelEntry>();
    this.#waits.set(entry, parts);
    this.#held.set(entry, held);
    try {
      const results = await Promise.allSettled(
        parts.map(async (part) => {
          try {
            // One that is served already is held while the others load.
            if (isServed(part)) held.add(part);
            await this.#host.loadPart(part, load);
            held.add(part);
            // An unload may have had its turn before this went on.
            if (!isServed(part))
              throw unavailable('NOT_READY', `model '${part.text}' was unloaded meanwhile`);
          } catch (error) {
            throw failed(part, error instanceof Error ? error : new Error(thrownText(error)));
          }
        }),
      );
      for (const result of results) if (result.status === 'rejected') throw result.reason;
    } finally {
      // A load that was given up may end after a later one has begun.
      if (this.#waits.get(entry) === parts) this.#waits.delete(entry);
    }
  }

  /**
   * The models over which a model waits for another; undefined if it does not.
   *
   * @param passed - The models that earlier searches for `to` have visited. It gets those of this one.
   */
  #chain(from: ModelEntry, to: ModelEntry, passed: Set<ModelEntry>): ModelEntry[] | undefined {
    const cameFrom = new Map<ModelEntry, ModelEntry | undefined>([[from, undefined]]);
    for (const one of cameFrom.keys()) {
      if (one === to) {
        const chain: ModelEntry[] = [];
        for (let at: ModelEntry | undefined = one; at; at = cameFrom.get(at)) chain.unshift(at);
        return chain;
      }
      if (passed.has(one)) continue;
      passed.add(one);
      for (const part of this.#waits.get(one) ?? this.partsOf(one)) {
        if (!cameFrom.has(part)) cameFrom.set(part, one);
      }
    }
    return undefined;
  }

  /** The models that an open ensemble or JavaScript model needs, each once. */
  partsOf(entry: ModelEntry): readonly ModelEntry[] {
    return [...new Set([...(this.#byEntry.get(entry) ?? [])].flatMap(({ parts }) => parts))];
  }

  #note<T extends Requiring>(users: Map<number, T>, uid: number, user: T): void {
    users.set(uid, user);
    const known = this.#byEntry.get(user.entry);
    if (known) known.add(user);
    else this.#byEntry.set(user.entry, new Set([user]));
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
  open(entry: ModelEntry, prepared: PreparedConfig, version: number): VersionDescriptor {
    const begin = performance.now();
    const { server } = this.#host;
    const finished = finishConfig(prepared, undefined, tritonDefaults);
    const { source } = prepared;
    const compiled = this.#compile(entry, finished.config, source);
    const { config, plan, versions, labels, parts } = compiled;
    const { batchSizeCompleted } = finished;
    const uncached = withoutCache(config, this.#host.caches);
    const notes = [...finished.notes, ...compiled.notes, ...uncached];
    const uid = server.addEnsemble(config.name, version, plan, this.#host.latenciesOf(config));
    const identity = this.#identity(entry, config, version, versions);
    const steps = versions.map((step) => step.uid);
    this.#note(this.#open, uid, { entry, uid, config, source, version, parts, steps, identity });
    entry.runsOn(parts);
    const error = server.bindEnsemble(uid, steps, identity);
    if (error) {
      this.forget(uid);
      void retire(server, uid);
      throw statusError(error, { model: config.name });
    }
    const loadSeconds = (performance.now() - begin) / 1000;
    const takesIds = versions.some((step) => step.takesIds === true);
    return { uid, config, notes, batchSizeCompleted, takesIds, labels, instances: [], loadSeconds };
  }

  /** What stands for the content of an ensemble whose steps are these versions; '': it is not known, or not needed. */
  #identity(
    { key: { namespace }, name }: ModelEntry,
    config: ModelConfig,
    version: number,
    steps: readonly ComposingVersion[],
  ): string {
    if (this.#host.caches.remoteCache === undefined) return '';
    // Those of ensembles change when these are bound again.
    const known = steps.map(({ uid, identity }) => this.#open.get(uid)?.identity ?? identity ?? '');
    if (known.includes('')) return '';
    return ensembleIdentity({ namespace, model: name, version, config: printConfigJson(config, 0) }, known);
  }

  /** Compiles an ensemble with the models that its steps mean now. */
  #compile(
    { key }: ModelEntry,
    config: ModelConfig,
    source: ConfigSource,
  ): CompiledEnsemble & { readonly parts: readonly ModelEntry[] } {
    const parts = new Set<ModelEntry>();
    const compiled = compileEnsemble(config, source, (name) => {
      const part = this.#partOf(key, name);
      if (part) parts.add(part);
      return part && composingVersions(part);
    });
    return { ...compiled, parts: [...parts] };
  }

  /**
   * The model that a step's name means: the one of the ensemble's namespace, else the only one.
   *
   * @throws {@link TritonError} INVALID_ARG if several other namespaces have it.
   */
  #partOf(key: ModelKey, name: string): ModelEntry | undefined {
    try {
      return this.#host.resolve(name, key.namespace);
    } catch (cause) {
      // Triton's words.
      const text = `ensemble ${keyText(key)} contains models that are not available or ambiguous: ${name} (${thrownText(cause)})`;
      throw invalidArgument(text, { model: key.name, cause });
    }
  }

  /** A version is retired. */
  forget(uid: number): void {
    const user = this.#open.get(uid) ?? this.#requiring.get(uid);
    if (!user) return;
    this.#open.delete(uid);
    this.#requiring.delete(uid);
    const left = this.#byEntry.get(user.entry);
    left?.delete(user);
    if (left?.size === 0) this.#byEntry.delete(user.entry);
  }

  /** Whether an open version of this model is an ensemble. */
  has(entry: ModelEntry): boolean {
    return [...this.#open.values()].some((one) => one.entry === entry);
  }

  /** The ensembles and JavaScript models that need a model, or that are loading with it, sorted. */
  usersOf(entry: ModelEntry): ModelEntry[] {
    const users = this.#users().flatMap((user) => (user.parts.includes(entry) ? [user.entry] : []));
    const loading = [...this.#held].flatMap(([user, parts]) => (parts.has(entry) ? [user] : []));
    return [...new Set([...users, ...loading])].sort((a, b) => (a.text < b.text ? -1 : 1));
  }

  /**
   * Other versions of a model are served now. The ensembles with a step of its name are bound to the models that their
   * steps mean now. An ensemble that does not fit them is served no more.
   *
   * @param what - What happened to the model, for the reason.
   * @param why - The reason of the error that took the model out of service.
   */
  changed(model: ModelEntry, what = 'was loaded again', why?: TritonErrorReason): void {
    const { server, caches } = this.#host;
    const around = this.#around(model);
    if (caches.remoteCache !== undefined) {
      // Until all are bound again, those outside answer with new models what their identities say of old ones. They run
      // as they do now, without an identity, before the first is bound. One whose versions are gone is ended below.
      for (const [{ uid, steps }] of [...around].reverse()) server.bindEnsemble(uid, steps, '');
    }
    for (const [ensemble, part] of around) {
      const { entry, uid, config, source } = ensemble;
      // It was ended with one of its ensembles.
      if (!this.#open.has(uid)) continue;
      try {
        const { versions, config: complete, parts } = this.#compile(entry, config, source);
        const steps = versions.map((step) => step.uid);
        const identity = this.#identity(entry, complete, ensemble.version, versions);
        const error = server.bindEnsemble(uid, steps, identity);
        if (error) throw statusError(error, { model: entry.name });
        if (complete !== config) {
          throw invalidArgument(
            `model '${entry.text}': one of its shape tensors has changed; reload the ensemble`,
            { model: entry.name },
          );
        }
        ensemble.parts = parts;
        ensemble.steps = steps;
        ensemble.identity = identity;
        entry.runsOn(parts);
      } catch (error) {
        this.#end(ensemble, `model '${part.text}' ${what}: ${thrownText(error)}`, why);
      }
    }
  }

  /**
   * Names mean other models now, though none was loaded. An ensemble with a step that is ambiguous is served no more, and one
   * whose step means another model that is served is bound to it. One that is not served yet is awaited.
   */
  decideAgain(names: ReadonlySet<string>): void {
    for (const ensemble of [...this.#open.values()]) {
      for (const name of composingModels(ensemble.config)) {
        if (!names.has(name) || !this.#open.has(ensemble.uid)) continue;
        try {
          const part = this.#partOf(ensemble.entry.key, name);
          if (part && isServed(part) && !ensemble.parts.includes(part))
            this.changed(part, 'has come or gone');
        } catch (error) {
          this.#end(ensemble, thrownText(error), undefined);
        }
      }
    }
  }

  /**
   * The ensembles with a step of a model's name, and those around them, each with one of its parts that is concerned. One
   * comes after all that it contains.
   */
  #around(model: ModelEntry): readonly (readonly [OpenEnsemble, ModelEntry])[] {
    const outermostFirst: [OpenEnsemble, ModelEntry][] = [];
    const found = new Set<OpenEnsemble>();
    const visit = (part: ModelEntry): void => {
      for (const ensemble of this.#open.values()) {
        if (found.has(ensemble) || !composingModels(ensemble.config).includes(part.name)) continue;
        found.add(ensemble);
        visit(ensemble.entry);
        outermostFirst.push([ensemble, part]);
      }
    };
    visit(model);
    return outermostFirst.reverse();
  }

  /** Takes an ensemble out of service. */
  #end({ entry, uid }: OpenEnsemble, reason: string, errorReason: TritonErrorReason | undefined): void {
    this.forget(uid);
    const { versions } = entry.published();
    entry.stamp = '';
    entry.isToReturn = entry.isOfRepository;
    entry.publish({
      state: '',
      reason: '',
      versions: versions.map((one) =>
        one.descriptor?.uid === uid
          ? { version: one.version, state: 'UNAVAILABLE', reason, errorReason }
          : one,
      ),
    });
    entry.endAgents(retire(this.#host.server, uid));
    this.onEnded?.(entry, reason);
    this.changed(entry, 'is not served any more', errorReason);
  }
}

/** The served versions of a model, newest first. */
function composingVersions(entry: ModelEntry): readonly ComposingVersion[] {
  return entry
    .published()
    .versions.flatMap(({ version, state, descriptor }) =>
      state === 'READY' && descriptor ? [{ ...descriptor, version }] : [],
    )
    .sort((a, b) => b.version - a.version);
}

/** Returns what `find` returns. An error that it throws gets the place of the first step of this name. */
function resolveStep(
  config: ModelConfig,
  source: ConfigSource,
  name: string,
  find: () => ModelEntry | undefined,
): ModelEntry | undefined {
  try {
    return find();
  } catch (error) {
    const index = config.ensemble_scheduling?.step.findIndex(({ model_name: one }) => one === name) ?? 0;
    const path = `ensemble_scheduling.step[${index}].model_name`;
    throw fieldError('INVALID_ARG', source, path, thrownText(error), { model: config.name, cause: error });
  }
}

function chainText(first: ModelEntry, chain: readonly ModelEntry[]): string {
  return [first, ...chain].map(({ text }) => text).join(' → ');
}
