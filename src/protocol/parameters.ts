/** Parameters of requests and responses, independent of the protocol (HTTP or gRPC). */

/** A parameter's value. */
export type ParameterValue = string | number | bigint | boolean;

/** A request's parameters by name. */
export type Parameters = ReadonlyMap<string, ParameterValue>;

/**
 * A parameter's value as JSON: bigints as digits, NaN and Infinity as bare words. A number that is no safe integer has a
 * point or an exponent, so that its reader does not take it for an integer.
 */
export function parameterText(value: ParameterValue): string {
  if (typeof value === 'string') return JSON.stringify(value);
  const text = String(value);
  const isDouble = typeof value === 'number' && Number.isInteger(value) && !Number.isSafeInteger(value);
  return isDouble && !text.includes('e') ? `${text}.0` : text;
}
