/** How long it takes to load many small models. */
import type { Measured } from '../limits.js';
import { turnOrder } from '../rounds.js';
import { estimate, ratio } from '../statistics.js';
import { Child } from '../child.js';
import type { ScaleOptions } from './options.js';

const models = 100;

/** Fresh processes, which have loaded one model before. */
export async function measureLoading(
  folder: string,
  { rounds }: ScaleOptions,
  progress: (text: string) => void,
): Promise<Measured[]> {
  const sessions = { name: 'onnxruntime-node', loaders: 0, times: [] as number[] };
  const one = { name: 'modelLoadConcurrency 1', loaders: 1, times: [] as number[] };
  const four = { name: 'modelLoadConcurrency 4', loaders: 4, times: [] as number[] };
  for (let round = -1; round < rounds; round++) {
    for (const { name, loaders, times } of turnOrder([sessions, one, four], round + 1)) {
      progress(`round ${Math.max(1, round + 1)} of ${rounds}: loading ${models} models, ${name}`);
      const child = new Child(new URL('loading.js', import.meta.url), [
        folder,
        String(models),
        String(loaders),
        'time',
      ]);
      const milliseconds = await child.answer();
      if (round >= 0) times.push(milliseconds);
    }
  }
  const beside = (ours: typeof one, atMost: number): Measured => ({
    what: `load of ${models} models, ${ours.name}`,
    value: ratio(ours.times, sessions.times),
    unit: 'x',
    limit: { atMost },
    detail: `${estimate(ours.times).median.toFixed(0)} ms, sessions of onnxruntime-node ${estimate(sessions.times).median.toFixed(0)} ms`,
  });
  return [beside(one, 1.1), beside(four, 0.7)];
}
