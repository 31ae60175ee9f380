/** Model parameters that are switches. */

/** The allowed values, for messages. */
export const switchExpected = "'true' or 'false'";

/** Reads a value; undefined if it is not allowed. */
export function readSwitch(value: string | undefined): boolean | undefined {
  return value === 'true' ? true : value === 'false' ? false : undefined;
}
