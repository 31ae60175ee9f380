/** Where the fields of a configuration's text are. */

import { lineOf } from './locate.js';
import type { ConfigSource } from './problems.js';
import { scan, type Scan } from './scan.js';

/** A model's `config.pbtxt`. */
export interface WrittenConfig {
  /** Its path, for messages. */
  readonly file: string;
  /** As `decodeConfig` returns it. */
  readonly text: string;
}

/** Finds lines in a text, which is scanned when somebody asks for one: only what is wrong has to be found. */
export function textSource({ file, text }: WrittenConfig): ConfigSource {
  let scanned: Scan | undefined;
  return { file, lineOf: (path) => lineOf((scanned ??= scan(text)).fields, path) };
}
