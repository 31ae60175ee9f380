/** The devices that instances of models can be on. */

import { gpuFinder } from '../backends/gpu-finder.js';
import { backends } from '../backends/index.js';
import type { ResolvedOptions } from '../options.js';

/** 'cpu', followed by 'gpu:0', 'gpu:1', … if a backend can use GPUs with these options. */
export function usableDevices(options: Pick<ResolvedOptions, 'backendConfig' | 'instanceKind'>): string[] {
  if (options.instanceKind === 'cpu') return ['cpu'];
  const gpus = gpuFinder(options);
  const count = Math.max(0, ...[...backends().keys()].map((name) => gpus(name)?.count ?? 0));
  return ['cpu', ...Array.from({ length: count }, (_, id) => `gpu:${id}`)];
}
