/** Which batches may run on the JS thread: the values of the option and of the model parameter `inline`. */

/** 'auto': within 50 µs; 'off'; or within so many microseconds. */
export type InlineOption = 'auto' | 'off' | number;

/** What is expected of a value, for messages. */
export const inlineExpected = "'auto', 'off' or 1 to 10000 microseconds";

/** More would hold the event loop longer than anybody wants who has one. */
const mostUs = 10_000;

/** The value as an option; undefined: it is none. Numbers may be text, as in a model's parameters. */
export function readInline(value: unknown): InlineOption | undefined {
  if (value === 'auto' || value === 'off') return value;
  const us = typeof value === 'string' && /^[0-9]+$/.test(value) ? Number(value) : value;
  return typeof us === 'number' && us >= 1 && us <= mostUs ? us : undefined;
}
