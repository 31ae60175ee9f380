/**
 * `npm run bench -- start`: measures the import of the package, compared with that of onnxruntime-node, and the time of
 * `tritonts serve` from its start to its first answer, compared with a bare `node:http` server.
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
import { servers, firstAnswer } from './serve-start.js';
import { turnOrder } from '../measuring/rounds.js';
import { estimate, ratio, staysBelow } from '../reports/statistics.js';
import { table } from '../reports/table.js';

/** The limit in milliseconds for a server without models to answer. */
const serveLimitMs = 250;

/** The limit for this package's import time, as a multiple of the other package's. */
const limit = 1.5;

const usage = `npm run bench -- start [--rounds <n>]
  --rounds <n>  fresh processes for each (default 21)`;

const run = promisify(execFile);

const root = fileURLToPath(new URL('../../../', import.meta.url));
/** The package as it is published, in few files. */
const published = join(root, 'build', 'bench', 'package');

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

async function main(rounds: number): Promise<void> {
  await run(process.execPath, [join(root, 'scripts', 'package', 'library.mjs'), published]);
  const times = packages.map((entry) => ({ ...entry, milliseconds: [] as number[] }));
  // Round -1 fills the disk's cache, and is not kept.
  for (let round = -1; round < rounds; round++) {
    for (const { url, milliseconds } of turnOrder(times, round + 1)) {
      const time = await importTime(url);
      if (round >= 0) milliseconds.push(time);
    }
  }
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
  const startRows = starts.map(({ name, milliseconds }) => {
    const { median, spread } = estimate(milliseconds);
    return [name, significant(median), significant(spread)];
  });
  const startMedians = starts.map(({ milliseconds }) => estimate(milliseconds).median);
  const verdict = staysBelow(share, limit) ? 'met' : 'MISSED';
  console.log(`${machineText(describeMachine())}
import in fresh processes, ${rounds} rounds, interleaved; medians ± median deviation

${table(['package', 'import ms', '±'], rows)}

tritonts / onnxruntime-node: ${significant(share.median)} ± ${significant(share.spread)}, required ≤ ${limit}: ${verdict}

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
