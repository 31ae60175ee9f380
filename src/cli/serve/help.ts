/** The help of `tritonts serve`, and its table in the documents. */

import { flagsText, tableOf } from '../flags/help.js';
import { flagGroups } from './flags.js';

/** The text that `--help` prints. */
export function helpText(): string {
  return `Serves model repositories over the network, in place of tritonserver.

Usage: tritonts serve --model-repository=<folder> [flags]

A value stands behind '=' or as the next word.

${flagsText(flagGroups)}

It runs until SIGTERM, SIGINT, SIGHUP or SIGQUIT; then it refuses new requests and lets those under way end.

Exit code: 0 after such a signal, 1 when it could not start or a request under way had to be abandoned, 2 for a wrong
command line.`;
}

/** The table for the documents, in Markdown. */
export function flagTable(): string {
  return tableOf(flagGroups);
}
