/** When a model is loaded, and whether it stays: what its configuration says, and the server's option otherwise. */

import {
  fieldError,
  loadExpected,
  readLoad,
  readSwitch,
  type LoadOption,
  type ModelConfig,
  type ParsedConfig,
} from '../../config/index.js';
import { readConfig } from '../loading/prepare-model.js';
import type { ModelFiles } from '../sources/model-source.js';

/** Whether a configuration may have the parameter `load`. Few have it, and reading each twice would take time. */
function mayName({ bytes }: NonNullable<ModelFiles['config']>): boolean {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).includes('load');
}

/**
 * Whether a model that is not loaded is lazy.
 *
 * @param written - Its configuration in its repository.
 * @param given - The configuration that the program gives instead.
 * @param otherwise - The server's option.
 * @throws {@link TritonError} INVALID_ARG for a configuration that cannot be read: so a fault in it shows at the start.
 */
export function isLazy(
  name: string,
  written: ModelFiles['config'],
  given: ParsedConfig | undefined,
  otherwise: LoadOption,
): boolean {
  const parsed =
    given ?? (written && (otherwise === 'lazy' || mayName(written)) ? readConfig(name, written) : undefined);
  const value = parsed?.value.parameters?.['load']?.string_value;
  if (parsed === undefined || value === undefined) return otherwise === 'lazy';
  const option = readLoad(value);
  if (option !== undefined) return option === 'lazy';
  const text = `expected ${loadExpected} but found ${JSON.stringify(value)}`;
  throw fieldError('INVALID_ARG', parsed, 'parameters["load"]', text, { model: name });
}

/** The same of a loaded model, and whether it stays loaded whatever the budget. Its load has checked the values. */
export function settingOf(
  { parameters }: ModelConfig,
  otherwise: LoadOption,
): { readonly lazy: boolean; readonly pinned: boolean } {
  return {
    lazy: (readLoad(parameters['load']?.string_value) ?? otherwise) === 'lazy',
    pinned: readSwitch(parameters['pinned']?.string_value) === true,
  };
}
