/** The GPUs of this machine, and pools of memory. */

/** A GPU, as the CUDA driver describes it. */
export interface NativeGpu {
  readonly name: string;
  /** As nvidia-smi writes it. */
  readonly uuid: string;
  readonly memoryBytes: number;
  /** The compute capability is major.minor. */
  readonly major: number;
  readonly minor: number;
  /** Why it cannot be used although the driver lists it; empty: it can. The rest may be empty then. */
  readonly fault: string;
}

/** The GPUs of this machine, as the CUDA driver lists them. */
export interface NativeGpus {
  /** By id. */
  readonly devices: readonly NativeGpu[];
  /** Why there is none, and what helps; empty if there is one. */
  readonly reason: string;
  /** The file of the driver; empty if there is none, or it offers no GPU. */
  readonly driver: string;
  /** The newest version of CUDA that the driver serves, as 1000 times the major and 10 times the minor number. */
  readonly cudaVersion: number;
}

/** NVIDIA's management library; see `native/device/nvml.h`. */
export interface NativeNvml {
  readonly path: string;
  readonly version: string;
  readonly driverVersion: string;
  /** Why it cannot be used; empty: it can. */
  readonly reason: string;
}

/** How a pool is used. */
export interface NativeGpuPool {
  readonly limitBytes: number;
  readonly usedBytes: number;
  /** How often memory without a pool had to do. */
  readonly plainBlocks: number;
}

/** See {@link NativeAddon.gpuPools}. */
export interface NativeGpuPools {
  readonly pinned: NativeGpuPool;
  readonly devices: readonly NativeGpuPool[];
}

/** What a GPU does. What it does not tell is absent. */
export interface NativeGpuSample {
  /** 0 to 1. */
  readonly utilization?: number;
  readonly memoryTotalBytes?: number;
  readonly memoryUsedBytes?: number;
  readonly powerWatts?: number;
  readonly powerLimitWatts?: number;
  /** Since the watch began. */
  readonly energyJoules?: number;
}
