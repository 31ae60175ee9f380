/** Frees the memory of large outputs when their answer has left. */

import { addonUnlessSpared } from '../../addon/load.js';

/** Smaller outputs are left to V8, at little cost. */
const least = 1 << 16;

/**
 * Frees the memory of an answer's outputs. No code may read them afterwards. V8 would free the engine's memory only
 * after it has marked its whole heap. Until then each answer would need new memory: page faults, and hundreds of
 * megabytes in all.
 */
export function dropMemoryOf(blobs: readonly Buffer[]): void {
  for (const { buffer, byteLength } of blobs) {
    // Other code may still use the rest of a buffer of which this output is a part.
    if (byteLength < least || buffer.byteLength !== byteLength || !(buffer instanceof ArrayBuffer)) continue;
    addonUnlessSpared()?.dropMemory(buffer);
  }
}
