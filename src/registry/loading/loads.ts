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
import type { Wait } from '../../waits.js';
import type { Ensembles } from '../entries/ensembles.js';
import type { CallOrder } from '../entries/call-order.js';
import type { LostGpus } from '../entries/lost-gpus.js';
import type { ModelEntries } from '../entries/model-entries.js';
import { isServed, servedVersions, type ModelEntry } from '../entries/model-entry.js';
import type { ModelEvents } from '../entries/model-events.js';
import { placeOf } from '../sources/model-source.js';
import { asTritonError, loadModel, type LoadedModel } from './load-model.js';
import type { LoadPlan } from './load-plan.js';
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
  readonly order: CallOrder;
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
  /** What a poll has found out that asks for it. */
  readonly plan: LoadPlan | undefined;
  /** Whether a version of it was warmed up. */
  warmed: boolean;
}

/** See the head of this file. */
export class Loads {
  readonly #host: LoadsHost;
  readonly #reports: LoadReports;
  /** Aborted once loads are cancelled. */
  readonly #stop: AbortController = new AbortController();
  /** The calls of loads that are under way: a load of a part reports to that of its ensemble. */
  readonly #calls: WeakMap<Wait, LoadCall> = new WeakMap();
  /** While a server starts, nobody has it, so nobody sees what is published during loads. */
  starting = true;
  /** Is told of models that are served and were warmed up. What it throws is ignored. */
  onWarmed: ((model: ModelKey) => void) | undefined;

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
    try {
      const loads = await this.#begin(name, call, asker, override, force);
      const results = await Promise.allSettled(loads.map(({ changed }) => changed));
      for (const result of results) if (result.status === 'rejected') throw result.reason;
      return results.some((result) => result.status === 'fulfilled' && result.value);
    } finally {
      releaseOverride(override);
      throwFault(call);
    }
  }

  /** Lists the sources, and begins the loads of a name. They are in an object each, so that nobody waits for them here. */
  async #begin(
    name: string,
    call: LoadCall,
    asker: Wait | undefined,
    override: Override | undefined,
    force: boolean,
  ): Promise<{ readonly changed: Promise<boolean> }[]> {
    const { entries, order } = this.#host;
    const place = order.enter(name);
    try {
      await entries.scan(this.signal);
      await place.earlier;
      // From here to the turns nothing waits, so that no listing forgets these models before they have theirs.
      // A model that is given as bytes needs no repository, and is another model than those of its name there.
      const models =
        (override?.files ?? override?.code)
          ? [entries.ensure({ namespace: defaultNamespace, name })]
          : entries.named(name);
      for (const entry of models) entry.refuseCircle('load', asker);
      this.#reports.expect(Math.max(1, models.length));
      if (models.length === 0) throw this.refuseUnknown(name, call);
      const load = async (entry: ModelEntry): Promise<boolean> => {
        const { changed } = await this.loadKnown(entry, call, asker, { override, force });
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
    } = {},
  ): Promise<LoadedModel> {
    const { override, force = false, plan } = how;
    const { events, lostGpus } = this.#host;
    const { key } = entry;
    const begun = performance.now();
    const loading: Loading = { call, override, force, plan, warmed: false };
    try {
      const outcome = await entry.inTurn('load', asker, (turn) => {
        this.#calls.set(turn, call);
        return this.#load(entry, turn, loading);
      });
      const { versions, changed } = outcome;
      this.#reports.finish();
      for (const version of versions) this.#report(call, key, version, 'READY');
      lostGpus.watch(entry);
      if (loading.warmed) this.#tellWarmed(key);
      if (changed) events.loaded(key, versions, performance.now() - begun, () => entry.notes());
      else if (!plan) events.unchanged(key, versions);
      return outcome;
    } catch (error) {
      const isTold = plan === undefined && (!this.starting || this.#host.options.exitOnError);
      this.#failed(key, call, asTritonError(error, key.name), servedVersions(entry.published()), isTold);
      throw error;
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
          this.#throwIfCancelled(entry);
        },
        report: (version, state): void => {
          if (state === 'WARMING_UP') loading.warmed = true;
          this.#report(loading.call, entry.key, version, state);
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

  #throwIfCancelled({ name: model, text }: ModelEntry): void {
    if (this.signal.aborted)
      throw new TritonError('CANCELLED', `model '${text}': loading was cancelled`, { model });
  }

  #report(call: LoadCall, key: ModelKey, version: number | undefined, state: LoadEvent['state']): void {
    this.#host.events.step(key, version, state);
    if (!this.#reports.report(call, key.name, version, state) && this.starting) this.cancel();
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
