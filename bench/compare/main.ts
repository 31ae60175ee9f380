/**
 * `npm run bench -- compare`: compares two commits of this project in interleaved rounds. See bench/README.md.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { writeRepository } from '../../test/support/repository.js';
import { Child } from '../measuring/child.js';
import { connections } from '../endpoints/endpoint-client.js';
import { endpointLoads } from '../endpoints/endpoint-server.js';
import { grpcConnections } from '../endpoints/grpc-client.js';
import { grpcLoads, inferPath } from '../endpoints/grpc-server.js';
import { describeMachine } from '../measuring/machine.js';
import { grouped, significant } from '../../src/perf/plot/numbers.js';
import { machineText } from '../reports/report.js';
import { turnOrder } from '../measuring/rounds.js';
import { estimate, ratio } from '../reports/statistics.js';
import { table } from '../reports/table.js';
import { checkOut, workingTree, type Checkout } from './checkout.js';
import { compareUsage, readCompareOptions, type CompareOptions } from './options.js';
import type { Question } from './question.js';
import { compareRows, pythonOf, type CompareRow } from './rows.js';

/** Shows the current step, as some steps take long. */
function progress(text: string): void {
  process.stderr.write(process.stderr.isTTY ? `\r\u001b[K${text}` : `${text}\n`);
}

/** A row's process of one commit, and the rates that it had. */
interface Side {
  readonly child: Child<Question>;
  readonly rate: (question: Question) => Promise<number>;
  rates: number[];
}

/** The client of a row that is asked over the network. */
function client(door: 'http' | 'grpc', port: number): (question: Question) => Promise<number> {
  const http = endpointLoads['tiny'];
  const grpc = grpcLoads['tiny'];
  if (!http || !grpc) throw new RangeError('no loads of tiny models');
  return async ({ windowMs }) => {
    const pace =
      door === 'http'
        ? await connections({ port, path: '/v2/models/tiny/infer', ...http, bodies: http.bodies() }, windowMs)
        : await grpcConnections({ port, path: inferPath, ...grpc, message: grpc.message() }, windowMs);
    return pace.rate;
  };
}

async function start({ entry }: Checkout, folder: string, name: string, row: CompareRow): Promise<Side> {
  const child = new Child<Question>(new URL('commit.js', import.meta.url), [entry, folder, name]);
  const port = await child.answer();
  const rate = row.door === 'process' ? (question: Question) => child.ask(question) : client(row.door, port);
  return { child, rate, rates: [] };
}

/** Measures one row with both commits, in a process each, by turns. Returns the lines of the table. */
async function measureRow(
  checkouts: readonly Checkout[],
  name: string,
  row: CompareRow,
  { rounds, windowMs }: CompareOptions,
): Promise<string[][]> {
  const folder = await mkdtemp(join(tmpdir(), 'tritonts-compare-'));
  const sides: Side[] = [];
  try {
    await writeRepository(folder, row.repository());
    for (const checkout of checkouts) sides.push(await start(checkout, folder, name, row));
    const lines: string[][] = [];
    for (const outstanding of row.outstanding) {
      for (const side of sides) side.rates = [];
      for (let round = -1; round < rounds; round++) {
        for (const { rate, rates } of turnOrder(sides, round + 1)) {
          // Round -1 warms up compilers and caches, and is not kept. V8 needs the longer turn.
          const value = await rate({ outstanding, windowMs: round < 0 ? 4 * windowMs : windowMs });
          if (round >= 0) rates.push(value);
        }
      }
      const [before = [], after = []] = sides.map(({ rates }) => rates);
      const { median, spread } = ratio(after, before);
      lines.push([
        name,
        String(outstanding),
        ...[before, after].map((rates) => grouped(estimate(rates).median)),
        significant(median),
        significant(spread),
      ]);
    }
    return lines;
  } finally {
    await Promise.all(sides.map(({ child }) => child.close()));
    await rm(folder, { recursive: true, force: true });
  }
}

async function main(options: CompareOptions): Promise<void> {
  const { first, second, only } = options;
  const checkouts = [
    await checkOut(first, progress),
    second === undefined ? workingTree() : await checkOut(second, progress),
  ];
  const machine = describeMachine();
  const lines: string[][] = [];
  const missing: string[] = [];
  for (const [name, row] of Object.entries(compareRows)) {
    if (!only.includes(name)) continue;
    if (name === 'python' && pythonOf(name) === undefined) {
      missing.push('python: left out, because npm test -- python has not made its Python yet');
      continue;
    }
    progress(`row ${name}`);
    lines.push(...(await measureRow(checkouts, name, row, options)));
  }
  if (process.stderr.isTTY) progress('');
  const names = checkouts.map(({ name }) => name);
  console.log(`${machineText(machine)}
${options.rounds} interleaved rounds of ${options.windowMs} ms; medians ± median deviation

${table(['row', 'outstanding', ...names.map((name) => `${name}, /s`), 'second / first', '±'], lines)}`);
  for (const text of missing) console.log(text);
}

let options: CompareOptions | undefined;
try {
  options = readCompareOptions(process.argv.slice(2));
} catch (error) {
  console.error(`${error instanceof Error ? error.message : String(error)}\n\n${compareUsage}`);
  process.exitCode = 1;
}
if (options) await main(options);
