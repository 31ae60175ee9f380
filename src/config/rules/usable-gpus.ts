/** What a configuration needs to know of GPUs. */

/** The GPUs that instances of a backend can use. */
export interface Gpus {
  /** How many; their ids are 0 to count − 1. */
  readonly count: number;
  /** Why there is none and what helps. Called only where that is an error, since finding out may take a while. */
  readonly missing: () => MissingGpus;
}

/** Why there is no GPU that a backend can use. */
export interface MissingGpus {
  /** UNAVAILABLE: the machine lacks something; UNSUPPORTED: the backend runs on the CPU only. */
  readonly code: 'UNAVAILABLE' | 'UNSUPPORTED';
  readonly text: string;
}

/** Finds the GPUs for a backend; undefined if there is no such backend, which is told elsewhere. */
export type GpuFinder = (backend: string) => Gpus | undefined;
