/** Triton's gauges of GPUs. */

import { knownGpus } from '../addon/gpus.js';
import { addon } from '../addon/load.js';
import type { NativeGpuPool, NativeGpuPools, NativeGpuSample } from '../addon/native/gpus.js';
import { labelText, type Exposition, type MetricType } from './exposition.js';

/** A GPU and its last sample. */
export interface GpuInUse {
  readonly id: number;
  readonly uuid: string;
  readonly sample: NativeGpuSample;
}

/**
 * The GPUs among a server's devices, with their last samples. GPUs without a sample are left out.
 */
export function gpusInUse(devices: readonly string[]): GpuInUse[] {
  if (devices.length < 2) return [];
  const samples = addon().gpuSamples();
  return knownGpus().devices.flatMap(({ uuid }, id) => {
    const sample = samples[id];
    return sample !== undefined && devices.includes(`gpu:${id}`) ? [{ id, uuid, sample }] : [];
  });
}

/** The families of GPUs, in the order of the text. */
export const gpuFamilies: readonly (readonly [
  name: string,
  type: MetricType,
  help: string,
  key: keyof NativeGpuSample,
])[] = [
  ['nv_gpu_utilization', 'gauge', 'Busy share of the GPU, 0 to 1', 'utilization'],
  ['nv_gpu_memory_total_bytes', 'gauge', 'Memory of the GPU', 'memoryTotalBytes'],
  ['nv_gpu_memory_used_bytes', 'gauge', 'Used memory of the GPU', 'memoryUsedBytes'],
  ['nv_gpu_power_usage', 'gauge', 'Power consumption of the GPU, in watts', 'powerWatts'],
  ['nv_gpu_power_limit', 'gauge', 'Power limit of the GPU, in watts', 'powerLimitWatts'],
  [
    'nv_energy_consumption',
    'counter',
    'Energy consumption of the GPU since the first server began, in joules',
    'energyJoules',
  ],
];

/** The families of memory pools for GPUs, which follow those: for pinned memory, and for the memory of GPUs. */
export const poolFamilies: readonly (readonly [
  name: string,
  type: MetricType,
  help: string,
  key: keyof NativeGpuPool,
  of: 'pinned' | 'gpu',
])[] = [
  ['nv_pinned_memory_pool_total_bytes', 'gauge', 'Size limit of the pinned memory', 'limitBytes', 'pinned'],
  ['nv_pinned_memory_pool_used_bytes', 'gauge', 'Used pinned memory', 'usedBytes', 'pinned'],
  [
    'tritonts_pinned_memory_pool_misses',
    'counter',
    'Uses of pageable memory, because the pinned memory was exhausted',
    'plainBlocks',
    'pinned',
  ],
  [
    'tritonts_gpu_memory_pool_total_bytes',
    'gauge',
    'Size limit of the memory pool of the GPU',
    'limitBytes',
    'gpu',
  ],
  ['tritonts_gpu_memory_pool_used_bytes', 'gauge', 'Used memory of that pool', 'usedBytes', 'gpu'],
  [
    'tritonts_gpu_memory_pool_misses',
    'counter',
    'Allocations of the driver, because the pool was exhausted',
    'plainBlocks',
    'gpu',
  ],
];

/** Adds the families of the pools. */
export function addPools(text: Exposition, gpus: readonly GpuInUse[], pools: NativeGpuPools): void {
  for (const [name, type, help, key, of] of poolFamilies) {
    text.family(name, type, help);
    if (of === 'pinned') {
      text.add(name, '', pools.pinned[key]);
    } else {
      for (const { id, uuid } of gpus) {
        const pool = pools.devices[id];
        if (pool) text.add(name, labelText({ gpu_uuid: uuid }), pool[key]);
      }
    }
  }
}

/** Adds the families of GPUs. Values that a GPU does not report have no series. */
export function addGpus(text: Exposition, gpus: readonly GpuInUse[]): void {
  for (const [name, type, help, key] of gpuFamilies) {
    text.family(name, type, help);
    for (const { uuid, sample } of gpus) {
      const value = sample[key];
      if (value !== undefined) text.add(name, labelText({ gpu_uuid: uuid }), value);
    }
  }
}
