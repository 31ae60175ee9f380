/** Finds the arrays of callers that lie in regions of shared memory, so that their bytes need no copy. */

import type { RegionRange } from './region-tensor.js';
import type { TypedArray } from './types.js';
import { bufferOf, byteLengthOf, bytesAt, onHeapBytes } from './views.js';

/** A region's memory, as an ArrayBuffer of this environment. */
interface Mapped {
  /** The connection to the server that the region is registered with. */
  readonly server: object;
  readonly region: number;
}

const mapped = new WeakMap<ArrayBufferLike, Mapped>();
let count = 0;

/** Whether any region is mapped here. It keeps the cost from requests of programs that have none. */
export function anyMapped(): boolean {
  return count > 0;
}

/** Notes that arrays over `buffer` are in a region. */
export function noteMapped(buffer: ArrayBuffer, of: Mapped): void {
  if (!mapped.has(buffer)) count++;
  mapped.set(buffer, of);
}

/** Notes that the region is gone. Arrays over `buffer` are copied from now on. */
export function forgetMapped(buffer: ArrayBuffer): void {
  if (mapped.delete(buffer)) count--;
}

/**
 * Where an array is in a region of a server; undefined if it is elsewhere, and for arrays of at most `onHeapBytes`,
 * which cost less to copy than to look for.
 */
export function rangeOf(array: TypedArray, server: object): RegionRange | undefined {
  if (byteLengthOf(array) <= onHeapBytes) return undefined;
  const found = mapped.get(bufferOf(array));
  if (found?.server !== server) return undefined;
  const bytes = bytesAt(array);
  return bytes && { region: found.region, offset: bytes.byteOffset, byteSize: bytes.byteLength };
}
