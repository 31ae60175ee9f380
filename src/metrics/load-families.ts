/** The family of the phases of loads. */

import { loadBounds, type LoadTimes } from './load-times.js';
import type { Exposition } from './exposition.js';

const name = 'tritonts_model_load_phase_duration_secs';

/** Adds the family; nothing for a server that has loaded nothing. */
export function addLoads(text: Exposition, times: LoadTimes | undefined): void {
  if (!times) return;
  text.family(name, 'histogram', 'Time of a phase of loads');
  for (const [phase, { counts, sum }] of times) text.addHistogram(name, { phase }, loadBounds, counts, sum);
}
