/** The devices that instances of models can be on. */

import { asksForGpus, usableGpus, type GpuOptions } from '../../backends/gpu-finder.js';

/**
 * 'cpu', followed by 'gpu:0', 'gpu:1', … if a backend can use GPUs with these options. The owner has asked the driver
 * before it asks this.
 */
export function usableDevices(options: GpuOptions): string[] {
  if (!asksForGpus(options)) return ['cpu'];
  return ['cpu', ...usableGpus(options).usable.map((id) => `gpu:${id}`)];
}
