/** Whether this machine has TensorFlow. */

import { tensorFlowLibrary } from '../../src/backends/tensorflow/library.js';
import { TritonError } from '../../src/index.js';

/** Why there is no TensorFlow; undefined if there is one. */
function missing(): string | undefined {
  try {
    tensorFlowLibrary({});
    return undefined;
  } catch (error) {
    if (error instanceof TritonError) return error.message;
    throw error;
  }
}

/** Whether the library of TensorFlow is found. */
export const hasTensorFlow: boolean = missing() === undefined;
