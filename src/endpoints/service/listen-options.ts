/** Options of how an endpoint listens. */

import { expected } from '../../argument-checks.js';
import { TritonError } from '../../errors.js';

/** Whether this Node can share a port. Older versions silently ignore the option. */
export function canReusePort(): boolean {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  return major > 23 || (major === 23 && minor >= 1) || (major === 22 && minor >= 12);
}

/**
 * Checks an option `reusePort`.
 *
 * @throws {@link TritonError} INVALID_ARG for anything but a boolean, UNSUPPORTED if this Node cannot share ports.
 */
export function checkReusePort(reusePort: unknown): boolean {
  if (typeof reusePort !== 'boolean') throw expected('true or false', 'options.reusePort', reusePort);
  if (!reusePort || canReusePort()) return reusePort;
  throw new TritonError(
    'UNSUPPORTED',
    `options.reusePort needs Node 22.12 or newer; this is ${process.version}`,
  );
}

/**
 * Checks an option `maxConnections`.
 *
 * @throws {@link TritonError} INVALID_ARG for an invalid number.
 */
export function checkMaxConnections(value: unknown): number | undefined {
  if (value === undefined) return undefined;
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 1) return value;
  throw expected('an integer of at least 1', 'options.maxConnections', value);
}

/**
 * Checks an option `clientSharedMemory`.
 *
 * @throws {@link TritonError} INVALID_ARG for anything but a boolean.
 */
export function checkClientSharedMemory(value: unknown): boolean {
  if (typeof value === 'boolean') return value;
  throw expected('true or false', 'options.clientSharedMemory', value);
}
