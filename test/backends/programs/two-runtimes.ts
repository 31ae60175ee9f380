/**
 * Uses several runtimes in one process, and ends: node two-runtimes.js <repository> <model>…
 *
 * The models are loaded one after the other. Each has an input x and an output y. Prints the first value of each answer.
 */

import { createServer } from '../../../src/index.js';

const [, , repository = '', ...models] = process.argv;
const server = await createServer(repository, { modelControlMode: 'explicit', exitOnError: false });
for (const name of models) {
  await server.loadModel(name);
  const [width = 1] = server.model(name).config.input[0]?.dims ?? [];
  const { outputs } = await server.infer(name, { x: Float32Array.from({ length: width }, (_, i) => i + 1) });
  console.log(name, outputs['y']?.as('FP32').data[0]);
}
