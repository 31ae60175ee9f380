/** Measures `map` over a large data set: its speed compared with a closed loop, and its memory. */
import type { Measured } from '../limits/limits.js';
import { estimate, ratio } from '../reports/statistics.js';
import { Child } from '../measuring/child.js';
import type { ScaleOptions } from './options.js';

/** Number of items in a round, and in the long run whose memory is measured. */
const short = 200_000;
const long = 1_000_000;

/** Measures in a process of its own. */
export async function measureMap(
  folder: string,
  { rounds }: ScaleOptions,
  progress: (text: string) => void,
): Promise<Measured[]> {
  const child = new Child(
    new URL('mapping.js', import.meta.url),
    [folder, String(rounds), String(short), String(long)],
    ['--expose-gc'],
  );
  const mapped: number[] = [];
  const looped: number[] = [];
  for (let round = 0; round < rounds; round++) {
    progress(`round ${round + 1} of ${rounds}: map`);
    mapped.push(await child.answer());
    looped.push(await child.answer());
  }
  progress(`map over ${long} items`);
  const resident: number[] = [];
  for (let tenth = 0; tenth < 10; tenth++) resident.push(await child.answer());
  await child.close();
  // The first tenths fill pools and caches.
  const [settled = NaN] = resident.slice(2, 3);
  const grown = (resident.at(-1) ?? NaN) - settled;
  return [
    {
      what: 'map beside a closed loop',
      value: ratio(mapped, looped),
      unit: 'x',
      limit: { atLeast: 0.9 },
      detail: `${short} items, ${Math.round(estimate(mapped).median / 1000)}k a second`,
    },
    {
      what: `memory that map over ${long} items adds`,
      value: estimate([grown / 2 ** 20]),
      unit: 'MiB',
      limit: { atMost: 8 },
      detail: 'resident, from the third tenth to the last',
    },
  ];
}
