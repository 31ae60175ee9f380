/** A process that serves many models, and says how fast some of them answer, and what it costs to do nothing. */
import { setTimeout as sleep } from 'node:timers/promises';
import { createServer, type InferResult } from '../../src/index.js';
import { measure } from '../measure.js';
import { modelNames } from './models.js';
import type { Question } from './question.js';

const outstanding = 64;

// Written by the parent.
const [folder = '', count = ''] = process.argv.slice(2);
const names = modelNames(Number(count));
const server = await createServer(folder, { modelControlMode: 'explicit', loadModels: names });
const items = Array.from({ length: 64 }, (_, i) => new Float32Array(16).fill(i));
const nothing = new Float32Array(16);

/** Answers a second of a closed loop over the first models. */
async function requests(modelCount: number, windowMs: number): Promise<number> {
  const models = names.slice(0, modelCount).map((name) => server.model(name));
  const [first] = models;
  if (!first) throw new RangeError('no models');
  const round = await measure(
    {
      kind: 'caller',
      name: 'tritonts',
      infer: (i) => (models[i % models.length] ?? first).infer({ x: items[i % items.length] ?? nothing }),
      // What infer() promised.
      read: (answer) => (answer as InferResult).outputs['y']?.data as Float32Array,
      close: () => Promise.resolve(),
    },
    { outstanding, windowMs, warmUpMs: windowMs / 4, timed: 1 },
  );
  return round.requestsPerSecond;
}

/** Processor time as a share of the time that passes, percent. */
async function idle(windowMs: number): Promise<number> {
  // What answering the last question leaves to do is not idleness.
  await sleep(windowMs / 10);
  const before = process.cpuUsage();
  const start = performance.now();
  await sleep(windowMs);
  const { user, system } = process.cpuUsage(before);
  return (100 * (user + system)) / 1000 / (performance.now() - start);
}

process.on('message', (message) => {
  // From the parent, as its type says.
  const question = message as Question;
  const answer =
    question.ask === 'idle' ? idle(question.windowMs) : requests(question.models, question.windowMs);
  void answer.then((value) => process.send?.(value));
});
process.on('disconnect', () => {
  void server.close();
});
process.send?.(0);
