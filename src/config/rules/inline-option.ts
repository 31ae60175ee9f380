/**
 * The values of the server's option `inline` and of the model parameter `inline`, which say which batches may
 * run on the JS thread.
 */

/**
 * 'auto': batches that take at most 50 µs; 'off': none; a number: batches that take at most that many
 * microseconds.
 */
export type InlineOption = 'auto' | 'off' | number;

/** The allowed values, for messages. */
export const inlineExpected = "'auto', 'off' or 1 to 10000 microseconds";

/** A longer time would block the event loop for too long. */
const mostUs = 10_000;

/** Reads a value; undefined if it is not allowed. Numbers may be text, as in a model's parameters. */
export function readInline(value: unknown): InlineOption | undefined {
  if (value === 'auto' || value === 'off') return value;
  const us = typeof value === 'string' && /^[0-9]+$/.test(value) ? Number(value) : value;
  return typeof us === 'number' && us >= 1 && us <= mostUs ? us : undefined;
}
