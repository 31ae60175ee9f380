/** Loads a model from bytes, and prints how much memory that took, in megabytes. Linux only. */

import { readFileSync, writeFileSync } from 'node:fs';
import { createServer } from '../../../src/index.js';

const megabytes = Number(process.argv[3]);

/** Resident megabytes: now, and the most since the peak was reset. */
function resident(): { now: number; peak: number } {
  const text = readFileSync('/proc/self/status', 'utf8');
  const of = (field: string): number => Number(new RegExp(`${field}:\\s+(\\d+) kB`).exec(text)?.[1]) / 1024;
  return { now: of('VmRSS'), peak: of('VmHWM') };
}

const server = await createServer(process.argv[2] ?? '', { modelControlMode: 'explicit' });
const tensor = { data_type: 'TYPE_FP32', dims: [1] } as const;
const config = {
  backend: 'identity',
  input: [{ name: 'x', ...tensor }],
  output: [{ name: 'y', ...tensor }],
};
const bytes = new Uint8Array(megabytes * 2 ** 20).fill(1);
console.log('ready');
for (let round = 0; round < 3; round++) {
  const before = resident().now;
  writeFileSync('/proc/self/clear_refs', '5');
  await server.loadModel('given', { config, files: { '1/weights.bin': bytes } });
  const { now, peak } = resident();
  console.log(`${Math.round(peak - before)} ${Math.round(now - before)}`);
}
await server.close();
