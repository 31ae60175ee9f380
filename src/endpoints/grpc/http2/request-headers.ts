/** The headers of a call, and whether a request may have them: https://www.rfc-editor.org/rfc/rfc9113#section-8.3 */

import type { Field } from '../../../protocol/http2/hpack-decoder.js';

/** The headers of a call, with names in lower case. They are shared by calls, and not changed. */
export type CallHeaders = Readonly<Record<string, string | undefined>>;

/** Headers that mean a connection of HTTP/1.1. */
const ofConnections: ReadonlySet<string> = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'transfer-encoding',
  'upgrade',
]);

/** Headers whose first value counts. Values of others are joined, as Node does. */
const single: ReadonlySet<string> = new Set([
  ...['authorization', 'content-encoding', 'content-length', 'content-type', 'date', 'from', 'host'],
  ...['proxy-authorization', 'referer', 'te', 'user-agent'],
]);

const pseudo: ReadonlySet<string> = new Set([':method', ':scheme', ':path', ':authority']);

/** Whether a field may be among the regular headers. */
function isRegular({ name, value, isValid }: Field): boolean {
  if (!isValid || name.startsWith(':') || ofConnections.has(name)) return false;
  return name !== 'te' || value === 'trailers';
}

/** Returns the headers of a request; undefined if they are malformed. */
export function readRequestHeaders(fields: readonly Field[]): CallHeaders | undefined {
  // Without a prototype, because clients choose the names.
  const headers = Object.create(null) as Record<string, string | undefined>;
  let regular = false;
  for (const field of fields) {
    const { name, value } = field;
    const known = headers[name];
    if (name.startsWith(':')) {
      if (regular || !field.isValid || known !== undefined || !pseudo.has(name)) return undefined;
      headers[name] = value;
      continue;
    }
    regular = true;
    if (!isRegular(field)) return undefined;
    if (known === undefined) headers[name] = value;
    else if (name === 'content-length' && known !== value) return undefined;
    else if (!single.has(name)) headers[name] = `${known}${name === 'cookie' ? ';' : ','} ${value}`;
  }
  const method = headers[':method'];
  if (method === undefined || lengthOf(headers) === undefined) return undefined;
  // A CONNECT has neither scheme nor path.
  if (method === 'CONNECT') return headers[':authority'] === undefined ? undefined : headers;
  if (headers[':scheme'] === undefined || (headers[':path'] ?? '') === '') return undefined;
  return headers;
}

/** Whether fields may be trailers. */
export function areTrailers(fields: readonly Field[]): boolean {
  return fields.every(isRegular);
}

/** The announced length of the body; -1: none is announced; undefined: it is no number. */
export function lengthOf(headers: CallHeaders): number | undefined {
  const text = headers['content-length'];
  if (text === undefined) return -1;
  return /^\d{1,15}$/.test(text) ? Number(text) : undefined;
}
