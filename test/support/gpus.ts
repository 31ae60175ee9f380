/** The GPUs of the machine that the tests run on. */

import { createEngine } from '../../src/addon/engine.js';
import { insistOnAnswer } from '../../src/addon/memory.js';
import { askForGpus, gpuFinder, type GpuOptions } from '../../src/backends/gpu-finder.js';
import type { Gpus } from '../../src/config/index.js';

/** Options of GPUs, with their defaults. */
export function gpuOptions(more: Partial<GpuOptions> = {}): GpuOptions {
  return { backendConfig: {}, instanceKind: undefined, minSupportedComputeCapability: 6, ...more };
}

/** Asks the driver as a server with these options would. */
export async function askDriver(options: GpuOptions, wanted = false): Promise<void> {
  const engine = createEngine({
    modelLoadConcurrency: 1,
    maxInFlightBytes: 1,
    spinCores: 0,
    rateLimit: undefined,
    cache: undefined,
  });
  await askForGpus(engine, options, wanted);
  await insistOnAnswer<readonly string[]>((done) => {
    engine.close(0, done);
  });
  engine.join();
}

/** The GPUs that ONNX Runtime can use with these options. */
export async function onnxGpus(options: GpuOptions = gpuOptions()): Promise<Gpus> {
  await askDriver(options);
  const found = gpuFinder(options)('onnxruntime');
  if (!found) throw new Error('there is no such backend');
  return found;
}

/** How many GPUs ONNX Runtime can use. */
export async function gpuCount(): Promise<number> {
  return (await onnxGpus()).usable.length;
}
