/** The part of Piscina that is used here. The package's own types fail some of this project's checks. */

import { createRequire } from 'node:module';
import type { MessagePort, Worker } from 'node:worker_threads';

/** A pool of threads. */
export interface Pool {
  readonly threads: readonly Worker[];
  run(task: object, options: { readonly transferList: readonly MessagePort[] }): Promise<unknown>;
  destroy(): Promise<void>;
  on(event: 'error', listener: (error: unknown) => void): void;
}

/** The used options of a pool. */
export interface PoolOptions {
  readonly filename: string;
  readonly minThreads: number;
  readonly maxThreads: number;
  readonly atomics: 'disabled';
  readonly resourceLimits?: Readonly<Record<string, number>>;
  readonly env?: Readonly<Record<string, string>>;
  readonly execArgv?: readonly string[];
}

/** Makes a pool. */
export function makePool(options: PoolOptions): Pool {
  // The types above are those of the package's documentation.
  const { Piscina } = createRequire(import.meta.url)('piscina') as {
    readonly Piscina: new (options: PoolOptions) => Pool;
  };
  return new Piscina(options);
}
