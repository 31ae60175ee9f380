/** When a model is loaded. The model's parameter `load` takes precedence over the server's option. */

/** When a model is loaded: with the server, or at its first request. */
export type LoadOption = 'eager' | 'lazy';

/** The allowed values, for messages. */
export const loadExpected = "'eager' or 'lazy'";

/** Reads a value; undefined if it is not allowed. */
export function readLoad(value: unknown): LoadOption | undefined {
  return value === 'eager' || value === 'lazy' ? value : undefined;
}
