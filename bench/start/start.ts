/**
 * `npm run bench -- start`: measures, with the package as it is published,
 * - programs from the start of their process: bare Node, the import, the first answer of the digits;
 * - the import alone, compared with that of onnxruntime-node;
 * - `tritonts serve` from its start to its first answer, compared with a bare `node:http` server.
 */
import { execFile } from 'node:child_process';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { parseArgs, promisify } from 'node:util';
import { describeMachine } from '../measuring/machine.js';
import { count } from '../options.js';
import { significant } from '../../src/perf/plot/numbers.js';
import { machineText } from '../reports/report.js';
import { processTimes, programs } from './process-start.js';
import { serversOf, firstAnswer } from './serve-start.js';
import { turnOrder } from '../measuring/rounds.js';
import { estimate, ratio, staysBelow, type Estimate } from '../reports/statistics.js';
import { table } from '../reports/table.js';

/** The limit in milliseconds for what the import adds to a process of bare Node. */
const importLimitMs = 40;

/** The limit in milliseconds for a process until it has the first answer of the digits. */
const digitsLimitMs = 150;

/** The limit in milliseconds for a server without models to answer. */
const serveLimitMs = 250;

/** The limit for this package's import time, as a multiple of the other package's. */
const limit = 1.5;

const usage = `npm run bench -- start [--rounds <n>]
  --rounds <n>  fresh processes for each (default 21)`;

const run = promisify(execFile);

const root = fileURLToPath(new URL('../../../', import.meta.url));
/** A user's folder with the package as it is published, in few files, and its binary. */
const app = join(root, 'build', 'bench', 'app');
const published = join(app, 'node_modules', 'tritonts');

const packages = [
  { name: 'tritonts', url: pathToFileURL(join(published, 'dist', 'src', 'index.js')).href },
  { name: 'the same in a file for each module', url: new URL('../../src/index.js', import.meta.url).href },
  {
    name: 'onnxruntime-node',
    url: pathToFileURL(createRequire(import.meta.url).resolve('onnxruntime-node')).href,
  },
] as const;

/** Milliseconds that an import takes in a fresh process. */
async function importTime(url: string): Promise<number> {
  const script = `const start = performance.now();
await import(${JSON.stringify(url)});
console.log(performance.now() - start);`;
  const { stdout } = await run(process.execPath, ['--input-type=module', '--eval', script]);
  return Number(stdout);
}

function verdictOf(value: Estimate, most: number): string {
  return staysBelow(value, most) ? 'met' : 'MISSED';
}

async function main(rounds: number): Promise<void> {
  await run(process.execPath, [join(root, 'scripts', 'package', 'installed.mjs'), app]);
  const processes = await processTimes(app, rounds);
  const times = packages.map((entry) => ({ ...entry, milliseconds: [] as number[] }));
  // Round -1 fills the disk's cache, and is not kept.
  for (let round = -1; round < rounds; round++) {
    for (const { url, milliseconds } of turnOrder(times, round + 1)) {
      const time = await importTime(url);
      if (round >= 0) milliseconds.push(time);
    }
  }
  const servers = serversOf(join(published, 'dist', 'command', 'main.js'));
  const starts = servers.map((entry) => ({ ...entry, milliseconds: [] as number[] }));
  for (let round = -1; round < rounds; round++) {
    for (const { args, milliseconds } of turnOrder(starts, round + 1)) {
      const time = await firstAnswer(args);
      if (round >= 0) milliseconds.push(time);
    }
  }
  const [ours = [], , theirs = []] = times.map(({ milliseconds }) => milliseconds);
  const share = ratio(ours, theirs);
  const rows = times.map(({ name, milliseconds }) => {
    const { median, spread } = estimate(milliseconds);
    return [name, significant(median), significant(spread)];
  });
  const [bare = [], imported = [], answered = []] = processes;
  const added = estimate(imported.map((time, round) => time - (bare[round] ?? NaN)));
  const digits = estimate(answered);
  const processRows = programs.map(({ name }, at) => {
    const { median, spread } = estimate(processes[at] ?? []);
    return [name, significant(median), significant(spread)];
  });
  const startRows = starts.map(({ name, milliseconds }) => {
    const { median, spread } = estimate(milliseconds);
    return [name, significant(median), significant(spread)];
  });
  const startMedians = starts.map(({ milliseconds }) => estimate(milliseconds).median);
  console.log(`${machineText(describeMachine())}
from the start of a process, ${rounds} rounds, interleaved; medians ± median deviation

${table(['program', 'ms', '±'], processRows)}

import beside bare Node: ${significant(added.median)} ± ${significant(added.spread)} ms, required ≤ ${importLimitMs}: ${verdictOf(added, importLimitMs)}
first answer of the digits: required ≤ ${digitsLimitMs} ms: ${verdictOf(digits, digitsLimitMs)}

import in fresh processes, ${rounds} rounds, interleaved; medians ± median deviation

${table(['package', 'import ms', '±'], rows)}

tritonts / onnxruntime-node: ${significant(share.median)} ± ${significant(share.spread)}, required ≤ ${limit}: ${verdictOf(share, limit)}

from the start of a process to its first answer over HTTP, without models

${table(['server', 'ms', '±'], startRows)}

tritonts serve: required ≤ ${serveLimitMs} ms: ${(startMedians[0] ?? Infinity) <= serveLimitMs ? 'met' : 'MISSED'}`);
}

try {
  const { values } = parseArgs({ options: { rounds: { type: 'string', default: '21' } } });
  await main(count('--rounds', values.rounds));
} catch (error) {
  console.error(`${error instanceof Error ? error.message : String(error)}\n\n${usage}`);
  process.exitCode = 1;
}
