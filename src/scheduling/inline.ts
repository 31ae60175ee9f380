/** Which batches of a model may run on the JS thread. */

import { readInline, type InlineOption, type ModelConfig } from '../config/index.js';

const autoUs = 50;

/** How long a batch may take, in microseconds, to be run on the JS thread; 0: none may. The model's parameter wins. */
export function inlineBudgetUs(config: ModelConfig, option: InlineOption): number {
  const inline = readInline(config.parameters['inline']?.string_value) ?? option;
  if (inline === 'auto') return autoUs;
  return inline === 'off' ? 0 : inline;
}
