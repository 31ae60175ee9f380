/** Speed and idle cost of servers with few and with many models. */
import type { Measured } from '../limits/limits.js';
import { turnOrder } from '../measuring/rounds.js';
import { estimate, ratio } from '../reports/statistics.js';
import { Child } from '../measuring/child.js';
import type { Question } from './question.js';
import type { ScaleOptions } from './options.js';

/** Number of loaded models, server by server. */
export const servedCounts: readonly number[] = [1, 10, 100, 500, 1000];

/** Number of models that get requests: one, or ten in turn. */
const asked = [1, 10] as const;

/** V8 cleans up once, some seconds after work has ended. The median of several windows leaves that out. */
const idle = { windows: 5, milliseconds: 2000 } as const;

/**
 * Measures with one process for each count. All run at once; each works in turn while the others are idle.
 */
export async function measureServed(
  folder: string,
  { rounds, windowMs }: ScaleOptions,
  progress: (text: string) => void,
): Promise<Measured[]> {
  const servers: { count: number; child: Child<Question>; rates: Map<number, number[]> }[] = [];
  try {
    for (const count of servedCounts) {
      progress(`loading ${count} models`);
      const child = new Child<Question>(new URL('served.js', import.meta.url), [folder, String(count)]);
      servers.push({ count, child, rates: new Map() });
      await child.answer();
    }
    const shares = servers.map(() => [] as number[]);
    for (let window = 0; window < idle.windows; window++) {
      progress(`idle, window ${window + 1} of ${idle.windows}`);
      const question = { ask: 'idle', windowMs: idle.milliseconds } as const;
      const answers = await Promise.all(servers.map(({ child }) => child.ask(question)));
      answers.forEach((share, i) => shares[i]?.push(share));
    }
    for (let round = -1; round < rounds; round++) {
      for (const { count, child, rates } of turnOrder(servers, round + 1)) {
        for (const models of asked) {
          if (models > count) continue;
          progress(`round ${Math.max(1, round + 1)} of ${rounds}: ${models} of ${count} models`);
          const rate = await child.ask({ ask: 'requests', models, windowMs });
          if (round >= 0) rates.set(models, [...(rates.get(models) ?? []), rate]);
        }
      }
    }
    const figures: Measured[] = [];
    for (const models of asked) {
      const fewest = servers.find(({ count }) => count === models)?.rates.get(models) ?? [];
      for (const { count, rates } of servers) {
        const own = rates.get(models);
        if (!own || count === models) continue;
        figures.push({
          what: `requests to ${models} of ${count} models`,
          value: ratio(own, fewest),
          unit: 'x',
          limit: { atLeast: 0.95 },
          detail: `requests/s beside a server with ${models}`,
        });
      }
    }
    for (const [i, { count }] of servers.entries()) {
      figures.push({
        what: `idle server with ${count} models`,
        value: estimate(shares[i] ?? []),
        unit: '%',
        limit: { atMost: 0.05 },
        detail: `of a core, ${idle.windows} windows of ${idle.milliseconds / 1000} s`,
      });
    }
    return figures;
  } finally {
    await Promise.all(servers.map(({ child }) => child.close()));
  }
}
