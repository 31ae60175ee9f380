/** `npm run bench -- scale`: measures the cost of many models and many items. See bench/README.md. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isMet, limitsText, type Measured } from '../limits/limits.js';
import { describeMachine } from '../measuring/machine.js';
import { machineText } from '../reports/report.js';
import { measureLoading } from './load-figures.js';
import { measureMap } from './map-figures.js';
import { measureMemory } from './memory-figures.js';
import { writeModels } from './models.js';
import { readScaleOptions, scaleUsage, type ScaleOptions } from './options.js';
import { measureServed, servedCounts } from './served-figures.js';

const parts = {
  served: measureServed,
  load: measureLoading,
  memory: measureMemory,
  map: measureMap,
} as const satisfies Record<
  ScaleOptions['only'][number],
  (folder: string, options: ScaleOptions, progress: (text: string) => void) => Promise<Measured[]>
>;

async function main(options: ScaleOptions): Promise<void> {
  const machine = describeMachine();
  const folder = await mkdtemp(join(tmpdir(), 'tritonts-scale-'));
  const figures: Measured[] = [];
  try {
    await writeModels(folder, Math.max(...servedCounts), 'add');
    await writeModels(folder, 400, 'digits');
    for (const part of options.only) figures.push(...(await parts[part](folder, options, progress)));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
  progress('');
  if (options.json) {
    const verdicts = figures.map((figure) => ({ ...figure, met: isMet(figure) }));
    console.log(JSON.stringify({ machine, ...options, figures: verdicts }, null, 1));
  } else {
    console.log(
      `${machineText(machine)}\n${options.rounds} rounds, interleaved; medians ± median deviation\n`,
    );
    console.log(limitsText(figures));
  }
}

/** Shows a line that the next one replaces, if the output is a terminal. */
function progress(text: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\r\u001b[K${text}`);
}

let options: ScaleOptions | undefined;
try {
  options = readScaleOptions(process.argv.slice(2));
} catch (error) {
  console.error(`${error instanceof Error ? error.message : String(error)}\n\n${scaleUsage}`);
  process.exitCode = 1;
}
if (options) await main(options);
