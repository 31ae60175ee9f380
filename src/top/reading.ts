/** What is read of a server at one moment. */

import type { ModelStatus } from '../api/metadata.js';
import type { RemoteStatistics } from '../client/types.js';

/** The statistics that are read of a version. Servers of other software may lack the memory. */
export type VersionStatistics = Pick<
  RemoteStatistics,
  'name' | 'version' | 'inference_count' | 'execution_count' | 'inference_stats' | 'batch_stats'
> &
  Partial<Pick<RemoteStatistics, 'memory_usage'>>;

/** See the head of this file. */
export interface Reading {
  /** When the statistics were read, in milliseconds of a clock that never goes back while the server runs. */
  readonly atMs: number;
  readonly server: { readonly name: string; readonly version: string };
  readonly ready: boolean;
  /** Undefined if the server has no index, or does not show it. */
  readonly index: readonly ModelStatus[] | undefined;
  readonly statistics: readonly VersionStatistics[];
  /** Prometheus' text; undefined if it could not be read. */
  readonly metrics: string | undefined;
  /** Why there are no metrics. */
  readonly withoutMetrics?: string | undefined;
  /** How many instances versions have, by {@link versionKey}; a version is absent if its configuration is unknown. */
  readonly instances: ReadonlyMap<string, number>;
}

/** Where readings come from. */
export interface TopSource {
  /** The address, for the head of the view. */
  readonly place: string;
  /**
   * Reads the server. After an error the next call connects again.
   *
   * @throws {@link TritonError} UNAVAILABLE if no server answers, and its own errors.
   */
  read(signal: AbortSignal): Promise<Reading>;
  close(): Promise<void>;
}

/** A version as a key of maps. A version is a number, so that the first slash ends it. */
export function versionKey(name: string, version: string): string {
  return `${version}/${name}`;
}
