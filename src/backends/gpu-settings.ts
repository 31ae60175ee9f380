/** The settings for how a model's instances on GPUs run batches. */

import { keyPath } from '../config/index.js';
import type { BackendContext } from './context.js';

const concurrencyKey = 'max_concurrency';
const mostConcurrency = 16;

/** The largest number that the native side can parse. */
const mostNumber = 0x7fff_ffff;

/** The native side's names of priorities. */
const priorities: Readonly<Record<string, string>> = { PRIORITY_MAX: 'max', PRIORITY_MIN: 'min' };

/**
 * Settings of a model with instances on GPUs: how many batches each instance may have in progress
 * (`max_concurrency` of its `parameters`), and the fields of `optimization` about streams, events and the
 * kernel that gathers inputs.
 *
 * @throws {@link TritonError} INVALID_ARG for a parameter that is not a number in that range.
 */
export function gpuSettings({
  config,
  fault,
}: Pick<BackendContext, 'config' | 'fault'>): Record<string, string> {
  const settings: Record<string, string> = {};
  const count = config.parameters[concurrencyKey]?.string_value;
  if (count !== undefined) {
    const number = Number(count);
    if (!(Number.isInteger(number) && number >= 1 && number <= mostConcurrency)) {
      throw fault(
        keyPath('parameters', concurrencyKey),
        `expected a whole number from 1 to ${mostConcurrency} but received '${count}'`,
      );
    }
    settings['max_concurrency'] = String(number);
  }
  const priority = priorities[config.optimization?.priority ?? ''];
  if (priority !== undefined) settings['priority'] = priority;
  const threshold = config.optimization?.gather_kernel_buffer_threshold ?? 0;
  if (threshold > 0) settings['gather_kernel_buffer_threshold'] = String(Math.min(threshold, mostNumber));
  if (config.optimization?.cuda?.busy_wait_events === true) settings['busy_wait_events'] = 'true';
  return settings;
}
