/** The GPUs of this process. Nothing here waits for the driver on the JS thread. */

import { addon } from './load.js';
import { insistOnAnswer } from './memory.js';
import type { NativeGpu, NativeGpus } from './native/gpus.js';
import type { NativeServer } from './native/server.js';
import type { NativeStatus } from './native/status.js';
import type { GpuMemoryLimits } from '../options.js';
import { statusError } from './status.js';

/** The answer before the driver was asked. */
const unasked: NativeGpus = {
  devices: [],
  reason: 'the CUDA driver was not asked',
  driver: '',
  cudaVersion: 0,
};

/**
 * Asks the CUDA driver for its GPUs, on a thread of a server. The process' first call takes tenths of a second.
 *
 * @throws {@link TritonError} CANCELLED if the server ends meanwhile.
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

/** What {@link findGpus} has found in this process. */
export function knownGpus(): NativeGpus {
  return addon().gpus() ?? unasked;
}

/** Why GPUs take no work any more, by id. Models have to leave such a GPU before it can be tried again. */
export function lostGpus(): ReadonlyMap<number, string> {
  return new Map(
    addon()
      .lostGpus()
      .map(({ id, reason }) => [id, reason]),
  );
}

/** Sets the limits of the process' pools of memory for GPUs. */
export function limitGpuMemory({ pinnedBytes, gpuBytes, listed }: GpuMemoryLimits): void {
  addon().limitGpuMemory(pinnedBytes, gpuBytes, listed);
}

/** A sentence for each pool of memory for GPUs that did not suffice. */
export function usedUpPools(): string[] {
  const { pinned, devices } = addon().gpuPools();
  const texts = devices.flatMap(({ plainBlocks }, id) =>
    plainBlocks === 0
      ? []
      : [
          `the pool of GPU ${id}'s memory is used up, and the driver is asked for more each time: cudaMemoryPoolByteSize is too small`,
        ],
  );
  if (pinned.plainBlocks > 0) {
    texts.push(
      'the pool of pinned memory is used up, and plain memory is copied more slowly: pinnedMemoryPoolByteSize is too small',
    );
  }
  return texts;
}

/** Why a GPU cannot be used; undefined: it can. */
export function gpuFault(gpu: NativeGpu, minCapability: number): string | undefined {
  if (gpu.fault !== '') return gpu.fault;
  // 12.1 is newer than 12.0 and than 9.0; no minor number has two digits.
  if (gpu.major + gpu.minor / 10 >= minCapability - 1e-9) return undefined;
  return `${gpu.name} has compute capability ${gpu.major}.${gpu.minor}, and minSupportedComputeCapability is ${minCapability.toFixed(1)}`;
}
