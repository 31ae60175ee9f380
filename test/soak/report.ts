/** Evaluates the samples of a long run. */

import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { plot } from './plot.js';
import { columns, type Sample } from './sample.js';
import { grows, trend, type Trend } from './statistics.js';

/** The counted quantity of the run, and the unit of slopes. */
export interface Counted {
  readonly name: string;
  readonly unit: number;
  readonly unitName: string;
}

/** The last 80 % of the samples, which are judged. */
function lateOf(samples: readonly Sample[]): readonly Sample[] {
  return samples.slice(Math.floor(samples.length * 0.2));
}

/** The trend of a column over the last 80 %, in MiB for each `unit` that is counted. */
export function trendOf(
  samples: readonly Sample[],
  column: 'rss' | 'external' | 'heap',
  unit: number,
): Trend {
  const late = lateOf(samples);
  return trend(
    late.map((line) => line.count / unit),
    late.map((line) => line[column] / 2 ** 20),
  );
}

/**
 * Writes `samples.csv` and `samples.svg`, and prints the trends of the last 80 %.
 *
 * @param allowed - How much resident size may grow (default: not at all).
 * @returns Whether memory certainly grows, or handles, threads or files are left.
 */
export async function report(
  samples: readonly Sample[],
  folder: string,
  counted: Counted,
  allowed = 0,
): Promise<boolean> {
  await mkdir(folder, { recursive: true });
  const rows = samples.map((line) => columns.map((column) => line[column]).join(','));
  await writeFile(join(folder, 'samples.csv'), `${columns.join(',')}\n${rows.join('\n')}\n`);
  const shown = ['rss', 'external', 'heap', 'handles', 'threads', 'files'] as const;
  await writeFile(join(folder, 'samples.svg'), plot(samples, shown, counted.name));

  let failed = false;
  for (const column of ['rss', 'external', 'heap'] as const) {
    const line = trendOf(samples, column, counted.unit);
    // The heap is shown but not judged, because V8 manages it.
    const bad = column !== 'heap' && grows(line, column === 'rss' ? allowed : 0);
    failed ||= bad;
    const slope = `${line.slope.toFixed(2)} ± ${line.interval.toFixed(2)} MiB per ${counted.unitName}`;
    console.log(`${column}: ${slope}${bad ? ': it grows' : ''}`);
  }
  for (const column of ['handles', 'threads', 'files'] as const) {
    const first = samples[Math.floor(samples.length * 0.1)]?.[column] ?? 0;
    const last = samples.at(-1)?.[column] ?? 0;
    failed ||= first !== last;
    console.log(
      `${column}: ${first} after a tenth, ${last} at the end${first === last ? '' : ': they differ'}`,
    );
  }
  console.log(`${folder}/samples.csv and samples.svg hold the measurements`);
  return failed;
}
