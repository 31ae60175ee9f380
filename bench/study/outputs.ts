/**
 * Compares ways to give an output its own memory, by size: `npm run bench -- outputs`
 *
 * The bytes of an answer lie in a page of the engine, with those of its batch, and the page is reused. Each way
 * makes arrays from such a page, 64 in a turn of the event loop. The time includes garbage collection.
 */
import { parseArgs } from 'node:util';
import { describeMachine } from '../measuring/machine.js';
import { significant } from '../../src/perf/plot/numbers.js';
import { count } from '../options.js';
import { machineText } from '../reports/report.js';
import { turnOrder } from '../measuring/rounds.js';
import { estimate, ratio } from '../reports/statistics.js';
import { table } from '../reports/table.js';

const usage = `npm run bench -- outputs [--rounds <n>] [--window <ms>]`;

/** Number of outputs in a batch. */
const outputs = 64;
const sizes: readonly number[] = [64, 68, 256, 1024, 4096, 16_384, 65_536];

/** Makes the arrays of a batch, whose outputs have `elements` elements each. */
type Policy = (page: Float32Array, elements: number) => Float32Array[];

const each =
  (make: (page: Float32Array, begin: number, end: number) => Float32Array): Policy =>
  (page, elements) =>
    Array.from({ length: outputs }, (_, i) => make(page, i * elements, (i + 1) * elements));

const policies: Readonly<Record<string, Policy>> = {
  'slice of the page': each((page, begin, end) => page.slice(begin, end)),
  'new array, set': each((page, begin, end) => {
    const own = new Float32Array(end - begin);
    own.set(page.subarray(begin, end));
    return own;
  }),
  'slice of the buffer, view': each(
    (page, begin, end) => new Float32Array(page.buffer.slice(begin * 4, end * 4)),
  ),
  'Buffer pool, view (shared)': each((page, begin, end) => {
    const pool = Buffer.allocUnsafe((end - begin) * 4 + 4);
    const own = new Float32Array(pool.buffer, (pool.byteOffset + 3) & ~3, end - begin);
    own.set(page.subarray(begin, end));
    return own;
  }),
  'one copy a batch, views (shared)': (page, elements) => {
    const copy = page.slice(0, outputs * elements);
    return Array.from({ length: outputs }, (_, i) => copy.subarray(i * elements, (i + 1) * elements));
  },
};

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Nanoseconds for each output. */
async function timeOf(
  policy: Policy,
  page: Float32Array,
  elements: number,
  windowMs: number,
): Promise<number> {
  let made = 0;
  let sum = 0;
  const begin = performance.now();
  let now = begin;
  while (now - begin < windowMs) {
    for (const own of policy(page, elements)) sum += own[0] ?? 0;
    made += outputs;
    await turn();
    now = performance.now();
  }
  if (!Number.isFinite(sum)) throw new Error('what was read is not what was written');
  return ((now - begin) * 1e6) / made;
}

async function main(rounds: number, windowMs: number): Promise<void> {
  console.log(machineText(describeMachine()));
  const rows: string[][] = [];
  for (const size of sizes) {
    const elements = size / 4;
    const page = new Float32Array(outputs * elements).fill(1);
    const kept = Object.keys(policies).map((name) => ({ name, times: [] as number[] }));
    for (let round = -1; round < rounds; round++) {
      for (const { name, times } of turnOrder(kept, round + 1)) {
        const policy = policies[name];
        if (!policy) continue;
        const time = await timeOf(policy, page, elements, windowMs);
        if (round >= 0) times.push(time);
      }
    }
    const first = kept[0]?.times ?? [];
    for (const { name, times } of kept) {
      const share = ratio(times, first);
      rows.push([
        String(size),
        name,
        significant(estimate(times).median),
        significant(share.median),
        significant(share.spread),
      ]);
    }
  }
  console.log(`\n${table(['bytes', 'way', 'ns an output', 'to the first', '±'], rows)}`);
}

let settings: { readonly rounds: number; readonly windowMs: number } | undefined;
try {
  const { values } = parseArgs({ options: { rounds: { type: 'string' }, window: { type: 'string' } } });
  settings = {
    rounds: count('--rounds', values.rounds ?? '7'),
    windowMs: count('--window', values.window ?? '150'),
  };
} catch (error) {
  console.error(`${error instanceof Error ? error.message : String(error)}\n\n${usage}`);
  process.exitCode = 1;
}
if (settings) await main(settings.rounds, settings.windowMs);
