/** How long it takes to load many small models. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Measured } from '../limits/limits.js';
import { Child } from '../measuring/child.js';
import { turnOrder } from '../measuring/rounds.js';
import { estimate, ratio } from '../reports/statistics.js';
import { writeModels } from './models.js';
import type { Kind } from './names.js';
import type { ScaleOptions } from './options.js';

const models = 100;

/**
 * Three kinds of models: each with another configuration; equal except for the name, like those of a
 * service's customers; and models of a few hundred bytes, which only show what is added to a session that
 * takes no time.
 */
const kinds: readonly { readonly kind: Kind; readonly one?: number; readonly four?: number }[] = [
  { kind: 'various', one: 1.1, four: 0.8 },
  { kind: 'digits' },
  { kind: 'add' },
];

/**
 * Measures in fresh processes that have loaded one model before. Their repositories contain no other models,
 * because a start looks at those, too.
 */
export async function measureLoading(
  _folder: string,
  options: ScaleOptions,
  progress: (text: string) => void,
): Promise<Measured[]> {
  const figures: Measured[] = [];
  for (const limits of kinds) {
    const folder = await mkdtemp(join(tmpdir(), 'tritonts-loading-'));
    try {
      await writeModels(folder, models + 1, limits.kind);
      figures.push(...(await measureKind(folder, limits, options, progress)));
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  }
  return figures;
}

async function measureKind(
  folder: string,
  { kind, one, four }: (typeof kinds)[number],
  { rounds }: ScaleOptions,
  progress: (text: string) => void,
): Promise<Measured[]> {
  const contestant = (loaders: string, atMost?: number): Contestant => ({ loaders, atMost, times: [] });
  const sessions = contestant('0');
  const silent = contestant('silent');
  const ours = [contestant('1', one), contestant('4', four)];
  for (let round = -1; round < rounds; round++) {
    for (const { loaders, times } of turnOrder([sessions, silent, ...ours], round + 1)) {
      progress(`round ${Math.max(1, round + 1)} of ${rounds}: loading ${models} models, ${loaders}`);
      const args = [folder, kind, String(models), loaders, 'time'];
      const time = await new Child(new URL('loading.js', import.meta.url), args).answer();
      if (round >= 0) times.push(time);
    }
  }
  return ours.flatMap(({ loaders, atMost, times }) => {
    const what = `load of ${models} models (${kind}), modelLoadConcurrency ${loaders}`;
    const beside = (rival: Contestant, name: string): Pick<Measured, 'value' | 'unit' | 'detail'> => ({
      value: ratio(times, rival.times),
      unit: 'x',
      detail: `${milliseconds(times)}, ${name} ${milliseconds(rival.times)}`,
    });
    return [
      {
        what,
        ...beside(sessions, 'sessions of onnxruntime-node'),
        ...(atMost !== undefined && { limit: { atMost } }),
      },
      { what: `${what}, telemetry off`, ...beside(silent, 'sessions with ORT_DISABLE_TELEMETRY=1') },
    ];
  });
}

/** A way to load. */
interface Contestant {
  /** The argument for `loading.js`. */
  readonly loaders: string;
  readonly atMost: number | undefined;
  readonly times: number[];
}

function milliseconds(times: readonly number[]): string {
  return `${estimate(times).median.toFixed(0)} ms`;
}
