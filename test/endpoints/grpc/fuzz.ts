/** Fuzzes frames and messages of gRPC: npm test -- fuzz-grpc [--seconds 20] [--seed <random>] */

import { randomInt } from 'node:crypto';
import { parseArgs } from 'node:util';
import { createServer } from '../../../src/index.js';
import { fuzzedModel } from '../http/fuzzed-model.js';
import { fuzzGrpc } from './fuzz-run.js';

const { values } = parseArgs({
  options: { seconds: { type: 'string', default: '20' }, seed: { type: 'string' } },
});
const seconds = Number(values.seconds);
const seed = Number(values.seed ?? randomInt(2 ** 31));
if (!(seconds > 0) || !Number.isSafeInteger(seed)) {
  throw new RangeError('expected a number above 0 for --seconds, and a whole one for --seed');
}
console.log(`fuzzing frames and messages of gRPC for ${seconds} s with seed ${seed}`);
const server = await createServer({ models: { m: fuzzedModel } });
const end = performance.now() + seconds * 1000;
try {
  const { executions, read, answered, sent } = await fuzzGrpc(server, seed, () => performance.now() > end);
  console.log(
    `${executions} executions, ${read} requests read, ${answered} answered, ${sent} over a connection`,
  );
} finally {
  await server.close({ timeoutMs: 0 });
}
