/**
 * The leak check creates, uses and closes a server many times. It fails if resident size grows by more than
 * that of a process with as many bare sessions of onnxruntime-node.
 *
 *     npm test -- leak [--cycles 3000 --warm-up 3000 --out build/leak]
 */

import { execFileSync } from 'node:child_process';
import { mkdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { createServer } from '../../src/index.js';
import { addModel } from '../support/models.js';
import { writeRepository } from '../support/repository.js';
import { allocatorIsSteady } from './allocator.js';
import { report } from './report.js';
import { sample, type Sample } from './sample.js';
import type { Trend } from './statistics.js';

const { values } = parseArgs({
  options: {
    cycles: { type: 'string', default: '3000' },
    'warm-up': { type: 'string', default: '3000' },
    out: { type: 'string', default: 'build/leak' },
  },
});
const cycles = Number(values.cycles);
const warmUp = Number(values['warm-up']);
if (!(cycles >= 50) || !globalThis.gc) {
  console.error('leak: needs --cycles of at least 50, and node --expose-gc (npm test -- leak does that)');
  process.exit(2);
}

if (!allocatorIsSteady()) process.exit();

const folder = join(tmpdir(), `tritonts-leak-${process.pid}`);
await mkdir(folder, { recursive: true });
const repository = await writeRepository(folder, {
  add: { versions: { '1': addModel() } },
  twice: {
    config: 'instance_group { count: 2 kind: KIND_CPU }',
    versions: { '1': addModel(), '2': addModel() },
  },
});

const begin = performance.now();
const samples: Sample[] = [];
for (let cycle = 1 - warmUp; cycle <= cycles; cycle++) {
  const server = await createServer(repository);
  await Promise.all(
    ['add', 'twice'].map((name) =>
      server.model(name).infer({ x: new Float32Array(16 * (1 + (Math.abs(cycle) % 4))) }),
    ),
  );
  // Some servers are closed with requests in flight.
  const late =
    cycle % 3 === 0
      ? server
          .model('add')
          .infer({ x: new Float32Array(16) })
          .catch((error: unknown) => error)
      : undefined;
  await server.close(cycle % 6 === 0 ? { timeoutMs: 0 } : {});
  await late;
  if (cycle > 0 && cycle % Math.ceil(cycles / 100) === 0) samples.push(await sample(cycle, begin));
  if (process.stderr.isTTY) process.stderr.write(`\r${cycle + warmUp} of ${cycles + warmUp}`);
}
if (process.stderr.isTTY) process.stderr.write('\r\u001b[K');
const bare = JSON.parse(
  execFileSync(
    process.execPath,
    [...process.execArgv, fileURLToPath(new URL('bare.js', import.meta.url)), String(cycles), String(warmUp)],
    { encoding: 'utf8' },
  ),
) as Trend;
console.log(
  `rss of as many bare sessions: ${bare.slope.toFixed(2)} ± ${bare.interval.toFixed(2)} MiB per thousand cycles`,
);
const failed = await report(
  samples,
  values.out,
  { name: 'cycles', unit: 1000, unitName: 'thousand cycles' },
  Math.max(0, bare.slope + bare.interval),
);
console.log(
  `${cycles} cycles after ${warmUp} to warm up, in ${((performance.now() - begin) / 1000).toFixed(0)} s`,
);
process.exitCode = failed ? 1 : 0;
