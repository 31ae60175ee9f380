/** Whether this machine has libtorch. If so, the shim for it is built. */

import { buildShim } from '../../src/backends/pytorch/build.js';
import { torchHeaders, torchLibrary } from '../../src/backends/pytorch/library.js';
import { TritonError } from '../../src/index.js';

/** Why there is no libtorch; undefined if there is one. */
function missing(): string | undefined {
  try {
    torchHeaders(torchLibrary({}));
    return undefined;
  } catch (error) {
    if (error instanceof TritonError) return error.message;
    throw error;
  }
}

/** Whether libtorch and its headers are found. */
export const hasPyTorch: boolean = missing() === undefined;
if (hasPyTorch) buildShim({});

/** Options of tests that need libtorch. */
export const needsPyTorch: { readonly skip: string | false } = {
  skip: !hasPyTorch && 'libtorch is not installed: set TRITONTS_TORCH_PATH',
};
