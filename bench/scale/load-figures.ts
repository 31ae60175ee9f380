/** How long it takes to load many small models. */
import type { Measured } from '../limits.js';
import { Child } from '../child.js';
import { turnOrder } from '../rounds.js';
import { estimate, ratio } from '../statistics.js';
import type { Kind } from './models.js';
import type { ScaleOptions } from './options.js';

const models = 100;

/** Models of a few hundred bytes only show what we add to a session that takes no time. */
const kinds: readonly { readonly kind: Kind; readonly one?: number; readonly four?: number }[] = [
  { kind: 'digits', one: 1.1, four: 0.7 },
  { kind: 'add' },
];

/** Fresh processes, which have loaded one model before. */
export async function measureLoading(
  folder: string,
  { rounds }: ScaleOptions,
  progress: (text: string) => void,
): Promise<Measured[]> {
  const figures: Measured[] = [];
  for (const { kind, one, four } of kinds) {
    const sessions = { loaders: 0, times: [] as number[] };
    const ours = [
      { loaders: 1, times: [] as number[], atMost: one },
      { loaders: 4, times: [] as number[], atMost: four },
    ];
    for (let round = -1; round < rounds; round++) {
      for (const { loaders, times } of turnOrder([sessions, ...ours], round + 1)) {
        progress(
          `round ${Math.max(1, round + 1)} of ${rounds}: loading ${models} models, ${loaders} at once`,
        );
        const args = [folder, kind, String(models), String(loaders), 'time'];
        const milliseconds = await new Child(new URL('loading.js', import.meta.url), args).answer();
        if (round >= 0) times.push(milliseconds);
      }
    }
    const theirs = estimate(sessions.times).median.toFixed(0);
    for (const { loaders, times, atMost } of ours) {
      figures.push({
        what: `load of ${models} models (${kind}), modelLoadConcurrency ${loaders}`,
        value: ratio(times, sessions.times),
        unit: 'x',
        ...(atMost !== undefined && { limit: { atMost } }),
        detail: `${estimate(times).median.toFixed(0)} ms, sessions of onnxruntime-node ${theirs} ms`,
      });
    }
  }
  return figures;
}
