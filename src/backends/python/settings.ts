/** Reads the options of the Python backend. */

import { invalidArgument } from '../../errors.js';
import type { BackendConfig } from '../../options.js';
import type { PythonSettings } from '../../python/settings.js';

const mebibyte = 1 << 20;

/**
 * Reads the options of the backend.
 *
 * @throws {@link TritonError} INVALID_ARG for an invalid value.
 */
export function pythonSettings(options: BackendConfig): PythonSettings {
  const text = (key: string): string | undefined => {
    const value = options[key];
    if (value === undefined) return undefined;
    if (typeof value === 'string' && value !== '') return value;
    throw invalidArgument(
      `options.backendConfig.python['${key}']: expected a string but received ${String(value)}`,
    );
  };
  const whole = (key: string, usual: number, least: number, most: number): number => {
    const value = options[key];
    if (value === undefined) return usual;
    const number = typeof value === 'boolean' || value === '' ? Number.NaN : Number(value);
    if (Number.isInteger(number) && number >= least && number <= most) return number;
    throw invalidArgument(
      `options.backendConfig.python['${key}']: expected a whole number from ${least} to ${most} but received ${String(value)}`,
    );
  };
  return {
    executable: text('executable'),
    initialBytes: whole('shm-default-byte-size', mebibyte, mebibyte, 2 ** 40),
    growthBytes: whole('shm-growth-byte-size', mebibyte, 1, 2 ** 40),
    memoryName: (text('shm-region-prefix-name') ?? 'tritonts').replaceAll('/', '_').slice(0, 200),
    queueSize: whole('shm_message_queue_size', 1000, 1, 65_536),
    startMs: whole('stub-timeout-seconds', 30, 1, 86_400) * 1000,
    threads: whole('thread-pool-size', 32, 1, 1024),
  };
}
