/** Where the fields of a configuration's text are. */

import { lineOf } from './locate.js';
import type { ConfigSource } from './problems.js';
import { scan, type Scan } from './scan.js';

/**
 * Finds lines in a text, which is scanned when somebody asks for one: only what is wrong has to be found.
 *
 * @param file - Its path, for messages.
 */
export function textSource(file: string, text: string): ConfigSource {
  let scanned: Scan | undefined;
  return { file, lineOf: (path) => lineOf((scanned ??= scan(text)).fields, path) };
}
