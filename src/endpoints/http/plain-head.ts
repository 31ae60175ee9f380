/**
 * Reads the head of a plain request: a POST to infer, whose headers change nothing about how it is read or answered. Most
 * requests of programs are plain. All others are left to Node's parser, which also reports errors.
 */

import { answerEncoding } from './compression.js';
import type { Route, Routes } from './routes.js';

/** The head of a plain request. */
export interface PlainHead {
  readonly route: Route;
  /** Bytes of the body. */
  readonly length: number;
  /** How many bytes of the body are JSON; undefined: all. */
  readonly jsonSize: number | undefined;
}

/** The most bytes of a plain head; below, of a plain body. */
export const mostHeadBytes = 4096;
const mostBodyBytes = 65_536;

const requestLine = /^POST (\/[!-~]*) HTTP\/1\.1$/;
const headerLine = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([!-~](?:[ -~]*[!-~])?)?[ \t]*$/;
const digits = /^\d{1,6}$/;

/** Headers that a plain request does not have. */
const special: ReadonlySet<string> = new Set([
  ...['content-encoding', 'expect', 'http2-settings', 'keep-alive', 'proxy-connection', 'te', 'trailer'],
  ...['transfer-encoding', 'upgrade'],
]);

/**
 * Reads a head.
 *
 * @param text - Without the empty line at its end.
 * @param mostBytes - The limit of the endpoint for a body. Larger ones are refused after Node's parser.
 * @returns Undefined if the request is not plain, or not valid.
 */
export function readPlainHead(text: string, routes: Routes, mostBytes: number): PlainHead | undefined {
  const [first = '', ...lines] = text.split('\r\n');
  const path = requestLine.exec(first)?.[1];
  const route = path === undefined ? undefined : routes.of(path);
  if (route?.call !== 'infer') return undefined;
  const headers = new Map<string, string>();
  for (const line of lines) {
    const found = headerLine.exec(line);
    const name = found?.[1]?.toLowerCase();
    if (name === undefined || special.has(name) || headers.has(name)) return undefined;
    headers.set(name, found?.[2] ?? '');
  }
  const connection = headers.get('connection');
  if (connection !== undefined && connection.toLowerCase() !== 'keep-alive') return undefined;
  if (answerEncoding(headers.get('accept-encoding')) !== 'identity') return undefined;
  const length = headers.get('content-length') ?? '';
  const jsonSize = headers.get('inference-header-content-length');
  if (!headers.has('host') || !digits.test(length)) return undefined;
  if (Number(length) > Math.min(mostBodyBytes, mostBytes)) return undefined;
  if (Number(length) === 0 || (jsonSize !== undefined && !digits.test(jsonSize))) return undefined;
  return { route, length: Number(length), jsonSize: jsonSize === undefined ? undefined : Number(jsonSize) };
}
