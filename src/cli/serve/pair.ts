/** Reads `key=value`, as several flags take it. */

import { invalidArgument } from '../../errors.js';

/**
 * The two sides of a `key=value`.
 *
 * @param shown - What the error has of the text, if it may have a secret.
 * @throws {@link TritonError} INVALID_ARG for a text without a key or without `=`.
 */
export function pair(
  flag: string,
  text: string,
  shape: string,
  shown: string = text,
): readonly [string, string] {
  const at = text.indexOf('=');
  if (at <= 0) throw invalidArgument(`expected ${shape} for --${flag} but received '${shown}'`);
  return [text.slice(0, at), text.slice(at + 1)];
}
