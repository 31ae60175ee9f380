/** The families of lazy models. */

import type { Exposition } from './exposition.js';

/** The numbers of a server's lazy models. */
export interface LazyNumbers {
  /** Loads that have ended well. This and what follows is counted from the start. */
  readonly loads: number;
  readonly failedLoads: number;
  /** Unloads for the sake of other models. */
  readonly evictions: number;
  /** Part of the loads: of models that were unloaded less than a minute before. */
  readonly reloads: number;
  /** Loads that exceeded the budget: no idle model could be unloaded, or the model alone exceeds it. */
  readonly overBudget: number;
  /** Waits for loads. The requests of one environment for one model that come together may count once. */
  readonly waits: number;
  readonly waitedMs: number;
  /** The models that are loaded now, and what they take by the estimates. */
  readonly loaded: number;
  readonly loadedBytes: number;
  /** Infinity: there is no limit. */
  readonly budgetBytes: number;
}

const counters: readonly (readonly [name: string, help: string, key: keyof LazyNumbers])[] = [
  ['tritonts_lazy_loads', 'Loads of lazy models', 'loads'],
  ['tritonts_lazy_load_failures', 'Failed loads of lazy models', 'failedLoads'],
  ['tritonts_lazy_evictions', 'Unloads of lazy models for the sake of others', 'evictions'],
  ['tritonts_lazy_reloads', 'Loads of models that were unloaded less than a minute before', 'reloads'],
  ['tritonts_lazy_loads_over_budget', 'Loads that exceeded the memory budget', 'overBudget'],
  ['tritonts_lazy_waits', 'Waits of requests for loads of lazy models', 'waits'],
];

/** Adds the families; nothing if no model was lazy so far. */
export function addLazy(text: Exposition, numbers: LazyNumbers | undefined): void {
  if (numbers === undefined) return;
  for (const [name, help, key] of counters) {
    text.family(name, 'counter', help);
    text.add(name, '', numbers[key]);
  }
  text.family('tritonts_lazy_wait_us', 'counter', 'Time of these waits, in microseconds');
  text.add('tritonts_lazy_wait_us', '', Math.round(numbers.waitedMs * 1000));
  const gauge = (name: string, help: string, value: number): void => {
    text.family(name, 'gauge', help);
    text.add(name, '', value);
  };
  gauge('tritonts_lazy_models_loaded', 'Lazy models that are loaded', numbers.loaded);
  gauge('tritonts_lazy_memory_used_bytes', 'Memory that these take, as measured', numbers.loadedBytes);
  if (numbers.budgetBytes < Infinity)
    gauge('tritonts_lazy_memory_budget_bytes', 'The limit: memoryBudgetBytes', numbers.budgetBytes);
}
