/** The facts about GPUs that a configuration depends on. */

/** The GPUs that instances of a backend can use. */
export interface Gpus {
  /** Ids of these GPUs, ascending. */
  readonly usable: readonly number[];
  /** Why the other GPUs of the machine cannot be used, by id. */
  readonly unusable: ReadonlyMap<number, string>;
  /** Returns why no GPU can be used, with advice. Called only for an error. */
  readonly missing: () => MissingGpus;
}

/** Why a backend can use no GPU. */
export interface MissingGpus {
  /** UNAVAILABLE: the machine lacks something. UNSUPPORTED: the backend runs only on the CPU. */
  readonly code: 'UNAVAILABLE' | 'UNSUPPORTED';
  readonly text: string;
}

/** Finds the GPUs for a backend; undefined if the backend does not exist, which is reported elsewhere. */
export type GpuFinder = (backend: string) => Gpus | undefined;
