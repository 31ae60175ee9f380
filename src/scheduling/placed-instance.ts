/** An instance of a version, and where it is. */

import type { NativeHostPolicy } from '../addon/native/version-config.js';

/** See the head of this file. */
export interface PlacedInstance {
  readonly name: string;
  readonly kind: string;
  /** Id of a GPU; 0 on the CPU. */
  readonly device: number;
  /** What its threads and processes are bound to; undefined: nothing. */
  readonly hostPolicy?: NativeHostPolicy | undefined;
}
