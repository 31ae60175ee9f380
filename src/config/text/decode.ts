/** Turns the bytes of a file into text: size, encoding, byte order mark, NUL bytes. */

import { isUtf8 } from 'node:buffer';
import { headBytes, unreadableText } from '../../foreign-content.js';
import type { Problem } from './problems.js';

/**
 * The maximum size of a configuration in bytes (or in UTF-16 units of a string): 1 MiB. Triton has no limit.
 * Real files are smaller than a tenth of this, and the limit bounds the time and memory that a wrong file can
 * take.
 */
export const maxConfigBytes: number = 1024 * 1024;

/** The problem of a configuration file that is too large. */
export function tooManyBytes(size: number): Problem {
  const text = `the file has ${size} bytes; the size limit of a configuration is ${maxConfigBytes}`;
  return { code: 'INVALID_ARG', path: '', line: 0, text };
}

/**
 * Decodes a configuration file. Returns its text, and whether the text is known to have no lone surrogates; or
 * the file's problem.
 *
 * @param content - The file's bytes, or its text.
 */
export function decodeConfig(
  content: string | Uint8Array,
): { readonly text: string; readonly wellFormed: boolean } | { readonly problem: Problem } {
  const wrong = (text: string, line = 0): { problem: Problem } => ({
    problem: { code: 'INVALID_ARG', path: '', line, text },
  });
  if (content.length > maxConfigBytes) return { problem: tooManyBytes(content.length) };
  if (typeof content !== 'string') {
    const unreadable = unreadableText(content.subarray(0, headBytes));
    if (unreadable !== undefined) return wrong(`the file ${unreadable}`, 1);
    if (!isUtf8(content)) return wrong('the file is not UTF-8: save it as UTF-8', firstBrokenLine(content));
  }
  const decoded =
    typeof content === 'string'
      ? content
      : Buffer.from(content.buffer, content.byteOffset, content.byteLength).toString('utf8');
  const text = decoded.startsWith('\uFEFF') ? decoded.slice(1) : decoded;
  const nul = text.indexOf('\0');
  if (nul >= 0)
    return wrong('the file contains a NUL byte: remove it', text.slice(0, nul).split('\n').length);
  // Valid UTF-8 contains no lone surrogates.
  return { text, wellFormed: typeof content !== 'string' || !/\p{Surrogate}/u.test(text) };
}

/**
 * The first line that is not UTF-8. A line break is never part of a longer character, so each line can be
 * checked alone.
 */
function firstBrokenLine(bytes: Uint8Array): number {
  let line = 1;
  for (let start = 0; ; line++) {
    const end = bytes.indexOf(0x0a, start);
    if (end < 0 || !isUtf8(bytes.subarray(start, end))) return line;
    start = end + 1;
  }
}
