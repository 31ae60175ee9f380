/** The models of a server on its owner's side: which there are, and their loads and unloads. */

import { insist } from '../addon/memory.js';
import type { NativeServer } from '../addon/native/server.js';
import { didYouMean } from '../suggest.js';
import { TritonError, unavailable, type TritonErrorOptions } from '../errors.js';
import type { GivenModel, LoadEvent, ResolvedOptions } from '../options.js';
import { Ensembles, isServed } from './entries/ensembles.js';
import { asTritonError, loadModel, type LoadedModel } from './loading/load-model.js';
import { Asker, Asking } from '../javascript/asker.js';
import { checkObject } from '../argument-checks.js';
import type { Wait } from '../waits.js';
import { cancelOpening, endVersions, settleVersions } from '../javascript/versions/versions.js';
import type { ModelHost } from '../javascript/model-server.js';
import { readForce } from './loading/load-options.js';
import type { LoadModelOptions } from '../api/load-options.js';
import { LoadReports, throwFault, type LoadCall } from './loading/load-reports.js';
import { retire } from './loading/load-version.js';
import { LostGpus } from './entries/lost-gpus.js';
import { ModelEntry, servedVersions } from './entries/model-entry.js';
import { ModelEvents } from './entries/model-events.js';
import { latencyPolicy } from '../metrics/metrics-config.js';
import { readGivenModel, readOverride, releaseOverride, type Override } from './loading/override.js';
import { reasonsText } from './loading/shared-reasons.js';
import { findModels, noModelsError } from './sources/find-models.js';
import { releaseAllFiles } from './sources/held-files.js';
import { placeOf, type ModelSource } from './sources/model-source.js';

/**
 * How many models are under way for each loader thread while a server starts: one that it loads and one that
 * waits for it. Some more are being read or completed meanwhile.
 */
const modelsPerLoader = 2;
const modelsAhead = 4;

/** See the head of this file. */
export class Registry {
  readonly #server: NativeServer;
  readonly #options: ResolvedOptions;
  readonly #host: ModelHost;
  readonly #sources: readonly ModelSource[];
  readonly #asking: Asking = new Asking();
  readonly #entries: Map<string, ModelEntry> = new Map();
  readonly #reports: LoadReports;
  readonly #events: ModelEvents;
  readonly #ensembles: Ensembles;
  readonly #lostGpus: LostGpus;
  /** The loads of a start by model: an ensemble waits for those of its models. */
  readonly #starts: Map<string, { readonly load: Promise<void>; readonly turn: Wait | undefined }> =
    new Map();
  readonly #startCall: LoadCall = {};
  /** The models that the loads under way have warmed up. */
  readonly #warmed: Set<string> = new Set();
  /** Is told of models that are served and were warmed up. What it throws is ignored. */
  onWarmed: ((model: string) => void) | undefined;
  /** The models that a start was asked for. */
  readonly #asked: Set<string> = new Set();
  /** Models that were loaded only because another one needs them. */
  readonly #parts: Set<string> = new Set();
  /** Aborted once loads are cancelled. */
  readonly #stop: AbortController = new AbortController();
  /** How many listings of the sources have begun, and the newest of those that were taken over. */
  #scans = 0;
  #lastScan = 0;
  /** While a server starts, nobody has it, so nobody sees what is published during loads. */
  #starting = true;

  /** @param sources - Where models are looked for, besides those that the options give. */
  constructor(
    server: NativeServer,
    options: ResolvedOptions,
    host: ModelHost,
    sources: readonly ModelSource[],
  ) {
    this.#host = host;
    this.#sources = sources;
    this.#server = server;
    this.#options = options;
    this.#reports = new LoadReports(options.onProgress);
    this.#events = new ModelEvents(options.log);
    this.#ensembles = new Ensembles({
      server,
      entryOf: (model) => this.#entries.get(model),
      loadPart: (model, load) => this.#loadPart(model, load),
      latenciesOf: (config) => latencyPolicy(config, options.metrics),
    });
    this.#lostGpus = new LostGpus({
      entries: () => this.#entries.values(),
      fail: (entry, uids, error) => void this.#fail(entry, uids, error),
      tell: (entry, reasons) => void this.#tell(entry, reasons),
      warn: (text) => {
        options.log.warn(text, {});
      },
    });
    for (const [name, given] of options.models) {
      this.#entries.set(name, new ModelEntry(server, name, [], given));
    }
  }

  /**
   * Lists the models of the sources. New ones become known; they are not loaded.
   *
   * @throws {@link TritonError} NOT_FOUND, INVALID_ARG or CANCELLED for a source that cannot be listed.
   */
  async scan(): Promise<void> {
    const scan = ++this.#scans;
    const found = await findModels(this.#sources, this.#stop.signal);
    // A source that is slow may answer after one that was asked later. Models that this one saw would be forgotten.
    if (scan < this.#lastScan) return;
    this.#lastScan = scan;
    for (const [name, places] of found) {
      const entry = this.#entries.get(name);
      if (entry) {
        entry.found = places;
      } else {
        this.#entries.set(name, new ModelEntry(this.#server, name, places));
      }
    }
    for (const [name, entry] of this.#entries) {
      if (found.has(name)) continue;
      entry.found = [];
      // A model that left the repository without ever being loaded is forgotten.
      if (!entry.hasVersions && !entry.given) {
        this.#server.withdraw(name);
        this.#entries.delete(name);
      }
    }
  }

  /** Names of the known models, sorted. */
  names(): string[] {
    return [...this.#entries.keys()].sort();
  }

  /**
   * Loads the models that the options name, and reports progress.
   *
   * @throws {@link TritonError} Any code, if `exitOnError` is set and models failed: the message lists
   *   every failed model, and the cause is an AggregateError of their errors. INVALID_ARG if there are no
   *   models and none can be loaded later. It also throws what `onProgress` threw; loading is cancelled then.
   */
  async loadAll(): Promise<void> {
    const { modelControlMode, loadModels, modelLoadConcurrency, exitOnError } = this.#options;
    const all = modelControlMode === 'none' || (loadModels.length === 1 && loadModels[0] === '*');
    const names = all ? this.names() : [...new Set(loadModels)];
    // No model can be added later in this mode.
    if (modelControlMode === 'none' && names.length === 0) {
      const error = await noModelsError(this.#sources);
      if (exitOnError) throw error;
      this.#options.log.warn(error.message, {});
    }
    this.#reports.expect(names.length);
    const failures: TritonError[] = [];
    const call = this.#startCall;
    for (const name of names) this.#asked.add(name);
    // This is enough to keep the loader threads busy, and few enough for the event loop to get its turns.
    const left = names.values();
    const loadSome = async (): Promise<void> => {
      for (const name of left) {
        try {
          await this.#start(name, call);
        } catch (error) {
          failures.push(asTritonError(error, name));
        }
      }
    };
    await Promise.all(Array.from({ length: modelLoadConcurrency * modelsPerLoader + modelsAhead }, loadSome));
    throwFault(call);
    this.#starting = false;
    this.#starts.clear();
    // They are not loaded again in this mode, and they may be large.
    if (modelControlMode === 'none') for (const entry of this.#entries.values()) entry.given = undefined;
    if (names.length > 0) {
      // Now nobody is served who would have to wait for this.
      await new Promise<void>((resolve) => {
        this.#server.returnMemory(resolve);
      });
    }
    if (failures.length > 0 && exitOnError) throw failedLoads(failures, names.length);
  }

  /**
   * Loads a model, or loads it again if its files have changed. New versions take over when all of them are
   * ready; if one fails, the old versions go on serving.
   *
   * @param options - They are checked, and their content is copied, before this returns.
   * @returns Whether anything was loaded.
   * @throws {@link TritonError} INVALID_ARG for wrong options, NOT_FOUND for a model that no repository
   *   has, UNAVAILABLE if the load would wait for itself, because a model that it waits for asks for it, otherwise
   *   the reason's code. When the load has ended, it throws what `onProgress` threw.
   */
  async load(name: string, options: LoadModelOptions | null): Promise<boolean> {
    const given: unknown = options ?? {};
    checkObject(given, 'load options');
    // Its members may be anything so far: askerOf checks the parent, and the others are read below.
    const asker = this.#asking.askerOf(name, (given as LoadModelOptions).parent ?? undefined);
    const override = readOverride(name, given);
    const force = readForce(given);
    const call: LoadCall = {};
    try {
      await this.scan();
      // A model that is given as bytes needs no repository.
      if ((override?.files ?? override?.code) && !this.#entries.has(name)) {
        this.#entries.set(name, new ModelEntry(this.#server, name, []));
      }
      this.#refuseCircle('load', name, asker);
      this.#reports.expect(1);
      const changed = await this.#loadKnown(name, call, asker, override, force);
      this.#parts.delete(name);
      return changed;
    } finally {
      releaseOverride(override);
      throwFault(call);
    }
  }

  /** Cancels loads that have not begun, now and later: they fail with CANCELLED. */
  cancelLoads(): void {
    this.#stop.abort();
    cancelOpening(this.#server);
    this.#server.cancelLoads();
  }

  /**
   * Unloads a model, which takes no more requests. Resolves when the accepted ones have ended and its memory
   * is free. If one of these asks for it, it resolves at once, and the unload follows.
   *
   * @param withParts - Whether models are unloaded, too, that were loaded only because this one needs them.
   * @param parent - The request that asks for it.
   * @throws {@link TritonError} INVALID_ARG if an ensemble needs the model, or another one requires it, UNAVAILABLE
   *   if a load that it would wait for asks for it.
   */
  async unload(name: string, withParts = false, parent?: unknown): Promise<void> {
    const asker = this.#asking.askerOf(name, parent);
    const entry = this.#entries.get(name);
    if (asker?.kind === 'run' && entry?.circle('unload', asker) !== undefined) {
      this.#refuseNeeded(name);
      this.#unload(name, withParts, undefined).catch((error: unknown) => {
        const { message } = asTritonError(error, name);
        this.#options.log.warn(`model '${name}': the unload that it asked for has failed: ${message}`, {
          model: name,
        });
      });
      return;
    }
    await this.#unload(name, withParts, asker);
  }

  async #unload(name: string, withParts: boolean, asker: Wait | undefined): Promise<void> {
    const entry = this.#entries.get(name);
    // As in Triton, unloading an unknown model succeeds.
    if (!entry) return;
    const parts = withParts ? this.#ensembles.partsOf(name) : [];
    this.#refuseCircle('unload', name, asker);
    await entry.inTurn('unload', asker, async () => {
      this.#refuseNeeded(name);
      const versions = servedVersions(entry.published());
      for (const { descriptor } of entry.published().versions) {
        if (descriptor) this.#ensembles.forget(descriptor.uid);
      }
      try {
        await entry.unload();
      } finally {
        entry.runsOn([]);
      }
      this.#parts.delete(name);
      if (versions.length > 0) this.#events.unloaded(name, versions);
    });
    for (const part of parts) {
      if (this.#parts.has(part) && this.#ensembles.usersOf(part).length === 0)
        await this.#unload(part, true, asker);
    }
  }

  #refuseNeeded(name: string): void {
    const users = this.#ensembles.usersOf(name);
    if (users.length === 0) return;
    const noun = users.every((user) => this.#ensembles.has(user)) ? 'ensemble' : 'model';
    throw new TritonError(
      'INVALID_ARG',
      `model '${name}' cannot be unloaded: the ${noun}${users.length > 1 ? 's' : ''} ` +
        `${users.map((user) => `'${user}'`).join(', ')} need${users.length > 1 ? '' : 's'} it; unload ${users.length > 1 ? 'them' : 'that'} first`,
      { model: name },
    );
  }

  #refuseCircle(what: 'load' | 'unload', name: string, asker: Wait | undefined): void {
    const circle = this.#entries.get(name)?.circle(what, asker);
    if (circle === undefined) return;
    throw circularWait(what, name, circle);
  }

  /** The server closes: instances without a thread hold nothing up any more. */
  settle(): void {
    this.#lostGpus.end();
    settleVersions(this.#server);
  }

  /** Ends the threads of models, and removes files that were made for them. The engine has closed. */
  async end(): Promise<void> {
    await endVersions(this.#server);
    await releaseAllFiles(this.#server);
  }

  /** Waits for loads and unloads that are under way. */
  async settled(): Promise<void> {
    await Promise.all([...this.#entries.values()].map(({ settled }) => settled));
  }

  /** Loads a model of a start once, whoever asks for it. `asker` waits for it. */
  async #start(name: string, call: LoadCall, asker?: Wait): Promise<void> {
    const known = this.#starts.get(name);
    if (known) {
      const { load, turn } = known;
      const circle = asker && turn?.circleWith(asker);
      if (circle !== undefined) throw circularWait('load', name, circle);
      const end = turn && asker?.begin(turn);
      await load.finally(end);
      return;
    }
    this.#refuseCircle('load', name, asker);
    const load = this.#loadKnown(name, call, asker).then(() => undefined);
    this.#starts.set(name, { load, turn: this.#entries.get(name)?.last });
    await load;
  }

  /** Loads a model that another one needs, unless it is served. The load of that one waits for it. */
  async #loadPart(name: string, load: Wait): Promise<void> {
    if (this.#starting) {
      if (!this.#starts.has(name) && !this.#asked.has(name)) {
        this.#reports.expect(1);
        this.#parts.add(name);
      }
      return this.#start(name, this.#startCall, load);
    }
    const entry = this.#entries.get(name);
    if (!entry || isServed(entry)) return;
    this.#refuseCircle('load', name, load);
    const call: LoadCall = {};
    this.#reports.expect(1);
    await this.#loadKnown(name, call, load);
    this.#parts.add(name);
    throwFault(call);
  }

  async #loadKnown(
    name: string,
    call: LoadCall,
    asker: Wait | undefined,
    override?: Override,
    force = false,
  ): Promise<boolean> {
    const begun = performance.now();
    try {
      const entry = this.#entries.get(name);
      if (!entry) {
        throw new TritonError(
          'NOT_FOUND',
          `model '${name}' is in no repository${didYouMean(name, this.#entries.keys())}: looked in ` +
            (this.#sources.map(({ place }) => place).join(', ') || 'the models given, as there is none'),
          { model: name },
        );
      }
      const { versions, changed } = await entry.inTurn('load', asker, (turn) =>
        this.#load(entry, turn, call, override, force),
      );
      this.#reports.finish();
      for (const version of versions) this.#report(call, name, version, 'READY');
      this.#lostGpus.watch();
      if (this.#warmed.delete(name)) this.#tellWarmed(name);
      if (changed) this.#events.loaded(name, versions, performance.now() - begun, () => entry.notes());
      else this.#events.unchanged(name, versions);
      return changed;
    } catch (error) {
      this.#reports.finish();
      this.#warmed.delete(name);
      this.#report(call, name, undefined, 'UNAVAILABLE');
      const entry = this.#entries.get(name);
      const served = entry ? servedVersions(entry.published()) : [];
      const isTold = !this.#starting || this.#options.exitOnError;
      this.#events.failed(name, asTritonError(error, name), served, isTold);
      throw error;
    }
  }

  /** Takes versions out of service, unless they have left it by the turn of this. */
  async #fail(entry: ModelEntry, uids: readonly number[], error: TritonError): Promise<void> {
    await entry.inTurn('change', undefined, async () => {
      const { versions } = entry.published();
      const failed = versions.flatMap(({ descriptor }) =>
        descriptor && uids.includes(descriptor.uid) ? [descriptor.uid] : [],
      );
      if (failed.length === 0) return;
      // The same files are loaded when they are asked for again.
      entry.stamp = '';
      await insist(() => {
        entry.publish({
          state: '',
          reason: '',
          versions: versions.map((one) =>
            one.descriptor && failed.includes(one.descriptor.uid)
              ? {
                  version: one.version,
                  state: 'UNAVAILABLE',
                  reason: error.message,
                  errorReason: error.reason,
                }
              : one,
          ),
        });
      });
      for (const uid of failed) this.#ensembles.forget(uid);
      this.#ensembles.changed(entry.name, 'has failed', error.reason);
      for (const uid of failed) void retire(this.#server, uid);
      this.#events.failed(entry.name, error, servedVersions(entry.published()), false);
    });
  }

  /** Publishes reasons of versions that stay in service, by uid. */
  async #tell(entry: ModelEntry, reasons: ReadonlyMap<number, string>): Promise<void> {
    await entry.inTurn('change', undefined, async () => {
      const { versions, ...model } = entry.published();
      await insist(() => {
        entry.publish({
          ...model,
          versions: versions.map((one) => {
            const reason = one.descriptor && reasons.get(one.descriptor.uid);
            return reason === undefined ? one : { ...one, reason };
          }),
        });
      });
    });
  }

  async #load(
    entry: ModelEntry,
    turn: Wait,
    call: LoadCall,
    asked: Override | undefined,
    force: boolean,
  ): Promise<LoadedModel> {
    const given = entry.given && !(asked?.files ?? asked?.code) ? this.#given(entry, entry.given) : undefined;
    try {
      return await this.#loadWith(
        entry,
        turn,
        call,
        given ? { ...given, ...(asked && { config: asked.config }) } : asked,
        force,
      );
    } finally {
      releaseOverride(given);
    }
  }

  #given({ name, found }: ModelEntry, given: GivenModel): Override {
    const [first] = found;
    if (!first) return readGivenModel(name, given);
    throw new TritonError(
      'INVALID_ARG',
      `model '${name}' is given as options.models['${name}'], and is in a repository, too: ${placeOf(first.model)}`,
      { model: name },
    );
  }

  #loadWith(
    entry: ModelEntry,
    turn: Wait,
    call: LoadCall,
    override: Override | undefined,
    force: boolean,
  ): Promise<LoadedModel> {
    return loadModel(
      {
        server: this.#server,
        options: this.#options,
        ensembles: this.#ensembles,
        host: { ...this.#host, asker: new Asker(this.#asking, turn, entry.running) },
        turn,
        seen: !this.#starting,
        signal: this.#stop.signal,
        throwIfCancelled: (): void => {
          this.#throwIfCancelled(entry.name);
        },
        report: (version, state): void => {
          if (state === 'WARMING_UP') this.#warmed.add(entry.name);
          this.#report(call, entry.name, version, state);
        },
      },
      entry,
      override,
      force,
    );
  }

  #tellWarmed(name: string): void {
    try {
      this.onWarmed?.(name);
    } catch {
      // Without memory, say. The model is served all the same.
    }
  }

  #throwIfCancelled(model: string): void {
    if (this.#stop.signal.aborted)
      throw new TritonError('CANCELLED', `model '${model}': loading was cancelled`, { model });
  }

  #report(call: LoadCall, model: string, version: number | undefined, state: LoadEvent['state']): void {
    this.#events.step(model, version, state);
    if (!this.#reports.report(call, model, version, state) && this.#starting) this.cancelLoads();
  }
}

/** The error of what would wait for itself. */
function circularWait(what: 'load' | 'unload', model: string, circle: string): TritonError {
  const text = `model '${model}': this ${what} would wait for itself: ${circle}`;
  return unavailable('CIRCULAR_CALL', text, { model });
}

/** The error of a failed start. The message lists every failed model, and the cause has their errors. */
function failedLoads(failures: TritonError[], models: number): TritonError {
  failures.sort((a, b) => ((a.model ?? '') < (b.model ?? '') ? -1 : 1));
  const [first] = failures;
  const text = reasonsText(failures);
  const sameCode = failures.every(({ code }) => code === first?.code);
  const sameReason = failures.every(({ reason }) => reason === first?.reason);
  const options: TritonErrorOptions = {
    cause: new AggregateError(failures),
    reason: sameReason ? first?.reason : sameCode ? 'LOAD_FAILED' : undefined,
  };
  return new TritonError(
    sameCode ? (first?.code ?? 'INTERNAL') : 'INVALID_ARG',
    `${failures.length} of ${models} models could not be loaded (exitOnError: false serves the others):\n${text}`,
    failures.length === 1
      ? { ...options, model: first?.model, tensor: first?.tensor, location: first?.location }
      : options,
  );
}
