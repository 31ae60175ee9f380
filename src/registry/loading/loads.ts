/** The loads of a server's models: in their turn, with reports of their progress, until they are cancelled. */

import type { NativeServer } from '../../addon/native/server.js';
import { checkObject } from '../../argument-checks.js';
import type { LoadModelOptions } from '../../api/load-options.js';
import { TritonError } from '../../errors.js';
import { Asker, type Asking } from '../../javascript/asker.js';
import type { ModelHost } from '../../javascript/model-server.js';
import { cancelOpening } from '../../javascript/versions/versions.js';
import type { GivenModel, LoadEvent, ResolvedOptions } from '../../options.js';
import type { Wait } from '../../waits.js';
import { isServed, type Ensembles } from '../entries/ensembles.js';
import type { LostGpus } from '../entries/lost-gpus.js';
import type { ModelEntries } from '../entries/model-entries.js';
import { servedVersions, type ModelEntry } from '../entries/model-entry.js';
import type { ModelEvents } from '../entries/model-events.js';
import { placeOf } from '../sources/model-source.js';
import { asTritonError, loadModel, type LoadedModel } from './load-model.js';
import { readForce } from './load-options.js';
import { LoadReports, throwFault, type LoadCall } from './load-reports.js';
import { readGivenModel, readOverride, releaseOverride, type Override } from './override.js';

/** What loads need of their registry. */
export interface LoadsHost {
  readonly server: NativeServer;
  readonly options: ResolvedOptions;
  /** The server, for models that call others. */
  readonly host: ModelHost;
  readonly entries: ModelEntries;
  readonly asking: Asking;
  readonly ensembles: Ensembles;
  readonly events: ModelEvents;
  readonly lostGpus: LostGpus;
}

/** A load that is under way. */
interface Loading {
  readonly call: LoadCall;
  readonly override: Override | undefined;
  /** Whether the model is loaded again even if its files have not changed. */
  readonly force: boolean;
  /** Whether a version of it was warmed up. */
  warmed: boolean;
}

/** See the head of this file. */
export class Loads {
  readonly #host: LoadsHost;
  readonly #reports: LoadReports;
  /** Aborted once loads are cancelled. */
  readonly #stop: AbortController = new AbortController();
  /** While a server starts, nobody has it, so nobody sees what is published during loads. */
  starting = true;
  /** Is told of models that are served and were warmed up. What it throws is ignored. */
  onWarmed: ((model: string) => void) | undefined;

  constructor(host: LoadsHost) {
    this.#host = host;
    this.#reports = new LoadReports(host.options.onProgress);
  }

  /** Aborted once loads are cancelled. */
  get signal(): AbortSignal {
    return this.#stop.signal;
  }

  /** Cancels loads that have not begun, now and later: they fail with CANCELLED. */
  cancel(): void {
    const { server } = this.#host;
    this.#stop.abort();
    cancelOpening(server);
    server.cancelLoads();
  }

  /** Adds `models` models to those that the reports of progress count. */
  expect(models: number): void {
    this.#reports.expect(models);
  }

  /**
   * Loads a model that a program asks for. See `Registry.load`.
   *
   * @throws {@link TritonError} As `Registry.load`.
   */
  async load(name: string, options: LoadModelOptions | null): Promise<boolean> {
    const { asking, entries } = this.#host;
    const given: unknown = options ?? {};
    checkObject(given, 'load options');
    // Its members may be anything so far: askerOf checks the parent, and the others are read below.
    const asker = asking.askerOf(name, (given as LoadModelOptions).parent ?? undefined);
    const override = readOverride(name, given);
    const force = readForce(given);
    const call: LoadCall = {};
    try {
      await entries.scan(this.signal);
      // A model that is given as bytes needs no repository.
      if (override?.files ?? override?.code) entries.ensure(name);
      entries.get(name)?.refuseCircle('load', asker);
      this.#reports.expect(1);
      const changed = await this.loadKnown(name, call, asker, override, force);
      const entry = entries.get(name);
      if (entry) entry.isPart = false;
      return changed;
    } finally {
      releaseOverride(override);
      throwFault(call);
    }
  }

  /** Loads a model that another one needs, unless it is served. `load`, the load of that one, waits for it. */
  async loadPart(name: string, load: Wait): Promise<void> {
    const entry = this.#host.entries.get(name);
    if (!entry || isServed(entry)) return;
    entry.refuseCircle('load', load);
    const call: LoadCall = {};
    this.#reports.expect(1);
    await this.loadKnown(name, call, load);
    entry.isPart = true;
    throwFault(call);
  }

  /**
   * Loads a model in its turn, and tells of it.
   *
   * @param asker - Who waits for it, with no circle.
   * @returns Whether anything was loaded.
   * @throws {@link TritonError} NOT_FOUND for a name that is not known, otherwise as {@link loadModel}.
   */
  async loadKnown(
    name: string,
    call: LoadCall,
    asker: Wait | undefined,
    override?: Override,
    force = false,
  ): Promise<boolean> {
    const { entries, events, lostGpus, options } = this.#host;
    const begun = performance.now();
    const loading: Loading = { call, override, force, warmed: false };
    try {
      const entry = entries.get(name);
      if (!entry) throw entries.unknown(name);
      const { versions, changed } = await entry.inTurn('load', asker, (turn) =>
        this.#load(entry, turn, loading),
      );
      this.#reports.finish();
      for (const version of versions) this.#report(call, name, version, 'READY');
      lostGpus.watch();
      if (loading.warmed) this.#tellWarmed(name);
      if (changed) events.loaded(name, versions, performance.now() - begun, () => entry.notes());
      else events.unchanged(name, versions);
      return changed;
    } catch (error) {
      this.#reports.finish();
      this.#report(call, name, undefined, 'UNAVAILABLE');
      const entry = entries.get(name);
      const served = entry ? servedVersions(entry.published()) : [];
      const isTold = !this.starting || options.exitOnError;
      events.failed(name, asTritonError(error, name), served, isTold);
      throw error;
    }
  }

  async #load(entry: ModelEntry, turn: Wait, loading: Loading): Promise<LoadedModel> {
    const { override: asked } = loading;
    const given = entry.given && !(asked?.files ?? asked?.code) ? readGiven(entry, entry.given) : undefined;
    try {
      return await this.#loadWith(
        entry,
        turn,
        loading,
        given ? { ...given, ...(asked && { config: asked.config }) } : asked,
      );
    } finally {
      releaseOverride(given);
    }
  }

  #loadWith(
    entry: ModelEntry,
    turn: Wait,
    loading: Loading,
    override: Override | undefined,
  ): Promise<LoadedModel> {
    const { server, options, ensembles, host, asking } = this.#host;
    return loadModel(
      {
        server,
        options,
        ensembles,
        host: { ...host, asker: new Asker(asking, turn, entry.running) },
        turn,
        seen: !this.starting,
        signal: this.signal,
        throwIfCancelled: (): void => {
          this.#throwIfCancelled(entry.name);
        },
        report: (version, state): void => {
          if (state === 'WARMING_UP') loading.warmed = true;
          this.#report(loading.call, entry.name, version, state);
        },
      },
      entry,
      override,
      loading.force,
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
    if (this.signal.aborted)
      throw new TritonError('CANCELLED', `model '${model}': loading was cancelled`, { model });
  }

  #report(call: LoadCall, model: string, version: number | undefined, state: LoadEvent['state']): void {
    this.#host.events.step(model, version, state);
    if (!this.#reports.report(call, model, version, state) && this.starting) this.cancel();
  }
}

/** The files or the code of a model that the program gave. */
function readGiven({ name, found }: ModelEntry, given: GivenModel): Override {
  const [first] = found;
  if (!first) return readGivenModel(name, given);
  throw new TritonError(
    'INVALID_ARG',
    `model '${name}' is given as options.models['${name}'], and is in a repository, too: ${placeOf(first.model)}`,
    { model: name },
  );
}
