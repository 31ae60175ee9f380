/** The GPUs of this machine, and memory pools. */

/** A GPU, as the CUDA driver describes it. */
export interface NativeGpu {
  readonly name: string;
  /** Formatted as by nvidia-smi. */
  readonly uuid: string;
  readonly memoryBytes: number;
  /** The compute capability is `major`.`minor`. */
  readonly major: number;
  readonly minor: number;
  /**
   * Why the GPU cannot be used although the driver lists it; empty if it can. If it cannot, the other
   * properties may be empty.
   */
  readonly fault: string;
}

/** The GPUs of this machine, as the CUDA driver lists them. */
export interface NativeGpus {
  /** Indexed by the GPU's id. */
  readonly devices: readonly NativeGpu[];
  /** Why there is no GPU, and what to do; empty if there is one. */
  readonly reason: string;
  /** Path of the driver's library; empty if there is none, or if it offers no GPU. */
  readonly driver: string;
  /** The newest version of CUDA that the driver supports, as 1000 * major + 10 * minor. */
  readonly cudaVersion: number;
}

/** NVIDIA's management library; see `native/device/nvml.h`. */
export interface NativeNvml {
  readonly path: string;
  readonly version: string;
  readonly driverVersion: string;
  /** Why the library cannot be used; empty if it can. */
  readonly reason: string;
}

/** The usage of a pool. */
export interface NativeGpuPool {
  readonly limitBytes: number;
  readonly usedBytes: number;
  /** How often the pool was used up and memory was allocated outside of it. */
  readonly plainBlocks: number;
}

/** See {@link NativeAddon.gpuPools}. */
export interface NativeGpuPools {
  readonly pinned: NativeGpuPool;
  readonly devices: readonly NativeGpuPool[];
}

/** A sample of a GPU's state. Values that the GPU does not report are absent. */
export interface NativeGpuSample {
  /** A fraction from 0 to 1. */
  readonly utilization?: number;
  readonly memoryTotalBytes?: number;
  readonly memoryUsedBytes?: number;
  readonly powerWatts?: number;
  readonly powerLimitWatts?: number;
  /** Energy used since the watch began. */
  readonly energyJoules?: number;
}
