/** Finds the GPUs that the instances of a model can use. */

import type { GpuFinder } from '../config/index.js';
import type { ResolvedOptions } from '../options.js';
import { backends } from './index.js';

/**
 * Finds the GPUs that a backend can use. KIND_AUTO means them if there are any; KIND_GPU needs them.
 *
 * @param options - They say which library a backend uses.
 * @param isCustom - Whether there is such a backend besides those of the package. These run on the CPU.
 */
export function gpuFinder(
  options: Pick<ResolvedOptions, 'backendConfig'>,
  isCustom: (name: string) => boolean = () => false,
): GpuFinder {
  return (name) => {
    const backend = backends().get(name);
    if (backend === undefined && !isCustom(name)) return undefined;
    if (backend?.gpus) return backend.gpus(options.backendConfig[name] ?? {});
    const missing = { code: 'UNSUPPORTED', text: `the ${name} backend runs on the CPU only` } as const;
    return { count: 0, missing: () => missing };
  };
}
