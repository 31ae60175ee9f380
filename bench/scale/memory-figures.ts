/** What a model that nobody asks costs in memory. */
import type { Measured } from '../limits.js';
import { turnOrder } from '../rounds.js';
import { estimate, ratio } from '../statistics.js';
import { Child } from '../child.js';
import type { ScaleOptions } from './options.js';

/** So many that pages and slack of the allocator don't matter. */
const models = 400;

/** Fresh processes; resident memory after the load of many models less that before, by model. */
export async function measureMemory(
  folder: string,
  { rounds }: ScaleOptions,
  progress: (text: string) => void,
): Promise<Measured[]> {
  const sessions = { name: 'onnxruntime-node', loaders: 0, bytes: [] as number[] };
  const ours = { name: 'tritonts', loaders: 4, bytes: [] as number[] };
  for (let round = 0; round < rounds; round++) {
    for (const { name, loaders, bytes } of turnOrder([sessions, ours], round)) {
      progress(`round ${round + 1} of ${rounds}: memory of ${models} models, ${name}`);
      const args = [folder, String(models), String(loaders), 'memory'];
      bytes.push(await new Child(new URL('loading.js', import.meta.url), args, ['--expose-gc']).answer());
    }
  }
  const kib = (bytes: readonly number[]): string => `${(estimate(bytes).median / 1024).toFixed(0)} KiB`;
  return [
    {
      what: 'memory of an idle small model',
      value: ratio(ours.bytes, sessions.bytes),
      unit: 'x',
      limit: { atMost: 1.1 },
      detail: `${kib(ours.bytes)}, a bare session ${kib(sessions.bytes)}`,
    },
  ];
}
