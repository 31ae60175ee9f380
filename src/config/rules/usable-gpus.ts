/** What a configuration needs to know about GPUs. */

/** The GPUs that instances of a backend can use. */
export interface Gpus {
  /** How many there are; their ids are 0 to count − 1. */
  readonly count: number;
  /**
   * Returns why there is none, and what helps. It is called only for an error, because finding out may take a
   * while.
   */
  readonly missing: () => MissingGpus;
}

/** Why a backend can use no GPU. */
export interface MissingGpus {
  /** UNAVAILABLE: the machine lacks something. UNSUPPORTED: the backend runs only on the CPU. */
  readonly code: 'UNAVAILABLE' | 'UNSUPPORTED';
  readonly text: string;
}

/** Finds the GPUs for a backend; undefined if there is no such backend, which is reported elsewhere. */
export type GpuFinder = (backend: string) => Gpus | undefined;
