/**
 * Loads models of one input x one after the other, calls each, and prints what they tell:
 * node threads.js <repository> <model>…
 */

import { createServer } from '../../../src/index.js';

const [, , repository = '', ...models] = process.argv;
const server = await createServer(repository, {
  modelControlMode: 'explicit',
  exitOnError: false,
  threads: 2,
});
const told: Record<string, unknown> = {};
for (const name of models) {
  await server.loadModel(name);
  await server.infer(name, { x: { data: [1, 2], shape: [1, 2] } });
  const model = server.model(name);
  told[name] = { threads: model.runtimeInfo().intraOpThreads, notes: model.notes };
}
console.log(JSON.stringify(told));
await server.close();
