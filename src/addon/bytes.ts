/** Bytes of the engine's own, for loads from memory. */

import { TritonError } from '../errors.js';
import { addon } from './load.js';
import type { NativeBytes } from './native.js';

/**
 * Copies bytes to where loader threads read them, and JavaScript's collector does not see them: to be released.
 *
 * @param what - Whose they are, for the error.
 * @throws {TritonError} UNAVAILABLE without memory.
 */
export function keepBytes(bytes: Uint8Array, what: string): NativeBytes {
  const kept = addon().keepBytes(bytes);
  if (!kept) throw new TritonError('UNAVAILABLE', `${what}: no memory for ${bytes.length} bytes`);
  return kept;
}
