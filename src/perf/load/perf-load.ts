/** What load a run makes. */

import type { LevelRange } from '../measure/levels.js';

/** The load of a run. */
export type PerfLoad =
  | { readonly mode: 'concurrency'; readonly range: LevelRange; readonly search: 'linear' | 'binary' }
  | {
      readonly mode: 'rate';
      readonly range: LevelRange;
      readonly search: 'linear' | 'binary';
      readonly poisson: boolean;
    }
  | { readonly mode: 'intervals'; readonly intervalsMs: readonly number[] };
