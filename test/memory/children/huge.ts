/** Sends tensors of 100 MB through a server of a repository. */

import { createServer } from '../../../src/index.js';

const width = 25_000_000;
const server = await createServer(process.argv[2] ?? '', { maxInFlightBytes: 2 ** 30 });
console.log('ready');
const x = new Float32Array(width);
for (const ownOutputs of [false, true, false]) {
  x[0] = ownOutputs ? 1 : 2;
  x[width - 1] = 3;
  const { outputs } = await server.infer('echo', { x }, { ownOutputs });
  const y = outputs['y']?.as('FP32').data;
  console.log(y?.length === width && y[0] === x[0] && y[width - 1] === 3 ? 'right' : 'wrong');
}
await server.close();
