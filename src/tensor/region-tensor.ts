/** Tensors whose bytes are in regions of shared memory, so that JavaScript never sees them. */

import type { Datatype } from './datatype.js';
import type { ShapedInput } from './inputs.js';

/** A range of a region that is registered with the engine (`NativeServer.registerRegion`). */
export interface RegionRange {
  /** The region's id. */
  readonly region: number;
  readonly offset: number;
  readonly byteSize: number;
  /** The GPU whose memory it is; undefined: the host's. */
  readonly device?: number | undefined;
}

/** An input in a region. The engine checks its bytes. */
export class RegionTensor implements ShapedInput {
  /** JavaScript has none of its elements. */
  readonly data: readonly never[] = [];
  readonly datatype: Datatype;
  readonly shape: readonly number[];
  readonly range: RegionRange;

  constructor(datatype: Datatype, shape: readonly number[], range: RegionRange) {
    this.datatype = datatype;
    this.shape = shape;
    this.range = range;
  }
}

/** An output that the engine has written to a region. */
export class StoredTensor {
  readonly datatype: Datatype;
  readonly shape: readonly number[];
  readonly byteSize: number;

  constructor(datatype: Datatype, shape: readonly number[], byteSize: number) {
    this.datatype = datatype;
    this.shape = shape;
    this.byteSize = byteSize;
  }
}
