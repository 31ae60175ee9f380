/** The GPUs of this process. Nothing here makes the JS thread wait for the driver. */

import { addon, addonUnlessSpared } from './load.js';
import { insistOnAnswer } from './memory.js';
import type { NativeGpu, NativeGpus } from './native/gpus.js';
import type { NativeServer } from './native/server.js';
import type { NativeStatus } from './native/status.js';
import type { GpuMemoryLimits } from '../options.js';
import { statusError } from './status.js';

/** The result until the driver has been asked. */
const unasked: NativeGpus = {
  devices: [],
  reason: 'the CUDA driver was not asked',
  driver: '',
  cudaVersion: 0,
};

/**
 * Asks the CUDA driver for its GPUs, on a thread of the server. The first call in a process takes tenths of a
 * second.
 *
 * @throws {@link TritonError} CANCELLED if the server closes meanwhile.
 */
export async function findGpus(server: NativeServer): Promise<NativeGpus> {
  if (addon().gpus() === undefined) {
    const error = await insistOnAnswer<NativeStatus | null>((done) => {
      server.findGpus(done);
    });
    if (error) throw statusError(error);
  }
  return knownGpus();
}

/** The GPUs that {@link findGpus} has found in this process. */
export function knownGpus(): NativeGpus {
  return addonUnlessSpared()?.gpus() ?? unasked;
}

/**
 * The GPUs that no longer take work, by id, each with the reason. Such a GPU can be tried again only after all
 * models have left it.
 */
export function lostGpus(): ReadonlyMap<number, string> {
  return new Map((addonUnlessSpared()?.lostGpus() ?? []).map(({ id, reason }) => [id, reason]));
}

/** Sets the limits of the process's memory pools for GPUs. */
export function limitGpuMemory({ pinnedBytes, gpuBytes, listed }: GpuMemoryLimits): void {
  addon().limitGpuMemory(pinnedBytes, gpuBytes, listed);
}

/** A sentence for each memory pool for GPUs that was used up. */
export function usedUpPools(): string[] {
  const { pinned, devices } = addon().gpuPools();
  const texts = devices.flatMap(({ plainBlocks }, id) =>
    plainBlocks === 0
      ? []
      : [
          `GPU ${id}: the memory pool is exhausted, so each further tensor calls the driver; raise cudaMemoryPoolByteSize`,
        ],
  );
  if (pinned.plainBlocks > 0) {
    texts.push(
      'the pinned memory pool is exhausted, so copies use slower pageable memory; raise pinnedMemoryPoolByteSize',
    );
  }
  return texts;
}

/** Why a GPU cannot be used; undefined if it can. */
export function gpuFault(gpu: NativeGpu, minCapability: number): string | undefined {
  if (gpu.fault !== '') return gpu.fault;
  // Compares versions as decimals: no minor number has two digits.
  if (gpu.major + gpu.minor / 10 >= minCapability - 1e-9) return undefined;
  return `${gpu.name} has compute capability ${gpu.major}.${gpu.minor}, and minSupportedComputeCapability is ${minCapability.toFixed(1)}`;
}
