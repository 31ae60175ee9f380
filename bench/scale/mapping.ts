/**
 * A process that maps a data set of small items, and runs a closed loop with as many outstanding requests. It
 * sends the rates of each round in turns, then the bytes in use after each tenth of a long data set.
 */
import { createServer, type InferResult, type Inputs } from '../../src/index.js';
import { measure } from '../measuring/measure.js';
import { modelName } from './names.js';

const [folder = '', rounds = '', short = '', long = ''] = process.argv.slice(2);
const server = await createServer(folder, { modelControlMode: 'explicit', loadModels: [modelName(0)] });
const model = server.model(modelName(0));
/** The default number of items that `map` has in flight: two batches. */
const outstanding = 2 * model.config.max_batch_size;
const items = Array.from({ length: 64 }, (_, i) => new Float32Array(16).fill(i));
const nothing = new Float32Array(16);

function* dataSet(length: number): Generator<Inputs> {
  for (let i = 0; i < length; i++) yield { x: items[i % items.length] ?? nothing };
}

/** Items per second. */
async function map(length: number, each?: (done: number) => void): Promise<number> {
  const start = performance.now();
  let done = 0;
  for await (const { outputs } of model.map(dataSet(length))) {
    if (!outputs['y']) throw new Error('an answer without its output');
    done++;
    each?.(done);
  }
  return (1000 * done) / (performance.now() - start);
}

async function closedLoop(windowMs: number): Promise<number> {
  const round = await measure(
    {
      kind: 'caller',
      name: 'tritonts',
      infer: (i) => model.infer({ x: items[i % items.length] ?? nothing }),
      // infer() returned it.
      read: (answer) => (answer as InferResult).outputs['y']?.data as Float32Array,
      close: () => Promise.resolve(),
    },
    { outstanding, windowMs, warmUpMs: windowMs / 4, timed: 1 },
  );
  return round.requestsPerSecond;
}

/** A tenth of the data set and of the window warms up the compilers. */
const warm = await map(Number(short) / 10);
await closedLoop(Number(short) / 10 / (warm / 1000));
for (let round = 0; round < Number(rounds); round++) {
  const mapped = await map(Number(short));
  process.send?.(mapped);
  process.send?.(await closedLoop((1000 * Number(short)) / mapped));
}
const tenth = Number(long) / 10;
await map(Number(long), (done) => {
  if (done % tenth !== 0) return;
  globalThis.gc?.();
  process.send?.(process.memoryUsage.rss());
});
process.disconnect();
await server.close();
