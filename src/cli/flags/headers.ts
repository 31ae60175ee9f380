/** Reads the headers of requests that a command sends. */

import { validateHeaderName, validateHeaderValue } from 'node:http';
import { invalidArgument } from '../../errors.js';

/** Headers that say where a request ends, or how its connection is used. */
const framing: ReadonlySet<string> = new Set([
  'connection',
  'content-encoding',
  'content-length',
  'expect',
  'inference-header-content-length',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

/**
 * Reads all values `name:value` of a flag --header.
 *
 * @throws {@link TritonError} INVALID_ARG for another form, and for headers that follow from the request.
 */
export function headersOf(given: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(
    given.map((header): [string, string] => {
      const colon = header.indexOf(':');
      const [name, value] = [header.slice(0, Math.max(0, colon)).trim(), header.slice(colon + 1).trim()];
      try {
        validateHeaderName(name);
        validateHeaderValue(name, value);
      } catch (cause) {
        throw invalidArgument(`expected name:value for --header but received '${header}'`, { cause });
      }
      if (framing.has(name.toLowerCase()))
        throw invalidArgument(`--header: '${name}' follows from the request, and cannot be given`);
      return [name, value];
    }),
  );
}
