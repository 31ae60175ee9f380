/** Counts the loads and unloads of lazy models, and warns when the memory budget is too small for how they are used. */

import type { LazyNumbers } from '../../metrics/lazy-families.js';
import type { Log } from '../../logger.js';
import type { ModelEntry } from '../entries/model-entry.js';

/** A model that is loaded again within this time was unloaded too early. In milliseconds. */
const soonMs = 60_000;
/** The time between two warnings, and over which loads are counted for them. */
const periodMs = 60_000;
/** There is a warning if at least this many loads of a period were of models that were unloaded too early. */
const leastReloads = 16;

/** What is counted of one model. */
export interface ModelCounts {
  readonly loads: number;
  readonly failedLoads: number;
  readonly evictions: number;
  readonly waits: number;
  readonly waitedMs: number;
}

/** The same, while it is counted. */
type Counted = { -readonly [Key in keyof ModelCounts]: ModelCounts[Key] };

const none: ModelCounts = { loads: 0, failedLoads: 0, evictions: 0, waits: 0, waitedMs: 0 };

/** See the head of this file. */
export class LazyCounts {
  readonly #log: Log;
  readonly #budgetBytes: number;
  readonly #evictedAt: WeakMap<ModelEntry, number> = new WeakMap();
  readonly #all: Counted = { ...none };
  readonly #models: WeakMap<ModelEntry, Counted> = new WeakMap();
  #reloads = 0;
  #overBudget = 0;
  /** When the period of the next warning began, and what was counted then. */
  #period = { since: performance.now(), loads: 0, reloads: 0 };
  /** When it was told last that a load exceeds the budget. */
  #toldOver = -Infinity;

  constructor(log: Log, budgetBytes: number) {
    this.#log = log;
    this.#budgetBytes = budgetBytes;
  }

  /** What was counted of a model. */
  of(entry: ModelEntry): ModelCounts {
    return this.#models.get(entry) ?? none;
  }

  #add(entry: ModelEntry, key: keyof ModelCounts, value = 1): void {
    let model = this.#models.get(entry);
    if (!model) this.#models.set(entry, (model = { ...none }));
    model[key] += value;
    this.#all[key] += value;
  }

  loaded(entry: ModelEntry): void {
    this.#add(entry, 'loads');
    const all = this.#all.loads;
    const now = performance.now();
    if (now - (this.#evictedAt.get(entry) ?? -Infinity) >= soonMs) return;
    this.#reloads++;
    const { since, loads, reloads } = this.#period;
    const [recentLoads, recentReloads] = [all - loads, this.#reloads - reloads];
    if (now - since > periodMs) this.#period = { since: now, loads: all, reloads: this.#reloads };
    if (now - since <= periodMs || recentReloads < leastReloads || recentReloads * 2 < recentLoads) return;
    this.#log.warn(
      `the memory budget of ${this.#budgetBytes} bytes is too small for how lazy models are used: of the last ${recentLoads} ` +
        `loads, ${recentReloads} were of models that had been unloaded less than a minute before; a larger memoryBudgetBytes ` +
        'saves their requests these loads',
      {},
    );
  }

  failed(entry: ModelEntry): void {
    this.#add(entry, 'failedLoads');
  }

  evicted(entry: ModelEntry): void {
    this.#add(entry, 'evictions');
    this.#evictedAt.set(entry, performance.now());
  }

  waited(entry: ModelEntry, ms: number): void {
    this.#add(entry, 'waits');
    this.#add(entry, 'waitedMs', ms);
  }

  /** A load goes beyond the budget. @param why - What keeps it from being held. */
  exceeded(entry: ModelEntry, bytes: number, why: string): void {
    this.#overBudget++;
    const now = performance.now();
    if (now - this.#toldOver < periodMs) return;
    this.#toldOver = now;
    this.#log.warn(
      `model '${entry.text}': its load takes about ${bytes} bytes, which exceeds the memory budget of ${this.#budgetBytes} bytes: ${why}`,
      { model: entry.name },
    );
  }

  figures(loaded: number, loadedBytes: number): LazyNumbers {
    return {
      ...this.#all,
      reloads: this.#reloads,
      overBudget: this.#overBudget,
      loaded,
      loadedBytes,
      budgetBytes: this.#budgetBytes,
    };
  }
}
