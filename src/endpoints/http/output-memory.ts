/** The memory of large outputs, when their answer has left. */

import { addon } from '../../addon/load.js';

/** Smaller ones cost V8 little. */
const least = 1 << 16;

/**
 * Frees the memory of an answer's outputs, which nobody reads any more. V8 would free what it holds in place of the engine only
 * when it has marked its whole heap: until then each answer needs new memory, which costs page faults, and hundreds of megabytes
 * come together.
 */
export function dropMemoryOf(blobs: readonly Buffer[]): void {
  for (const { buffer, byteLength } of blobs) {
    // Where it is a part of something larger, others may have the rest.
    if (byteLength < least || buffer.byteLength !== byteLength || !(buffer instanceof ArrayBuffer)) continue;
    addon().dropMemory(buffer);
  }
}
