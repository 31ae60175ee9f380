/**
 * A process that serves with one commit's build: node commit.js <entry point> <repository> <model>…. It uses
 * only what every commit has: createServer, infer, close.
 */
import { pathToFileURL } from 'node:url';
import type * as Package from '../../src/index.js';
import { measure, timedLoops } from '../measuring/measure.js';
import { models } from '../measuring/models.js';
import type { Question } from './question.js';

const [entry = '', repository = '', ...names] = process.argv.slice(2);
// The imported module is this package at another commit.
const { createServer } = (await import(pathToFileURL(entry).href)) as typeof Package;
const server = await createServer(repository, { modelControlMode: 'explicit', loadModels: names });

async function answer({ model: name, outstanding, windowMs }: Question): Promise<number> {
  const model = models.find((each) => each.name === name);
  if (!model) throw new RangeError(`no model ${name}`);
  const { values } = model.items();
  const { input, output } = model;
  const handle = server.model(name);
  const round = await measure(
    {
      kind: 'caller',
      name: 'tritonts',
      infer: (i) => handle.infer({ [input.name]: values[i % values.length] ?? [] }),
      // infer() returned it.
      read: (result) =>
        (result as Awaited<ReturnType<typeof handle.infer>>).outputs[output.name]?.data as Float32Array,
      close: () => Promise.resolve(),
    },
    { outstanding, windowMs, warmUpMs: windowMs / 4, timed: timedLoops(outstanding, model.fast) },
  );
  return round.requestsPerSecond;
}

process.on('message', (message) => {
  // The parent sends nothing else.
  void answer(message as Question).then((value) => process.send?.(value));
});
process.on('disconnect', () => {
  void server.close();
});
process.send?.(0);
