/** Versions of models as requests write them. */

import { invalidArgument } from '../../errors.js';

/**
 * The version that a request names; undefined for '' and '-1', which mean the newest ready version.
 *
 * @throws {@link TritonError} INVALID_ARG for a text that is not a number.
 */
export function versionOf(text: string): string | undefined {
  if (text === '' || text === '-1') return undefined;
  // Leading zeros do not count: version 01 is version 1.
  if (/^\d{1,19}$/.test(text)) return text.replace(/^0+(?=\d)/, '');
  throw invalidArgument(`expected a number, '' or '-1' for the version but received '${text.slice(0, 64)}'`);
}
