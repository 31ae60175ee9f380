/** Native copies of bytes, for models that are loaded from memory. */

import { unavailable } from '../errors.js';
import { addon } from './load.js';
import { isNoMemory } from './memory.js';
import type { NativeBytes } from './native/folder.js';

/**
 * Copies bytes to native memory, where loader threads read them. The caller must release the copy.
 *
 * @param what - The name of the bytes in the error.
 * @throws {@link TritonError} UNAVAILABLE if there is not enough memory.
 */
export function keepBytes(bytes: Uint8Array, what: string): NativeBytes {
  let kept: NativeBytes | undefined;
  try {
    kept = addon().keepBytes(bytes);
  } catch (cause) {
    if (!isNoMemory(cause)) throw cause;
  }
  if (!kept) throw unavailable('NO_MEMORY', `${what}: no memory for ${bytes.length} bytes`);
  return kept;
}
