/** The loads of a server's models: in their turn, with reports of their progress, until they are cancelled. */

import type { NativeServer } from '../../addon/native/server.js';
import { checkObject } from '../../argument-checks.js';
import type { LoadModelOptions } from '../../api/load-options.js';
import { TritonError, unavailable } from '../../errors.js';
import { Asker, type Asking } from '../../javascript/asker.js';
import type { ModelHost } from '../../javascript/model-server.js';
import { cancelOpening } from '../../javascript/versions/versions.js';
import { defaultNamespace, type ModelKey } from '../../model-key.js';
import type { GivenModel, LoadEvent, ResolvedOptions } from '../../options.js';
import { sharedController } from '../../signals.js';
import { thrownText } from '../../thrown-text.js';
import type { Wait } from '../../waits.js';
import type { ModelAgents } from '../agents/model-agents.js';
import type { Ensembles } from '../entries/ensembles.js';
import type { CallOrder } from '../entries/call-order.js';
import type { LostGpus } from '../entries/lost-gpus.js';
import type { ModelEntries } from '../entries/model-entries.js';
import { isServed, servedVersions, type ModelEntry } from '../entries/model-entry.js';
import type { ModelEvents } from '../entries/model-events.js';
import { placeOf } from '../sources/model-source.js';
import {
  asTritonError,
  loadModel,
  publishFailure,
  type LoadContext,
  type LoadedModel,
} from './load-model.js';
import type { LoadPlan } from './load-plan.js';
import { readForce } from './load-options.js';
import { givenUp, graceMs, unlessGivenUp, type LoadStops } from './load-stops.js';
import { LoadReports, throwFault, type LoadCall } from './load-reports.js';
import { readGivenModel, readOverride, releaseOverride, type Override } from './override.js';

/** What loads need of their registry. */
export interface LoadsHost {
  readonly server: NativeServer;
  readonly options: ResolvedOptions;
  /** The server, for models that call others. */
  readonly host: ModelHost;
  readonly entries: ModelEntries;
  readonly order: CallOrder;
  readonly asking: Asking;
  readonly ensembles: Ensembles;
  readonly agents: ModelAgents;
  readonly events: ModelEvents;
  readonly lostGpus: LostGpus;
  readonly stops: LoadStops;
}

/** A load that is under way. */
interface Loading {
  readonly call: LoadCall;
  readonly override: Override | undefined;
  /** Whether the model is loaded again even if its files have not changed. */
  readonly force: boolean;
  /** What a poll has found out that asks for it. */
  readonly plan: LoadPlan | undefined;
  /** Whether nothing is loaded if the model is lazy. */
  readonly mayDefer: boolean;
  /** Whether a request asks for it: the model may have been unloaded before its turn. */
  readonly isAsked: boolean;
  /** Whether a version of it was warmed up. */
  warmed: boolean;
  /** Aborted when it is given up, or all loads are cancelled. */
  readonly signal: AbortSignal;
  /** Whether it was given up, and did not end: nothing of it may be published any more. */
  isLeft: boolean;
}

/** The outcome of a load that is not wanted any more. */
const nothing: LoadedModel = { versions: [], changed: false, loaded: [], ended: [], isDeferred: true };

/** See the head of this file. */
export class Loads {
  readonly #host: LoadsHost;
  readonly #reports: LoadReports;
  /** Aborted once loads are cancelled. */
  readonly #stop: AbortController = sharedController();
  /** The calls of loads that are under way: a load of a part reports to that of its ensemble. */
  readonly #calls: WeakMap<Wait, LoadCall> = new WeakMap();
  /** While a server starts, nobody has it, so nobody sees what is published during loads. */
  starting = true;
  /** Is told of models that are served and were warmed up. What it throws is ignored. */
  onWarmed: ((model: ModelKey) => void) | undefined;
  /** Is told of each load that has ended well. `isReplaced`: its configuration or files are not the repository's. */
  onLoaded: ((model: ModelEntry, isReplaced: boolean) => void) | undefined;

  /** Is told of each load that has failed. */
  onFailed: ((model: ModelEntry, error: TritonError) => void) | undefined;

  /** Whether a model is lazy, so that its first request loads it; see {@link LoadContext.defers}. */
  defers: LoadContext['defers'];

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
   * Loads the models of a name that a program asks for, of all namespaces. See `Registry.load`.
   *
   * @throws {@link TritonError} As `Registry.load`.
   */
  async load(name: string, options: LoadModelOptions | null): Promise<boolean> {
    const { asking } = this.#host;
    const given: unknown = options ?? {};
    checkObject(given, 'load options');
    // Its members may be anything so far: askerOf checks the parent, and the others are read below.
    const asker = asking.askerOf(name, (given as LoadModelOptions).parent ?? undefined);
    const override = readOverride(name, given);
    const force = readForce(given);
    const call: LoadCall = {};
    const stop = this.#host.stops.begin(name, undefined, this.signal);
    try {
      const loads = await this.#begin(name, call, asker, { override, force, signal: stop.signal });
      const results = await Promise.allSettled(loads.map(({ changed }) => changed));
      for (const result of results) if (result.status === 'rejected') throw result.reason;
      return results.some((result) => result.status === 'fulfilled' && result.value);
    } finally {
      stop.end();
      releaseOverride(override);
      throwFault(call);
    }
  }

  /** Lists the sources, and begins the loads of a name. They are in an object each, so that nobody waits for them here. */
  async #begin(
    name: string,
    call: LoadCall,
    asker: Wait | undefined,
    how: { readonly override: Override | undefined; readonly force: boolean; readonly signal: AbortSignal },
  ): Promise<{ readonly changed: Promise<boolean> }[]> {
    const { entries, order } = this.#host;
    const { override, signal } = how;
    const place = order.enter(name);
    try {
      const isGiven = (override?.files ?? override?.code) !== undefined;
      // Loads may share a listing, so it goes on.
      await unlessGivenUp(entries.scanFor(name, isGiven, this.signal), signal, 0, () => undefined);
      await place.earlier;
      // From here to the turns nothing waits, so that no listing forgets these models before they have theirs.
      // A model that is given as bytes needs no repository, and is another model than those of its name there.
      const models =
        (override?.files ?? override?.code)
          ? [entries.ensure({ namespace: defaultNamespace, name })]
          : entries.present(name);
      for (const entry of models) entry.refuseCircle('load', asker);
      this.#reports.expect(Math.max(1, models.length));
      if (models.length === 0) throw this.refuseUnknown(name, call);
      const load = async (entry: ModelEntry): Promise<boolean> => {
        const { changed } = await this.loadKnown(entry, call, asker, how);
        entry.isPart = false;
        return changed;
      };
      return models.map((entry) => ({ changed: load(entry) }));
    } finally {
      place.leave();
    }
  }

  /** Loads a model that another one needs, unless it is served. `load`, the load of that one, waits for it. */
  async loadPart(entry: ModelEntry, load: Wait): Promise<void> {
    if (isServed(entry)) return;
    if (entry.isChanging) {
      const text = `model '${entry.text}': its files are being written; it is loaded when they are not any more`;
      throw unavailable('NOT_READY', text, { model: entry.name });
    }
    entry.refuseCircle('load', load);
    this.#reports.expect(1);
    // What its listener throws is for the caller, and the load of the other one goes on.
    await this.loadKnown(entry, this.#calls.get(load) ?? {}, load);
    entry.isPart = true;
  }

  /**
   * Loads a lazy model that a request asks for. What `onProgress` throws is logged.
   *
   * @param asker - Who waits for it, with no circle.
   * @throws {@link TritonError} As {@link loadModel}.
   */
  async loadAsked(entry: ModelEntry, asker: Wait | undefined): Promise<void> {
    const call: LoadCall = {};
    this.#reports.expect(1);
    try {
      await this.loadKnown(entry, call, asker, { isAsked: true });
    } finally {
      if (call.fault) {
        const text = `model '${entry.text}': options.onProgress threw while it was loaded: ${thrownText(call.fault.error)}`;
        this.#host.options.log.error(text, { model: entry.name });
      }
    }
  }

  /**
   * Loads a model in its turn, and tells of it.
   *
   * @param asker - Who waits for it, with no circle.
   * @param how - As for {@link loadModel}.
   * @throws {@link TritonError} As {@link loadModel}.
   */
  async loadKnown(
    entry: ModelEntry,
    call: LoadCall,
    asker: Wait | undefined,
    how: {
      readonly override?: Override | undefined;
      readonly force?: boolean;
      readonly plan?: LoadPlan | undefined;
      readonly mayDefer?: boolean;
      readonly isAsked?: boolean;
      readonly signal?: AbortSignal;
    } = {},
  ): Promise<LoadedModel> {
    const { override, force = false, plan, mayDefer = false, isAsked = false } = how;
    const { ensembles, events, lostGpus, stops } = this.#host;
    const { key } = entry;
    const begun = performance.now();
    const stop = stops.begin(key.name, entry, how.signal ?? this.signal);
    const { signal } = stop;
    const given = { override, force, plan, mayDefer, isAsked };
    const loading: Loading = { call, ...given, warmed: false, signal, isLeft: false };
    try {
      const outcome = await entry.inTurn('load', asker, (turn) => {
        this.#calls.set(turn, call);
        return unlessGivenUp(this.#load(entry, turn, loading), signal, graceMs, () => {
          loading.isLeft = true;
          ensembles.endLoad(entry);
          publishFailure(entry, givenUp(signal)?.message ?? '', true);
        });
      });
      const { versions, changed } = outcome;
      this.#reports.finish();
      for (const version of versions) this.#report(call, key, version, 'READY');
      lostGpus.watch(entry);
      if (loading.warmed) this.#tellWarmed(key);
      if (changed) this.onLoaded?.(entry, override !== undefined);
      if (changed) events.loaded(key, versions, performance.now() - begun, () => entry.notes());
      else if (!plan && outcome.isDeferred !== true) events.unchanged(key, versions);
      return outcome;
    } catch (error) {
      const failure = asTritonError(error, key.name);
      this.onFailed?.(entry, failure);
      const isTold = plan === undefined && (!this.starting || this.#host.options.exitOnError);
      this.#failed(key, call, failure, servedVersions(entry.published()), isTold);
      throw error;
    } finally {
      stop.end();
    }
  }

  /** Tells of the load of a name that is not known. Returns its error. */
  refuseUnknown(name: string, call: LoadCall): TritonError {
    const error = this.#host.entries.unknown(name);
    const isTold = !this.starting || this.#host.options.exitOnError;
    this.#failed({ namespace: defaultNamespace, name }, call, error, [], isTold);
    return error;
  }

  #failed(
    key: ModelKey,
    call: LoadCall,
    error: TritonError,
    served: readonly number[],
    isTold: boolean,
  ): void {
    this.#reports.finish();
    this.#report(call, key, undefined, 'UNAVAILABLE');
    this.#host.events.failed(key, error, served, isTold);
  }

  async #load(entry: ModelEntry, turn: Wait, loading: Loading): Promise<LoadedModel> {
    // Its request is refused as for any model that was unloaded.
    if (loading.isAsked && !entry.isLazy) return nothing;
    const { override: asked } = loading;
    const given = entry.given && !(asked?.files ?? asked?.code) ? readGiven(entry, entry.given) : undefined;
    try {
      return await this.#loadWith(
        entry,
        turn,
        loading,
        given ? { ...given, ...(asked && { config: asked.config }) } : asked,
        given && entry.given,
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
    given: GivenModel | undefined,
  ): Promise<LoadedModel> {
    const { server, options, ensembles, agents, host, asking } = this.#host;
    return loadModel(
      {
        server,
        options,
        ensembles,
        agents,
        host: {
          ...host,
          asker: new Asker(asking, turn, entry.running),
          key: entry.key,
          signal: loading.signal,
        },
        turn,
        given,
        seen: !this.starting,
        signal: loading.signal,
        isLeft: () => loading.isLeft,
        defers: loading.mayDefer ? this.defers : undefined,
        throwIfCancelled: (): void => {
          this.#throwIfCancelled(entry, loading.signal);
        },
        report: (version, state, download): void => {
          if (state === 'WARMING_UP') loading.warmed = true;
          this.#report(loading.call, entry.key, version, state, download);
        },
      },
      entry,
      override,
      loading.force,
      loading.plan,
    );
  }

  #tellWarmed(key: ModelKey): void {
    try {
      this.onWarmed?.(key);
    } catch {
      // Without memory, say. The model is served all the same.
    }
  }

  #throwIfCancelled({ name: model, text }: ModelEntry, signal: AbortSignal): void {
    if (signal.aborted)
      throw (
        givenUp(signal) ?? new TritonError('CANCELLED', `model '${text}': loading was cancelled`, { model })
      );
  }

  #report(
    call: LoadCall,
    key: ModelKey,
    version: number | undefined,
    state: LoadEvent['state'],
    download?: LoadEvent['download'],
  ): void {
    // The log has the begin of a download.
    if (download === undefined || download.done === 0) this.#host.events.step(key, version, state);
    if (!this.#reports.report(call, key, version, state, download) && this.starting) this.cancel();
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
