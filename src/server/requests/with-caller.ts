/** Gives errors the line of the caller. */

import type { EntryPoint } from '../../dispatch/types.js';
import { TritonError } from '../../errors.js';

/**
 * A TritonError with the caller's line. The frames above it belong to this library, and would leave no room
 * for the caller's.
 */
export function withCaller(error: unknown, origin: EntryPoint): unknown {
  try {
    if (error instanceof TritonError) Error.captureStackTrace(error, origin);
  } catch {
    // The caller's own getter threw a frozen error.
  }
  return error;
}
