/**
 * Fuzzes the configuration reader: npm test -- fuzz [--seconds 20] [--seed <random>]
 *
 * The reader runs on a thread of its own, so that a text on which it hangs can still be printed.
 */

import { randomInt } from 'node:crypto';
import { parseArgs } from 'node:util';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { fuzz, type FuzzReport } from './fuzz-run.js';

/** The message to the thread that reads. */
interface Order {
  readonly seed: number;
  readonly ms: number;
  /** The number of the text that is being tried, its length, and the text itself. */
  readonly shared: SharedArrayBuffer;
}

const head = 8;
const longestText = 2 ** 21;
/** Without a new text for this time, the reader hangs; in milliseconds. */
const patienceMs = 10_000;

function work({ seed, ms, shared }: Order): void {
  const numbers = new Int32Array(shared, 0, 2);
  const text = new Uint8Array(shared, head);
  const report = fuzz({
    seed,
    ms,
    onExecution: (content) => {
      text.set(content.subarray(0, longestText));
      numbers[1] = Math.min(content.length, longestText);
      Atomics.add(numbers, 0, 1);
    },
  });
  parentPort?.postMessage(report);
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: { seconds: { type: 'string', default: '20' }, seed: { type: 'string' } },
  });
  const seconds = Number(values.seconds);
  const seed = Number(values.seed ?? randomInt(2 ** 31));
  if (!(seconds > 0) || !Number.isSafeInteger(seed)) {
    throw new RangeError('expected a number above 0 for --seconds, and a whole one for --seed');
  }
  console.log(`fuzzing the configuration reader for ${seconds} s with seed ${seed}`);
  const shared = new SharedArrayBuffer(head + longestText);
  const order: Order = { seed, ms: seconds * 1000, shared };
  const worker = new Worker(new URL(import.meta.url), { workerData: order });
  const report = await new Promise<FuzzReport>((resolve, reject) => {
    worker.once('message', resolve).once('error', reject);
    watch(shared, resolve);
  });
  await worker.terminate();
  const { executions, read, served, slowestMs, failure } = report;
  console.log(
    `${executions} executions, ${read} texts read, ${served} of them served, slowest ${slowestMs.toFixed(1)} ms`,
  );
  if (failure === undefined) return;
  console.error(`FAILED\n${failure}`);
  process.exitCode = 1;
}

/** Reports a failure when the number of texts stands still. */
function watch(shared: SharedArrayBuffer, report: (hang: FuzzReport) => void): void {
  const numbers = new Int32Array(shared, 0, 2);
  let last = { count: 0, at: performance.now() };
  setInterval(() => {
    const count = Atomics.load(numbers, 0);
    if (count !== last.count) last = { count, at: performance.now() };
    if (performance.now() - last.at < patienceMs) return;
    const text = Buffer.from(shared, head, numbers[1]);
    const failure = `no end after ${patienceMs} ms\nbase64: ${text.toString('base64')}`;
    report({ executions: count, read: 0, served: 0, slowestMs: patienceMs, failure });
  }, 250).unref();
}

if (isMainThread) await main();
// Only main() starts this file on another thread.
else work(workerData as Order);
