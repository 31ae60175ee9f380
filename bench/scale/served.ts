/**
 * A process that serves many models. It reports how fast some of them answer, and its CPU time when idle.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { createServer, type InferResult } from '../../src/index.js';
import { measure } from '../measuring/measure.js';
import { modelNames } from './names.js';
import type { Question } from './question.js';

const outstanding = 64;

// The parent passes them.
const [folder = '', count = ''] = process.argv.slice(2);
const names = modelNames(Number(count));
const server = await createServer(folder, { modelControlMode: 'explicit', loadModels: names });
const items = Array.from({ length: 64 }, (_, i) => new Float32Array(16).fill(i));
const nothing = new Float32Array(16);

/** Answers per second of a closed loop over the first models. */
async function requests(modelCount: number, windowMs: number): Promise<number> {
  const models = names.slice(0, modelCount).map((name) => server.model(name));
  const [first] = models;
  if (!first) throw new RangeError('no models');
  const round = await measure(
    {
      kind: 'caller',
      name: 'tritonts',
      infer: (i) => (models[i % models.length] ?? first).infer({ x: items[i % items.length] ?? nothing }),
      // infer() returned it.
      read: (answer) => (answer as InferResult).outputs['y']?.data as Float32Array,
      close: () => Promise.resolve(),
    },
    { outstanding, windowMs, warmUpMs: windowMs / 4, timed: 1 },
  );
  return round.requestsPerSecond;
}

/** Processor time in percent of the time that passes. */
async function idle(windowMs: number): Promise<number> {
  // Wait until work left over from the last answer is done.
  await sleep(windowMs / 10);
  const before = process.cpuUsage();
  const start = performance.now();
  await sleep(windowMs);
  const { user, system } = process.cpuUsage(before);
  return (100 * (user + system)) / 1000 / (performance.now() - start);
}

process.on('message', (message) => {
  // The parent sends nothing else.
  const question = message as Question;
  const answer =
    question.ask === 'idle' ? idle(question.windowMs) : requests(question.models, question.windowMs);
  void answer.then((value) => process.send?.(value));
});
process.on('disconnect', () => {
  void server.close();
});
process.send?.(0);
