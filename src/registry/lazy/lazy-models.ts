/**
 * The lazy models of a server: which models are lazy, their loads at the first request, and their unloads for the sake of
 * others under a memory budget. Everything else of a load is as for other models.
 */

import { insist } from '../../addon/memory.js';
import type { NativeServer } from '../../addon/native/server.js';
import type { ParsedConfig } from '../../config/index.js';
import { unavailable, type TritonError } from '../../errors.js';
import type { ModelKey } from '../../model-key.js';
import type { ResolvedOptions } from '../../options.js';
import { Wait } from '../../waits.js';
import type { Ensembles } from '../entries/ensembles.js';
import type { ModelEntries } from '../entries/model-entries.js';
import { circularWait, isServed, type ModelEntry } from '../entries/model-entry.js';
import type { PublishedModel } from '../entries/published.js';
import { asTritonError } from '../loading/load-model.js';
import type { Loads } from '../loading/loads.js';
import type { ModelFiles } from '../sources/model-source.js';
import type { Unloads } from '../unloads.js';
import { Budget } from './budget.js';
import { Failures } from './failures.js';
import { LazyCounts, type ModelCounts } from './lazy-counts.js';
import type { LazyNumbers } from '../../metrics/lazy-families.js';
import { isLazy, settingOf } from './load-setting.js';
import { Turns } from './turns.js';

/** What lazy models need of their registry. */
export interface LazyHost {
  readonly server: NativeServer;
  readonly options: ResolvedOptions;
  readonly entries: ModelEntries;
  readonly ensembles: Ensembles;
  readonly loads: Loads;
  readonly unloads: Unloads;
}

/** How many loads run at once without a budget, for each loader thread, and some more. With a budget it is one. */
const loadsPerLoader = 2;
const loadsAhead = 4;

/** What is known of a lazy model. */
export interface LazyTold extends ModelCounts {
  readonly state: 'loaded' | 'loading' | 'asleep' | 'failed';
  /** How long no request has it loaded, because a load has failed. */
  readonly pauseMs: number;
  /** The estimate of what it takes; undefined: there is none. */
  readonly bytes: number | undefined;
  /** The last use of a loaded model, or its load, as `Date.now()` counts; undefined: it is not loaded. */
  readonly lastUseMs: number | undefined;
  readonly isPinned: boolean;
}

/** A load that requests wait for. */
interface Waking {
  readonly load: Promise<void>;
  /** Waits for the load. Those that ask wait for this. */
  readonly wait: Wait;
  readonly isUrgent: boolean;
}

/** What is published of a model that is not served, as if it had been unloaded. */
function withoutFailure({ state, versions }: PublishedModel): PublishedModel {
  const unloaded = { state: 'UNAVAILABLE', reason: 'unloaded' } as const;
  return {
    ...(state === '' || versions.length > 0 ? { state: '', reason: '' } : unloaded),
    versions: versions.map(({ version }) => ({ version, ...unloaded })),
  };
}

/** See the head of this file. */
export class LazyModels {
  readonly #host: LazyHost;
  readonly #budget: Budget;
  readonly #turns: Turns;
  readonly #failures: Failures;
  readonly #counts: LazyCounts;
  readonly #waking: Map<ModelEntry, Waking> = new Map();
  /** Is told when there is a lazy model, once. */
  onFirst: (() => void) | undefined;
  #any = false;

  constructor(host: LazyHost) {
    const { server, options, ensembles, unloads, loads } = host;
    this.#host = host;
    this.#counts = new LazyCounts(options.log, options.memoryBudgetBytes);
    this.#budget = new Budget({
      server,
      log: options.log,
      bytes: options.memoryBudgetBytes,
      isNeeded: (entry) => ensembles.usersOf(entry).length > 0,
      evict: (...evicted) => unloads.evict(...evicted),
      partsOf: (entry) => unloads.partsToEvict(entry),
      counts: this.#counts,
      signal: loads.signal,
    });
    this.#failures = new Failures(
      loads.signal,
      (entry) => {
        this.#mayTryAgain(entry);
      },
      (entry) => ensembles.neededBy(entry).flatMap((name) => host.entries.named(name)),
    );
    const { modelLoadConcurrency } = options;
    this.#turns = new Turns(this.#budget.isLimited ? 1 : modelLoadConcurrency * loadsPerLoader + loadsAhead);
    loads.signal.addEventListener('abort', () => {
      this.#turns.endAll();
    });
    loads.defers = (...model): boolean => this.#defers(...model);
    loads.onFailed = (entry, error): void => {
      if (!entry.isLazy) return;
      this.#counts.failed(entry);
      // Also one that the program, or an ensemble, has asked for: it is not ready until its pause has ended.
      if (!isServed(entry)) this.#failed(entry, error);
    };
    loads.onLoaded = (entry, isReplaced): void => {
      this.#loaded(entry, isReplaced);
    };
  }

  /** The numbers of the metrics; undefined: no model was lazy so far. */
  get figures(): LazyNumbers | undefined {
    if (!this.#any) return undefined;
    const { count, bytes } = this.#budget.residents;
    return this.#counts.figures(count, bytes);
  }

  #defers(entry: ModelEntry, written: ModelFiles['config'], given: ParsedConfig | undefined): boolean {
    if (!isLazy(entry.name, written, given, this.#host.options.load)) return false;
    this.#note();
    entry.isLazy = true;
    // Requests see that it is lazy.
    entry.publish(entry.published());
    return true;
  }

  /** The server has started: from here on, models make the process grow. */
  started(): void {
    this.#budget.start();
    if (!this.#budget.isLimited || this.#any) return;
    this.#host.options.log.warn(
      "memoryBudgetBytes limits nothing so far, because no model is lazy: give load: 'lazy' (--load=lazy), or the parameter 'load' to models",
      {},
    );
  }

  /** The load of a model that is under way; undefined: there is none, and its thread asks for a request. */
  loadOf(key: ModelKey): Wait | undefined {
    const last = this.#host.entries.get(key)?.last;
    return last?.kind === 'load' && !last.ended ? last : undefined;
  }

  /** The lazy models of a name. */
  named(name: string): ModelEntry[] {
    return this.#host.entries.named(name).filter((entry) => entry.isLazy);
  }

  /** The program asks for a load: a pause after a failed one does not count. */
  endPause(key: ModelKey): void {
    const entry = this.#host.entries.get(key);
    if (entry) this.#failures.remove(entry);
  }

  /** The program has waited for the load of models of a name. */
  waited(name: string, ms: number): void {
    for (const entry of this.named(name)) this.#counts.waited(entry, ms);
  }

  /** What is known of a lazy model; undefined for another one. */
  told(key: ModelKey): LazyTold | undefined {
    const entry = this.#host.entries.get(key);
    if (entry?.isLazy !== true) return undefined;
    const { residents } = this.#budget;
    const size = residents.sizeOf(entry);
    const pauseMs = this.#failures.pauseMs(entry);
    const isLoading = this.#waking.has(entry) || this.loadOf(key) !== undefined;
    return {
      ...this.#counts.of(entry),
      state: isServed(entry) ? 'loaded' : pauseMs > 0 ? 'failed' : isLoading ? 'loading' : 'asleep',
      pauseMs,
      bytes: size?.bytes,
      lastUseMs: residents.lastUseMs(entry),
      isPinned: residents.isPinned(entry),
    };
  }

  /** A model was unloaded by the program, or left its repository. */
  unloaded(entry: ModelEntry): void {
    this.#budget.residents.remove(entry);
    this.#failures.remove(entry);
  }

  /**
   * Loads a lazy model, unless it is served. Those that ask meanwhile share the load.
   *
   * @param asker - The model whose load or run asks for it; undefined: none is known.
   * @param isUrgent - Whether a model asks for it: no load, and no unload, waits for others then.
   * @throws {@link TritonError} Why it cannot be loaded, UNAVAILABLE (`CLOSED`) once the server closes, NOT_FOUND for a model
   *   that no repository has.
   */
  async wake(key: ModelKey, asker: Wait | undefined, isUrgent: boolean): Promise<void> {
    const entry = this.#host.entries.get(key);
    if (!entry) throw this.#host.entries.unknown(key.name);
    // The request tells what is wrong with one that is not lazy.
    if (!entry.isLazy || isServed(entry)) return;
    entry.refuseCircle('load', asker);
    const began = performance.now();
    const urgent = isUrgent || asker !== undefined;
    let waking = this.#waking.get(entry);
    if (waking === undefined || (urgent && !waking.isUrgent)) {
      const wait = new Wait('load', '');
      const load = this.#load(entry, wait, urgent).finally(() => {
        wait.end();
        if (this.#waking.get(entry)?.load === load) this.#waking.delete(entry);
      });
      waking = { load, isUrgent: urgent, wait };
      this.#waking.set(entry, waking);
    }
    const circle = asker && waking.wait.circleWith(asker);
    if (circle !== undefined) throw circularWait('load', entry, circle);
    const answered = asker?.begin(waking.wait);
    try {
      await waking.load;
    } finally {
      answered?.();
      this.#counts.waited(entry, performance.now() - began);
    }
  }

  async #load(entry: ModelEntry, wait: Wait, isUrgent: boolean): Promise<void> {
    const { loads } = this.#host;
    const failed = await this.#failures.pausing(entry);
    if (failed) throw failed;
    const leave = isUrgent ? (): void => undefined : await this.#turns.take();
    try {
      this.#throwIfClosed();
      // It may have been unloaded meanwhile.
      if (isServed(entry) || !entry.isLazy) return;
      if (entry.isChanging) {
        const text = `model '${entry.text}': its files are being written; it is loaded when they are not any more`;
        throw unavailable('NOT_READY', text, { model: entry.name });
      }
      await this.#budget.during(entry, isUrgent, async () => {
        // Others have begun to wait since it was asked for.
        entry.refuseCircle('load', wait);
        await loads.loadAsked(entry, wait);
      });
      this.#failures.remove(entry);
    } catch (error) {
      this.#throwIfClosed();
      const failure = asTritonError(error, entry.name);
      this.#failed(entry, failure);
      throw failure;
    } finally {
      leave();
    }
  }

  /** Its load has failed: it has a pause, unless it has one for this error. */
  #failed(entry: ModelEntry, failure: TritonError): void {
    if (failure.reason === 'NOT_READY' || failure.reason === 'CIRCULAR_CALL') return;
    if (!this.#host.loads.signal.aborted && this.#failures.errorOf(entry) !== failure)
      this.#failures.add(entry, failure);
  }

  /**
   * The pause of a failed model has ended: it counts as ready, because clients that ask first would never have it loaded
   * again.
   */
  #mayTryAgain(entry: ModelEntry): void {
    const isOver = (): boolean => this.#host.loads.signal.aborted || !entry.isLazy || isServed(entry);
    if (entry.isBusy || isOver()) return;
    const change = entry.inTurn('change', undefined, async () => {
      if (isOver()) return;
      await insist(() => {
        entry.publish(withoutFailure(entry.published()));
      });
    });
    // The server closes: nobody asks any more.
    change.catch(() => undefined);
  }

  /** A model was loaded: at the start, by a request, for another model, by the program, or by a poll. */
  #loaded(entry: ModelEntry, isReplaced: boolean): void {
    const { options } = this.#host;
    this.#failures.remove(entry);
    this.#failures.removeUsersOf(entry);
    const [config] = entry.published().versions.flatMap(({ descriptor }) => descriptor?.config ?? []);
    if (config === undefined) return;
    const { lazy, pinned } = settingOf(config, options.load);
    entry.isLazy = lazy;
    if (!lazy) {
      this.#budget.residents.remove(entry);
      return;
    }
    this.#note();
    this.#counts.loaded(entry);
    // What the program has given for one load would not be there for the next one.
    this.#budget.residents.add(entry, pinned || isReplaced);
    this.#budget.loadedBeside(entry);
  }

  #note(): void {
    if (this.#any) return;
    this.#any = true;
    this.onFirst?.();
  }

  #throwIfClosed(): void {
    if (this.#host.loads.signal.aborted) throw unavailable('CLOSED', 'the server is closed');
  }
}
