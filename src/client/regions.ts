/** Shared memory as the protocols know it: regions that the server has registered, and ranges of them. */

import type { RegionStatus } from '../server/memory/shared-memory.js';

/** A range of a region of shared memory. */
export interface WireRange {
  readonly region: string;
  readonly offset: number;
  readonly byteSize: number;
}

/** A protocol's calls for regions. */
export interface RegionCalls {
  registerRegion(name: string, key: string, offset: number, byteSize: number): Promise<void>;
  unregisterRegion(name: string): Promise<void>;
  regions(): Promise<RegionStatus[]>;
}
