/**
 * Compares models of a framework with its library called bare from C++, and with its Python called by hand, batched:
 * `npm run bench -- openvino`, `npm run bench -- tensorflow`, `npm run bench -- pytorch`
 *
 * All sides run the same files with the same threads, and take turns.
 */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { createServer, type Model } from '../../src/index.js';
import { BareLoopProgram, LoopProgram, sizes } from '../contestants/bare-loop.js';
import { describeMachine } from '../measuring/machine.js';
import { models, type BenchModel } from '../measuring/models.js';
import { turnOrder } from '../measuring/rounds.js';
import { count } from '../options.js';
import { significant } from '../../src/perf/plot/numbers.js';
import { machineText } from '../reports/report.js';
import { estimate, ratio, reaches } from '../reports/statistics.js';
import { table } from '../reports/table.js';
import { frameworks, type Framework } from './frameworks.js';

const usage = 'npm run bench -- openvino|tensorflow|pytorch [--rounds <n>] [--window <ms>]';

const byHand = fileURLToPath(new URL('../../../bench/frameworks/by_hand.py', import.meta.url));

/** The required ratios to the bare loop by the number of callers, and to Python by hand. */
const loads: readonly {
  readonly model: string;
  readonly callers: number;
  readonly beside: 'bare' | 'python';
  readonly least: number;
}[] = [
  { model: 'add', callers: 1, beside: 'bare', least: 0.7 },
  { model: 'add', callers: 64, beside: 'bare', least: 0.85 },
  { model: 'add', callers: 64, beside: 'python', least: 1.5 },
  { model: 'digits', callers: 64, beside: 'bare', least: 0.85 },
  { model: 'digits', callers: 64, beside: 'python', least: 1.5 },
  { model: 'mlp', callers: 64, beside: 'bare', least: 0.85 },
  { model: 'mlp', callers: 64, beside: 'python', least: 1.5 },
  { model: 'conv', callers: 1, beside: 'bare', least: 0.95 },
];

/** Calls a model for about `ms` milliseconds with this many callers. Returns the requests per second. */
async function ourRate(
  served: Model,
  { input }: BenchModel,
  rows: readonly Float32Array[],
  callers: number,
  ms: number,
): Promise<number> {
  const begin = performance.now();
  let calls = 0;
  const work = async (): Promise<void> => {
    while (performance.now() < begin + ms) {
      await served.infer({ [input.name]: rows[calls % rows.length] ?? new Float32Array() });
      calls += 1;
    }
  };
  await Promise.all(Array.from({ length: callers }, work));
  return (calls * 1000) / (performance.now() - begin);
}

async function main(framework: Framework, rounds: number, windowMs: number): Promise<void> {
  const machine = describeMachine();
  const threads = machine.cores;
  const library = framework.library();
  if (library === undefined) {
    console.error(
      `${framework.title} is NOT measured: it is not installed. Run \`${framework.install}\` once`,
    );
    return;
  }
  const program = await framework.build(library);
  const folder = await mkdtemp(join(tmpdir(), `tritonts-${framework.backend}-`));
  const rows: string[][] = [];
  try {
    await framework.prepare(
      folder,
      models.filter(({ name }) => loads.some(({ model }) => model === name)),
    );
    const backendConfig = { [framework.backend]: { library } };
    await using server = await createServer(folder, { threads, backendConfig });
    for (const load of loads) {
      const model = models.find((one) => one.name === load.model);
      const items = model?.items();
      if (model === undefined || items?.datatype !== 'FP32') continue;
      const path = join(folder, model.name, '1', framework.file);
      const bare = new BareLoopProgram({ program, library, path, threads, datatype: 'FP32', model });
      const python = new LoopProgram(framework.python, [
        byHand,
        framework.backend,
        path,
        String(threads),
        model.input.itemDims.join(),
      ]);
      // The same batches: as many rows as there are callers, as far as the model takes them.
      const batch = Math.max(...sizes.filter((size) => size <= Math.min(load.callers, model.maxBatchSize)));
      const window = Math.max(windowMs, model.leastWindowMs ?? 0);
      const rival = async (): Promise<number> => {
        const program = load.beside === 'python' ? python : bare;
        const { items: answers, seconds } = await program.ask(batch, window);
        return answers / seconds;
      };
      const sides = [
        {
          run: () => ourRate(server.model(model.name), model, items.values, load.callers, window),
          rates: [] as number[],
        },
        { run: rival, rates: [] as number[] },
      ];
      // Round -1 warms up, and is not kept.
      for (let round = -1; round < rounds; round++) {
        for (const side of turnOrder(sides, round + 1)) {
          const rate = await side.run();
          if (round >= 0) side.rates.push(rate);
        }
      }
      await python.close();
      await bare.close();
      const [ours, theirs] = sides.map(({ rates }) => rates);
      const quotient = ratio(ours ?? [], theirs ?? []);
      rows.push([
        model.title,
        String(load.callers),
        load.beside === 'bare' ? `bare loop, batches of ${batch}` : `Python by hand, batches of ${batch}`,
        significant(estimate(theirs ?? []).median),
        significant(estimate(ours ?? []).median),
        significant(quotient.median),
        significant(quotient.spread),
        `${load.least} ${reaches(quotient, load.least) ? 'met' : 'MISSED'}`,
      ]);
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
  const head = ['model', 'callers', 'beside', 'its requests/s', 'ours', 'ours / its', '±', 'required'];
  console.log(
    `${machineText(machine)}\n${threads} threads for each side, ${rounds} rounds\n\n${table(head, rows)}`,
  );
}

let settings: { framework: Framework; rounds: number; windowMs: number } | undefined;
try {
  const { values, positionals } = parseArgs({
    options: { rounds: { type: 'string' }, window: { type: 'string' } },
    allowPositionals: true,
  });
  const framework = frameworks.find(({ backend }) => backend === positionals[0]);
  if (framework === undefined || positionals.length > 1)
    throw new Error('expected the name of one framework');
  settings = {
    framework,
    rounds: count('--rounds', values.rounds ?? '15'),
    windowMs: count('--window', values.window ?? '300'),
  };
} catch (error) {
  console.error(`${error instanceof Error ? error.message : String(error)}\n\n${usage}`);
  process.exitCode = 1;
}
if (settings) await main(settings.framework, settings.rounds, settings.windowMs);
