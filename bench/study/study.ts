/**
 * The effect of a server's settings on this machine: `npm run bench -- study`
 *
 * Instances and threads: throughput and latency of each model with one or several instances and thread
 * counts, compared with the default. Batch sizes and delay: the same for several of these. Inline runs: one caller
 * that waits for each answer, and 64 of them, for models between microseconds and a millisecond, with several
 * budgets for inline runs and without such runs. Rows: what batches and threads gain in a bare C++ loop.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { createServer, type AnyTensor, type InferenceServer, type InferResult } from '../../src/index.js';
import { mlpModel } from '../../test/support/models.js';
import { writeRepository, type RepositoryModel } from '../../test/support/repository.js';
import type { Caller } from '../contestants/contestant.js';
import { requiredLoads } from '../reports/figures.js';
import { passAs, takeFrom } from '../measuring/literals.js';
import { measure } from '../measuring/measure.js';
import { configOf, models, type BenchModel, type Items } from '../measuring/models.js';
import { describeMachine } from '../measuring/machine.js';
import { significant } from '../../src/perf/plot/numbers.js';
import { count } from '../options.js';
import { machineText } from '../reports/report.js';
import { turnOrder } from '../measuring/rounds.js';
import { estimate, ratio } from '../reports/statistics.js';
import { studyRows } from './study-rows.js';
import { table } from '../reports/table.js';

const usage = `npm run bench -- study [--rounds <n>] [--window <ms>] [--only threads|batches|inline|rows]`;

/** A model of a server that is compared. */
interface Variant {
  readonly name: string;
  readonly caller: Caller;
}

interface Measured {
  readonly perSecond: number[];
  readonly p50: number[];
}

const none = new Float32Array();

function callerOf(server: InferenceServer, name: string, model: BenchModel, { values }: Items): Caller {
  const served = server.model(name);
  const pass = passAs<Items['values'][number]>(model.input.name);
  const take = takeFrom<AnyTensor>(model.output.name);
  return {
    kind: 'caller',
    name: 'tritonts',
    infer: (index) => served.infer(pass(values[index % values.length] ?? none)),
    read: (answer) =>
      // infer() returned it. All of these models have FP32 outputs.
      take((answer as InferResult).outputs)?.data as Float32Array,
    close: () => Promise.resolve(),
  };
}

/** Measures all variants under one load, in interleaved rounds. */
async function compare(
  variants: readonly Variant[],
  outstanding: number,
  { rounds, windowMs }: { readonly rounds: number; readonly windowMs: number },
): Promise<ReadonlyMap<string, Measured>> {
  const kept = new Map<string, Measured>(variants.map(({ name }) => [name, { perSecond: [], p50: [] }]));
  for (let round = -1; round < rounds; round++) {
    for (const { name, caller } of turnOrder(variants, round + 1)) {
      const load = { outstanding, warmUpMs: windowMs / 5, windowMs, timed: Math.min(outstanding, 8) };
      const { requestsPerSecond, latency } = await measure(caller, load);
      if (round < 0) continue;
      kept.get(name)?.perSecond.push(requestsPerSecond);
      if (latency) kept.get(name)?.p50.push(latency.p50);
    }
  }
  return kept;
}

/** A row for each variant, with its ratio to the first one. */
function rowsOf(label: string, outstanding: number, kept: ReadonlyMap<string, Measured>): string[][] {
  const [first] = kept.values();
  return [...kept].map(([name, { perSecond, p50 }]) => {
    const share = ratio(perSecond, first?.perSecond ?? []);
    return [
      label,
      String(outstanding),
      name,
      significant(estimate(perSecond).median),
      significant(estimate(p50).median),
      significant(share.median),
      significant(share.spread),
    ];
  });
}

const head = ['model', 'outstanding', 'variant', 'requests/s', 'p50 ms', 'to the first', '±'];

interface Settings {
  readonly rounds: number;
  readonly windowMs: number;
}

/** Compares configurations of one model with the first of them. */
async function studyConfigs(
  folder: string,
  model: BenchModel,
  configs: Readonly<Record<string, (config: string) => string>>,
  outstandings: readonly number[],
  settings: Settings,
): Promise<string[][]> {
  const items = model.items();
  const bytes = model.bytes?.();
  if (!bytes) return [];
  const config = configOf(model, items.datatype).replace(`name: "${model.name}"`, '');
  const names = Object.keys(configs);
  const served = Object.values(configs).map((change, i): [string, RepositoryModel] => [
    `v${i}`,
    { config: change(config), versions: { '1': bytes } },
  ]);
  const server = await createServer(
    await writeRepository(join(folder, model.name), Object.fromEntries(served)),
  );
  const variants = names.map((name, i) => ({ name, caller: callerOf(server, `v${i}`, model, items) }));
  const rows: string[][] = [];
  const windowMs = Math.max(settings.windowMs, model.leastWindowMs ?? 0);
  for (const outstanding of outstandings) {
    rows.push(
      ...rowsOf(model.name, outstanding, await compare(variants, outstanding, { ...settings, windowMs })),
    );
  }
  await server.close();
  return rows;
}

function chosen(...names: readonly string[]): readonly BenchModel[] {
  return models.filter(({ name }) => names.includes(name));
}

async function studyThreads(folder: string, settings: Settings): Promise<void> {
  const cores = availableParallelism();
  const of =
    (instances: number, threads?: number) =>
    (config: string): string =>
      config.replace('count: 1', `count: ${instances}`) +
      (threads === undefined
        ? ''
        : `parameters { key: "intra_op_thread_count" value { string_value: "${threads}" } }\n`);
  const configs = {
    default: of(1),
    '1 instance of 1 thread': of(1, 1),
    [`1 instance of ${cores} threads`]: of(1, cores),
    '2 instances, default threads': of(2),
    [`2 instances of ${cores} threads`]: of(2, cores),
    ...(cores > 2 && { [`${cores} instances of 1 thread`]: of(cores, 1) }),
  };
  const rows: string[][] = [];
  for (const model of chosen('add', 'mlp', 'text-8', 'text-32', 'text-128', 'conv')) {
    const outstandings = [1, Math.max(8, ...requiredLoads(model.name))];
    rows.push(...(await studyConfigs(folder, model, configs, outstandings, settings)));
  }
  console.log(`\ninstances × threads\n\n${table(head, rows)}`);
}

async function studyBatches(folder: string, settings: Settings): Promise<void> {
  const of =
    (size: number, delayUs?: number) =>
    (config: string): string =>
      config
        .replace(/max_batch_size: \d+/, `max_batch_size: ${size}`)
        .replace(
          'dynamic_batching { }',
          size === 1
            ? ''
            : `dynamic_batching { ${delayUs === undefined ? '' : `max_queue_delay_microseconds: ${delayUs}`} }`,
        );
  const configs = {
    'max_batch_size 64': of(64),
    'max_batch_size 1': of(1),
    'max_batch_size 4': of(4),
    'max_batch_size 16': of(16),
    'max_batch_size 64, delay 500 µs': of(64, 500),
    'max_batch_size 64, delay 2 ms': of(64, 2000),
  };
  const rows: string[][] = [];
  for (const model of chosen('add', 'mlp', 'text-8', 'text-32')) {
    rows.push(...(await studyConfigs(folder, model, configs, [1, 32], settings)));
  }
  console.log(`\nbatch sizes and delay\n\n${table(head, rows)}`);
}

/** Widths of perceptrons whose runs take about 10 µs, 50 µs, 150 µs, 0.5 ms and 1 ms. */
const sequentialWidths: Readonly<Record<string, readonly number[]>> = {
  'mlp 64-128-64': [64, 128, 64],
  'mlp 64-512-512-64': [64, 512, 512, 64],
  'mlp 64-1024-1024-64': [64, 1024, 1024, 64],
  'mlp 64-2048-2048-64': [64, 2048, 2048, 64],
  'mlp 64-3072-3072-64': [64, 3072, 3072, 64],
};

async function studyInline(folder: string, settings: Settings): Promise<void> {
  const base = models.find(({ name }) => name === 'mlp');
  if (!base) throw new Error('there is no model mlp');
  const input = { name: 'x', dims: [64], itemDims: [64] };
  const items: Items = { datatype: 'FP32', values: [new Float32Array(64).fill(0.5)] };
  const rows: string[][] = [];
  for (const [label, widths] of Object.entries(sequentialWidths)) {
    const model: BenchModel = { ...base, name: 'm', input, output: { name: 'y', dims: [64] } };
    const repository = await writeRepository(join(folder, label.replaceAll(' ', '-')), {
      m: { config: configOf(model, 'FP32'), versions: { '1': mlpModel(widths) } },
    });
    const servers: InferenceServer[] = [];
    const variants: Variant[] = [];
    for (const inline of ['off', 'auto', 200, 1000, 10_000] as const) {
      const server = await createServer({ modelRepository: repository, inline });
      servers.push(server);
      variants.push({ name: `inline ${inline}`, caller: callerOf(server, 'm', model, items) });
    }
    for (const outstanding of [1, 64]) {
      rows.push(...rowsOf(label, outstanding, await compare(variants, outstanding, settings)));
    }
    for (const server of servers) await server.close();
  }
  console.log(`\ninline runs\n\n${table(head, rows)}`);
}

/** The studies that `--only` can name. */
const studies = { threads: studyThreads, batches: studyBatches, inline: studyInline, rows: studyRows };

interface Options extends Settings {
  readonly only: string | undefined;
}

/**
 * Reads the arguments.
 *
 * @throws An Error with a message for the user.
 */
function readOptions(): Options {
  const { values } = parseArgs({
    options: { rounds: { type: 'string' }, window: { type: 'string' }, only: { type: 'string' } },
  });
  const { only } = values;
  if (only !== undefined && !Object.hasOwn(studies, only)) {
    throw new Error(`--only takes ${Object.keys(studies).join(', ')}, not '${only}'`);
  }
  return {
    only,
    rounds: count('--rounds', values.rounds ?? '5'),
    windowMs: count('--window', values.window ?? '400'),
  };
}

async function main(settings: Options): Promise<void> {
  console.log(machineText(describeMachine()));
  const folder = await mkdtemp(join(tmpdir(), 'tritonts-study-'));
  try {
    for (const [name, study] of Object.entries(studies)) {
      if (settings.only === undefined || settings.only === name) await study(join(folder, name), settings);
    }
  } finally {
    await rm(folder, { recursive: true });
  }
}

let options: Options | undefined;
try {
  options = readOptions();
} catch (error) {
  console.error(`${error instanceof Error ? error.message : String(error)}\n\n${usage}`);
  process.exitCode = 1;
}
if (options) await main(options);
