/** What a configuration needs to know about GPUs. */

/** The GPUs that instances of a backend can use. */
export interface Gpus {
  /** Their ids, ascending. */
  readonly usable: readonly number[];
  /** Why others that are there are not among these, by id. */
  readonly unusable: ReadonlyMap<number, string>;
  /** Returns why none can be used, and what helps. It is called only for an error. */
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
