/** Whether this machine has libtorch, and a compiler for its shim. If so, the shim is built. */

import { buildShim } from '../../src/backends/pytorch/build.js';
import { TritonError } from '../../src/index.js';

/** Why no model of PyTorch can run; undefined if one can. */
function missing(): string | undefined {
  try {
    buildShim({});
    return undefined;
  } catch (error) {
    // A shim that does not compile is a fault, and not a lack.
    if (error instanceof TritonError && error.code === 'UNAVAILABLE') return error.message;
    throw error;
  }
}

const lack = missing();

/** Whether models of PyTorch can run. */
export const hasPyTorch: boolean = lack === undefined;

/** Options of tests that need libtorch. */
export const needsPyTorch: { readonly skip: string | false } = { skip: lack ?? false };
