/** Measures the memory of a model without requests. */
import { Child } from '../measuring/child.js';
import type { Measured } from '../limits/limits.js';
import { turnOrder } from '../measuring/rounds.js';
import { estimate, ratio } from '../reports/statistics.js';
import type { Kind } from './names.js';
import type { ScaleOptions } from './options.js';

/** With this many models, pages and the allocator's slack do not matter. */
const models = 250;

/** A model with one operator is shown, too, because the overhead of tritonts is a larger share of it. */
const kinds: readonly { readonly kind: Kind; readonly limit?: { readonly atMost: number } }[] = [
  { kind: 'digits', limit: { atMost: 1.1 } },
  { kind: 'add' },
];

/**
 * V8 grows its young generation with use. With a small one, resident memory is close to memory in use.
 */
const flags = ['--expose-gc', '--max-semi-space-size=1'];

/**
 * Measures in fresh processes: the growth of resident memory when many models are loaded, per model.
 */
export async function measureMemory(
  folder: string,
  { rounds }: ScaleOptions,
  progress: (text: string) => void,
): Promise<Measured[]> {
  const figures: Measured[] = [];
  for (const { kind, limit } of kinds) {
    const sessions = { name: 'onnxruntime-node', loaders: 0, bytes: [] as number[] };
    const ours = { name: 'tritonts', loaders: 4, bytes: [] as number[] };
    for (let round = 0; round < rounds; round++) {
      for (const { name, loaders, bytes } of turnOrder([sessions, ours], round)) {
        progress(`round ${round + 1} of ${rounds}: memory of ${models} models, ${name}`);
        const args = [folder, kind, String(models), String(loaders), 'memory'];
        bytes.push(await new Child(new URL('loading.js', import.meta.url), args, flags).answer());
      }
    }
    const kib = (bytes: readonly number[]): string => `${(estimate(bytes).median / 1024).toFixed(0)} KiB`;
    figures.push({
      what: `memory of an idle model (${kind})`,
      value: ratio(ours.bytes, sessions.bytes),
      unit: 'x',
      ...(limit && { limit }),
      detail: `${kib(ours.bytes)}, a bare session ${kib(sessions.bytes)}`,
    });
  }
  return figures;
}
