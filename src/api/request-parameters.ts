/** The parameters of requests and responses. */

/** Values that a request or a response may carry besides tensors. Triton: `parameters`. */
export type RequestParameters = Readonly<Record<string, string | number | bigint | boolean>>;
