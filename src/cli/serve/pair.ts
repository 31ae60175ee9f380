/** Values of flags with two sides. */

import { invalidArgument } from '../../errors.js';

/** The two sides of a `key=value`. */
export function pair(flag: string, text: string, shape: string): readonly [string, string] {
  const at = text.indexOf('=');
  if (at <= 0) throw invalidArgument(`expected ${shape} for --${flag} but received '${text}'`);
  return [text.slice(0, at), text.slice(at + 1)];
}
