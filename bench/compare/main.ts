/**
 * `npm run bench -- compare`: compares two commits of this project in interleaved rounds. See bench/README.md.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { writeRepository } from '../../test/support/repository.js';
import { Child } from '../measuring/child.js';
import { requiredLoads } from '../reports/figures.js';
import { describeMachine } from '../measuring/machine.js';
import { configOf, models } from '../measuring/models.js';
import { grouped, significant } from '../reports/numbers.js';
import { machineText } from '../reports/report.js';
import { turnOrder } from '../measuring/rounds.js';
import { estimate, ratio } from '../reports/statistics.js';
import { table } from '../reports/table.js';
import { checkOut, workingTree, type Checkout } from './checkout.js';
import { compareUsage, readCompareOptions, type CompareOptions } from './options.js';
import type { Question } from './question.js';

/** Shows the current step, as some steps take long. */
function progress(text: string): void {
  process.stderr.write(process.stderr.isTTY ? `\r\u001b[K${text}` : `${text}\n`);
}

async function main(options: CompareOptions): Promise<void> {
  const { first, second, only } = options;
  const checkouts = [
    await checkOut(first, progress),
    second === undefined ? workingTree() : await checkOut(second, progress),
  ];
  const machine = describeMachine();
  const folder = await mkdtemp(join(tmpdir(), 'tritonts-compare-'));
  try {
    const chosen = models.filter(({ name }) => only.includes(name));
    for (const model of chosen) {
      await writeRepository(folder, {
        [model.name]: {
          config: configOf(model, model.items().datatype),
          versions: { '1': model.bytes ? model.bytes() : {} },
        },
      });
    }
    const rows = await measureBoth(checkouts, folder, options);
    const names = checkouts.map(({ name }) => name);
    console.log(`${machineText(machine)}
${options.rounds} interleaved rounds of ${options.windowMs} ms; medians ± median deviation

${table(['model', 'outstanding', ...names.map((name) => `${name}, /s`), 'second / first', '±'], rows)}`);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function measureBoth(
  checkouts: readonly Checkout[],
  folder: string,
  { only, rounds, windowMs }: CompareOptions,
): Promise<string[][]> {
  const sides: { child: Child<Question>; rates: number[] }[] = [];
  try {
    for (const { entry } of checkouts) {
      const child = new Child<Question>(new URL('commit.js', import.meta.url), [entry, folder, ...only]);
      sides.push({ child, rates: [] });
      await child.answer();
    }
    const rows: string[][] = [];
    for (const { name } of models.filter((model) => only.includes(model.name))) {
      for (const outstanding of requiredLoads(name)) {
        for (const side of sides) side.rates = [];
        for (let round = -1; round < rounds; round++) {
          for (const { child, rates } of turnOrder(sides, round + 1)) {
            const rate = await child.ask({ model: name, outstanding, windowMs });
            // Round -1 warms up compilers and caches, and is not kept.
            if (round >= 0) rates.push(rate);
          }
        }
        const [before = [], after = []] = sides.map(({ rates }) => rates);
        const { median, spread } = ratio(after, before);
        rows.push([
          name,
          String(outstanding),
          ...[before, after].map((rates) => grouped(estimate(rates).median)),
          significant(median),
          significant(spread),
        ]);
      }
    }
    return rows;
  } finally {
    await Promise.all(sides.map(({ child }) => child.close()));
  }
}

let options: CompareOptions | undefined;
try {
  options = readCompareOptions(process.argv.slice(2));
} catch (error) {
  console.error(`${error instanceof Error ? error.message : String(error)}\n\n${compareUsage}`);
  process.exitCode = 1;
}
if (options) await main(options);
