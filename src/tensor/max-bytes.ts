/** How large a tensor may be. */

/**
 * The most bytes of one tensor of a request or a response: 4 GiB, the longest array of Node 20.
 * `native/engine/base/datatype.h` has the same limit.
 */
export const maxTensorBytes: number = 2 ** 32;
