/** The models of a server on its owner's side: which there are, and their loads and unloads. */

import type { NativeServer } from '../addon/native/server.js';
import type { LoadModelOptions } from '../api/load-options.js';
import type { RescanResult } from '../api/rescan.js';
import { Asking } from '../javascript/asker.js';
import type { ModelHost } from '../javascript/model-server.js';
import { endVersions, settleVersions } from '../javascript/versions/versions.js';
import type { ModelKey } from '../model-key.js';
import { latencyPolicy } from '../metrics/metrics-config.js';
import type { ResolvedOptions } from '../options.js';
import { endAgents } from './agents/live-chains.js';
import { ModelAgents } from './agents/model-agents.js';
import { CallOrder } from './entries/call-order.js';
import { Ensembles } from './entries/ensembles.js';
import { LostGpus } from './entries/lost-gpus.js';
import { ModelEntries } from './entries/model-entries.js';
import { ModelEvents } from './entries/model-events.js';
import { LazyModels, type LazyTold } from './lazy/lazy-models.js';
import type { LazyNumbers } from '../metrics/lazy-families.js';
import { LoadStops } from './loading/load-stops.js';
import { Loads } from './loading/loads.js';
import { Poller } from './polling/poller.js';
import { Polls } from './polling/polls.js';
import { Startup } from './loading/startup.js';
import { Repositories } from './repositories.js';
import { defaultUnloadTimeoutMs } from '../time-limit.js';
import { releaseAllFiles } from './sources/held-files.js';
import type { ModelSource } from './sources/model-source.js';
import { sourceOf } from './sources/sources-of.js';
import { Unloads } from './unloads.js';

/** See the head of this file. */
export class Registry {
  readonly #server: NativeServer;
  readonly #entries: ModelEntries;
  readonly #lostGpus: LostGpus;
  readonly #loads: Loads;
  readonly #startup: Startup;
  readonly #unloads: Unloads;
  readonly #poller: Poller;
  readonly #lazy: LazyModels;
  readonly #asking: Asking;
  /** The repositories that the program registers. */
  readonly repositories: Repositories;
  /** The time between two polls in mode 'poll'. */
  readonly #periodMs: number;

  /** @param sources - Where models are looked for, besides those that the options give. */
  constructor(
    server: NativeServer,
    options: ResolvedOptions,
    host: ModelHost,
    sources: readonly ModelSource[],
  ) {
    this.#server = server;
    const { log } = options;
    const entries = new ModelEntries(server, sources, options.models);
    const ensembles = new Ensembles({
      server,
      resolve: (name, own) => entries.resolve(name, own),
      loadPart: (entry, load) =>
        this.#loads.starting ? this.#startup.loadPart(entry, load) : this.#loads.loadPart(entry, load),
      latenciesOf: (config) => latencyPolicy(config, options.metrics),
      caches: options,
    });
    entries.onMoved = (names): void => {
      ensembles.decideAgain(names);
    };
    const lostGpus = new LostGpus({
      entries: () => entries.values(),
      fail: (entry, uids, error) => void this.#unloads.fail(entry, uids, error),
      tell: (entry, reasons) => void entry.tell(reasons),
      warn: (text) => {
        log.warn(text, {});
      },
    });
    const order = new CallOrder();
    const asking = new Asking();
    const agents = new ModelAgents(server, options);
    const parts = { server, entries, order, ensembles, asking, events: new ModelEvents(log) };
    const stops = new LoadStops();
    const loading = { ...parts, options, host, lostGpus, agents, stops };
    this.#entries = entries;
    this.#lostGpus = lostGpus;
    this.#loads = new Loads(loading);
    this.#unloads = new Unloads({
      ...parts,
      log,
      stops,
      loadsMs: options.workers.unloadTimeoutMs ?? defaultUnloadTimeoutMs,
      unloaded: (entry) => {
        this.#lazy.unloaded(entry);
      },
    });
    const changing = { options, entries, ensembles, loads: this.#loads, unloads: this.#unloads };
    this.#lazy = new LazyModels({ ...changing, server });
    this.#startup = new Startup(loading, this.#loads, sources);
    const { signal } = this.#loads;
    this.repositories = new Repositories(
      {
        options,
        entries,
        signal,
        sourceOf: (repository, names) => sourceOf(server, options, repository, names),
      },
      sources,
    );
    const polls = new Polls(changing);
    this.#asking = asking;
    this.#poller = new Poller((wait, isAsked) => polls.poll(wait, isAsked), log);
    this.#periodMs = options.modelControlMode === 'poll' ? options.repositoryPollMs : 0;
  }

  /** Is told of models that are served and were warmed up. What it throws is ignored. */
  set onWarmed(told: (model: ModelKey) => void) {
    this.#loads.onWarmed = told;
  }

  /**
   * Lists the models of the sources. New ones become known; they are not loaded.
   *
   * @throws {@link TritonError} NOT_FOUND, INVALID_ARG or CANCELLED for a source that cannot be listed.
   */
  async scan(): Promise<void> {
    await this.#entries.scan(this.#loads.signal);
  }

  /**
   * Loads the models that the options name, and reports progress. In mode 'poll' the first poll follows after a period.
   *
   * @throws {@link TritonError} Any code, if `exitOnError` is set and models failed: the message lists
   *   every failed model, and the cause is an AggregateError of their errors. INVALID_ARG if there are no
   *   models and none can be loaded later. It also throws what `onProgress` threw; loading is cancelled then.
   */
  async loadAll(): Promise<void> {
    await this.#startup.loadAll();
    this.#lazy.started();
    this.#poller.begin(this.#periodMs);
  }

  /**
   * Looks at the repositories once, after a poll that is under way. See `InferenceServer.rescan`.
   *
   * @throws {@link TritonError} CANCELLED if loads are cancelled meanwhile, UNAVAILABLE if it would wait for the caller.
   */
  rescan(): Promise<RescanResult> {
    return this.#poller.now(this.#asking.asker);
  }

  /**
   * Loads a model, or loads it again if its files have changed: each of this name, if several namespaces have one.
   * New versions take over when all of them are ready; if one fails, the old versions go on serving.
   *
   * @param options - They are checked, and their content is copied, before this returns.
   * @returns Whether anything was loaded.
   * @throws {@link TritonError} INVALID_ARG for wrong options, NOT_FOUND for a model that no repository
   *   has, UNAVAILABLE if the load would wait for itself, because a model that it waits for asks for it, otherwise
   *   the reason's code. When the load has ended, it throws what `onProgress` threw.
   */
  async load(name: string, options: LoadModelOptions | null): Promise<boolean> {
    const began = performance.now();
    try {
      return await this.#loads.load(name, options);
    } finally {
      this.#lazy.waited(name, performance.now() - began);
    }
  }

  /** What is known of a lazy model; undefined for another one. */
  lazyTold(key: ModelKey): LazyTold | undefined {
    return this.#lazy.told(key);
  }

  /** The program asks for a lazy model that may have failed: the next {@link wake} tries it again. */
  endPause(key: ModelKey): void {
    this.#lazy.endPause(key);
  }

  /**
   * Loads a lazy model for a request, unless it is served. Requests that ask meanwhile share the load.
   *
   * @param isUrgent - Whether a model makes the request, which may be the one that others wait for.
   * @param by - The model whose thread asks.
   * @throws {@link TritonError} Why it cannot be loaded; UNAVAILABLE (`CLOSED`) once the server closes, UNAVAILABLE
   *   (`CIRCULAR_CALL`) if the load would wait for itself.
   */
  wake(key: ModelKey, isUrgent: boolean, by?: ModelKey): Promise<void> {
    return this.#lazy.wake(key, by ? this.#lazy.loadOf(by) : this.#asking.asker, isUrgent);
  }

  /**
   * Calls a function. What it asks for before it returns is waited for by the load of a model: by the one that is under way of
   * those of this name. With several, which namespaces may have, none is known to wait.
   */
  asLoadOf<T>(name: string, call: () => T): T {
    const [load, second] = this.#entries.named(name).flatMap(({ key }) => this.#lazy.loadOf(key) ?? []);
    return load === undefined || second !== undefined ? call() : this.#asking.now(load, call);
  }

  /** Whether it is known which model asks for something now. */
  get knowsAsker(): boolean {
    return this.#asking.asker !== undefined;
  }

  /** The lazy models of a name. */
  lazyNamed(name: string): ModelKey[] {
    return this.#lazy.named(name).map(({ key }) => key);
  }

  /** Is told, once, when there is a lazy model. */
  set onLazy(told: () => void) {
    this.#lazy.onFirst = told;
  }

  /** The numbers of lazy models; undefined: there were none so far. */
  get lazyFigures(): LazyNumbers | undefined {
    return this.#lazy.figures;
  }

  /** Cancels loads that have not begun, now and later: they fail with CANCELLED. The same with polls. */
  cancelLoads(): void {
    this.#poller.stop();
    this.#loads.cancel();
  }

  /**
   * Unloads a model, which takes no more requests: each of this name, if several namespaces have one. Resolves when
   * the accepted requests have ended and its memory is free. If one of these asks for it, it resolves at once, and
   * the unload follows.
   *
   * @param withParts - Whether models are unloaded, too, that were loaded only because this one needs them.
   * @param parent - The request that asks for it.
   * @throws {@link TritonError} INVALID_ARG if an ensemble needs the model, or another one requires it, UNAVAILABLE
   *   if a load that it would wait for asks for it.
   */
  unload(name: string, withParts = false, parent?: unknown): Promise<void> {
    return this.#unloads.unload(name, withParts, parent);
  }

  /** The server closes: instances without a thread hold nothing up any more. */
  settle(): void {
    this.#lostGpus.end();
    settleVersions(this.#server);
  }

  /** Ends the threads of models and their repository agents, and removes files that were made for them. The engine has closed. */
  async end(): Promise<void> {
    await endVersions(this.#server);
    await endAgents(this.#server);
    await releaseAllFiles(this.#server);
  }

  /** Waits for polls, loads and unloads that are under way. */
  async settled(): Promise<void> {
    await this.#poller.settled;
    await Promise.all(Array.from(this.#entries.values(), ({ settled }) => settled));
  }
}
