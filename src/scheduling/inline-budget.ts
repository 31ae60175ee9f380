/** Decides which batches of a model may run on the JS thread. */

import { readInline, type InlineOption, type ModelConfig } from '../config/index.js';

const autoUs = 50;

/**
 * The maximum time of a batch on the JS thread, in microseconds; 0: no batch may run there. The model's
 * parameter takes precedence over the server's option.
 */
export function inlineBudgetUs(config: ModelConfig, option: InlineOption): number {
  const inline = readInline(config.parameters['inline']?.string_value) ?? option;
  if (inline === 'auto') return autoUs;
  return inline === 'off' ? 0 : inline;
}
