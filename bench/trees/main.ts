/**
 * Compares tree models with the C APIs of XGBoost and LightGBM, which run the same files: `npm run bench -- trees`
 *
 * The frameworks run in a process of Python, which only calls their libraries. All sides have the same threads, and
 * take turns.
 */

import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { copyFile, mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { createServer, type Model } from '../../src/index.js';
import { describeMachine } from '../measuring/machine.js';
import { turnOrder } from '../measuring/rounds.js';
import { count } from '../options.js';
import { significant } from '../../src/perf/plot/numbers.js';
import { machineText } from '../reports/report.js';
import { estimate, ratio, reaches } from '../reports/statistics.js';
import { table } from '../reports/table.js';
import { Rivals, type Rival } from './rivals.js';

const usage = 'npm run bench -- trees [--quick] [--rounds <n>] [--window <ms>]';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const sources = join(root, 'bench', 'trees');
/** Trained models are kept, because training takes minutes. */
const folder = join(root, 'build', 'bench', 'trees');
const python = join(root, '.venv-frameworks', 'bin', 'python');

/** The largest difference of two answers, as a share of the framework's if that is above 1. */
const largestDifference = 1e-6;

/** A load: so many rows in each request, and so many requests at once. */
interface Load {
  readonly rows: number;
  readonly callers: number;
  /** The required ratio of rates; undefined: none. */
  readonly least?: number;
}

/** Models of a size. */
interface Case {
  readonly name: string;
  readonly trees: number;
  readonly depth: number;
  readonly features: number;
  readonly loads: readonly Load[];
}

const cases: readonly Case[] = [
  {
    name: 'small',
    trees: 200,
    depth: 6,
    features: 20,
    loads: [
      { rows: 1, callers: 1, least: 10 },
      { rows: 1, callers: 64, least: 10 },
      { rows: 1000, callers: 1, least: 2 },
    ],
  },
  {
    name: 'large',
    trees: 1000,
    depth: 12,
    features: 100,
    loads: [{ rows: 10_000, callers: 1, least: 1 }],
  },
];

const files: Readonly<Record<Rival, { readonly file: string; readonly title: string }>> = {
  xgboost: { file: 'xgboost.ubj', title: 'libxgboost' },
  lightgbm: { file: 'model.txt', title: 'lib_lightgbm' },
};
const rivalNames = Object.keys(files) as Rival[];

/** Trains the models of a case, unless they are there. Returns the repository that has them. */
async function repositoryOf({ name, trees, depth, features, loads }: Case): Promise<string> {
  const rows = Math.max(...loads.map((load) => load.rows));
  if (!existsSync(join(folder, name, 'rows.bin'))) {
    console.error(`Training ${trees} trees of depth ${depth} with both frameworks …`);
    const numbers = [trees, depth, features, rows].map(String);
    const { status } = spawnSync(python, [join(sources, 'train.py'), folder, name, ...numbers], {
      stdio: ['ignore', 2, 2],
    });
    if (status !== 0) throw new Error(`train.py ended with code ${status}`);
  }
  const repository = join(folder, name, 'models');
  for (const rival of rivalNames) {
    const version = join(repository, rival, '1');
    await mkdir(version, { recursive: true });
    await copyFile(join(folder, name, files[rival].file), join(version, files[rival].file));
  }
  return repository;
}

/** Calls a model for about `ms` milliseconds. Returns the rows per second. */
async function ourRate(model: Model, rows: Float32Array, load: Load, ms: number): Promise<number> {
  const shape = [load.rows, rows.length / load.rows];
  const begin = performance.now();
  let calls = 0;
  const work = async (): Promise<void> => {
    while (performance.now() < begin + ms) {
      await model.infer({ input__0: { data: rows, shape } });
      calls += 1;
    }
  };
  await Promise.all(Array.from({ length: load.callers }, work));
  return (calls * load.rows * 1000) / (performance.now() - begin);
}

/** The largest difference of our answers to a framework's. */
async function difference(
  model: Model,
  rivals: Rivals,
  rival: Rival,
  rows: Float32Array,
  number: number,
): Promise<number> {
  const file = join(folder, `${rival}.answers`);
  await rivals.answers(rival, number, file);
  const bytes = await readFile(file);
  const expected = new Float64Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length));
  const { outputs } = await model.infer({ input__0: { data: rows, shape: [number, rows.length / number] } });
  const actual = outputs['output__0']?.as('FP32').data ?? new Float32Array();
  return expected.reduce((largest, value, i) => {
    const one = Math.abs((actual[i] ?? NaN) - value) / Math.max(1, Math.abs(value));
    return one <= largest ? largest : one;
  }, 0);
}

async function measureCase(
  one: Case,
  rounds: number,
  windowMs: number,
  threads: number,
  print: (row: string[]) => void,
): Promise<void> {
  const repository = await repositoryOf(one);
  const bytes = await readFile(join(folder, one.name, 'rows.bin'));
  const all = new Float32Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length));
  const rivals = new Rivals(python, join(sources, 'rivals.py'), folder, threads);
  await using server = await createServer(repository, { threads });
  await rivals.load(one.name, one.features);
  for (const load of one.loads) {
    const rows = all.slice(0, load.rows * one.features);
    const sides = rivalNames.flatMap((rival) => [
      { rival, isOurs: true, rates: [] as number[] },
      { rival, isOurs: false, rates: [] as number[] },
    ]);
    // Round -1 warms up, and is not kept.
    for (let round = -1; round < rounds; round++) {
      for (const { rival, isOurs, rates } of turnOrder(sides, round + 1)) {
        const rate = isOurs
          ? await ourRate(server.model(rival), rows, load, windowMs)
          : await rivals.rate(rival, load.rows, windowMs);
        if (round >= 0) rates.push(rate);
      }
    }
    for (const rival of rivalNames) {
      const [ours, theirs] = [true, false].map(
        (isOurs) => sides.find((side) => side.rival === rival && side.isOurs === isOurs)?.rates ?? [],
      );
      const quotient = ratio(ours ?? [], theirs ?? []);
      const apart = await difference(server.model(rival), rivals, rival, rows, load.rows);
      if (!(apart <= largestDifference)) process.exitCode = 1;
      const { least } = load;
      print([
        `${one.trees} trees, depth ${one.depth}, ${one.features} features`,
        `${load.rows.toLocaleString('en')}${load.callers > 1 ? ` (${load.callers} at once)` : ''}`,
        files[rival].title,
        significant(estimate(theirs ?? []).median),
        significant(estimate(ours ?? []).median),
        significant(quotient.median),
        significant(quotient.spread),
        least === undefined ? '' : `${least} ${reaches(quotient, least) ? 'met' : 'MISSED'}`,
        apart.toExponential(1),
      ]);
    }
  }
  rivals.end();
}

async function main(rounds: number, windowMs: number, isQuick: boolean): Promise<void> {
  const machine = describeMachine();
  if (!existsSync(python)) {
    console.error(
      'The frameworks are NOT measured: their Python packages are not installed. Run `npm test -- frameworks` once',
    );
    return;
  }
  const rows: string[][] = [];
  for (const one of cases.slice(0, isQuick ? 1 : undefined))
    await measureCase(one, rounds, windowMs, machine.cores, (row) => rows.push(row));
  const head = ['model', 'rows', 'beside', 'its rows/s', 'ours', 'ours / its', '±', 'required', 'apart'];
  console.log(
    `${machineText(machine)}\n${machine.cores} threads for each side, ${rounds} rounds\n\n${table(head, rows)}`,
  );
}

let settings: { readonly rounds: number; readonly windowMs: number; readonly isQuick: boolean } | undefined;
try {
  const { values } = parseArgs({
    options: { quick: { type: 'boolean' }, rounds: { type: 'string' }, window: { type: 'string' } },
  });
  settings = {
    rounds: count('--rounds', values.rounds ?? '7'),
    windowMs: count('--window', values.window ?? '300'),
    isQuick: values.quick ?? false,
  };
} catch (error) {
  console.error(`${error instanceof Error ? error.message : String(error)}\n\n${usage}`);
  process.exitCode = 1;
}
if (settings) await main(settings.rounds, settings.windowMs, settings.isQuick);
