/** Request parameters, independent of the protocol (HTTP or gRPC). */

/** A parameter's value. */
export type ParameterValue = string | number | bigint | boolean;

/** A request's parameters by name. */
export type Parameters = ReadonlyMap<string, ParameterValue>;
